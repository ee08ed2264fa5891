"""An objective from its text; a user's own terms are tried under jit before anything is made for them."""

from collections.abc import Callable

import jax

from longshore.core.arrays.ops import Array
from longshore.objectives.base import Transition
from longshore.objectives.weighted import Weighted, parse_objective


def checked_objective(text: str) -> Weighted:
    """Read an objective as `parse_objective` does.

    Raises:
        InputError: it cannot be read, or a user's term does not work under jit as it does without.
    """
    return parse_objective(text, check_jit=_run_under_jit)


def _run_under_jit(function: Callable[[Transition], Array], step: Transition) -> Array:
    return jax.jit(function)(jax.device_put(step))
