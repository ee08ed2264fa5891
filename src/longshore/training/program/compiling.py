"""How much JAX and XLA work on a program before it runs: compiling takes longer than a short training itself.

Measured on two cores with PPO on test1: with XLA's own settings the training program compiles in 5.0 s and judging in
2.0 s; as below in 2.9 s and 1.2 s, and both then run as fast. Level 0 would compile in half of that, but then runs
three to eight times as long.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp

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


def mapped(function: Callable[..., Any], in_axes: Sequence[int | None]) -> Callable[..., Any]:
    """Map a function over the first axis of those arguments whose axis is 0, as `jax.vmap` does.

    Where that axis has a single entry, the function is called with it: one dimension less to trace and to compile.
    """

    def run(*arguments: Any) -> Any:
        parts = [part for axis, part in zip(in_axes, arguments, strict=True) if axis == 0]
        if jax.tree.leaves(parts)[0].shape[0] != 1:
            return jax.vmap(function, tuple(in_axes))(*arguments)
        only = [
            part if axis is None else jax.tree.map(lambda leaf: jnp.squeeze(leaf, 0), part)
            for axis, part in zip(in_axes, arguments, strict=True)
        ]
        return jax.tree.map(lambda leaf: jnp.expand_dims(leaf, 0), function(*only))

    return run


def one_after_another(first: Any, second: Any) -> Callable[[Any, Any], Any]:
    """Return a function (data, state) that calls one compiled function and then another with what the first returned.

    On one device both are compiled at the same time: XLA works on the first while JAX traces the second.

    Args:
        first: made by `jax.jit`, of data and state; returns a state and more.
        second: made by `jax.jit`, of data and all that.
    """
    compiled: dict[Any, tuple[Any, Any]] = {}

    def run(data: Any, state: Any) -> Any:
        kind = tuple((leaf.shape, leaf.sharding) for leaf in jax.tree.leaves(state))
        if kind not in compiled:
            is_on_one_device = all(len(sharding.device_set) == 1 for _, sharding in kind)
            compiled[kind] = _compile_both(first, second, data, state) if is_on_one_device else (first, second)
        begin, end = compiled[kind]
        return end(data, *begin(data, state))

    return run


def _compile_both(first: Any, second: Any, data: Any, state: Any) -> tuple[Any, Any]:
    lowered = first.lower(data, state)
    with ThreadPoolExecutor(1) as beside:
        compiling = beside.submit(lowered.compile)
        last = second.lower(data, *lowered.out_info).compile()
        return compiling.result(), last
