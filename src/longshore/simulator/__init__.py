"""The cluster as a pure function in JAX: one scan step is one event, numbers that vary are data.

64-bit numbers are switched on here, where JAX is first imported: without them JAX silently turns 2^40 bytes into 0.
"""

import jax

jax.config.update("jax_enable_x64", True)
