"""How much XLA works on a program before it runs: on a CPU compiling takes longer than a short training itself.

Measured on two cores with PPO on test1: with XLA's own settings the training program compiles in 5.0 s and judging in
2.0 s; as below in 2.9 s and 1.2 s, and both then run as fast. Level 0 would compile in half of that, but then runs
three to eight times as long.
"""

import jax

_FOR_CPU: dict[str, bool | int] = {
    # Beyond level 1 LLVM finds nothing in these programs.
    "xla_backend_optimization_level": 1,
}
if jax.__version_info__ < (0, 11):
    # XLA's older way to write fused loops; JAX 0.11 no longer knows the option and would stop.
    _FOR_CPU["xla_cpu_use_fusion_emitters"] = False


def compiler_options() -> dict[str, bool | int]:
    """Return the options for where JAX will run what is compiled now; accelerators keep XLA's own."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    platform = jax.default_backend() if device is None else getattr(device, "platform", device)
    return dict(_FOR_CPU) if platform == "cpu" else {}
