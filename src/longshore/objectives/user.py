"""A user's own objective: a function in a Python file or behind an entry point, checked before it is used.

    def prefer_small_nodes(step: Transition) -> Array: ...

The function gets a `Transition` and returns a scalar reward. It is written against the namespace of its arrays, so
that the same lines run on NumPy and under JAX's jit: `xp = namespace(step.after.state.requested)`, no Python branch
on values.

This room may not import JAX, so whoever may and wants the check under jit passes `check_jit`: a callable that gets
the function and a sample transition (of NumPy arrays), runs the one on the other under jit and returns the value. In
short: `lambda function, step: jax.jit(function)(jax.tree.map(jax.numpy.asarray, step))`, with x64 switched on.
Without it only the NumPy checks are made, which is all that decisions in a cluster need.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.errors import UserTermError
from longshore.objectives import REGISTRY
from longshore.objectives.base import Objective, Transition, never_ends
from longshore.objectives.samples import sample_transitions

MAX_REWARD = 1e6
"""Larger rewards drown every other term and, squared in a loss, leave float32."""

_RUNNING = "in use"
"""Where an error happened, in its message."""

RewardFunction = Callable[[Transition], Array]
JitCheck = Callable[[RewardFunction, Transition], Array]
"""Runs a reward function under jit on one transition and returns the value."""


@dataclass(frozen=True)
class UserTerm:
    """A user's function, or another package's objective, as an objective that fails with its name."""

    name: str
    unit: RewardFunction | Objective

    def reward(self, step: Transition) -> Array:
        """Return what the function says, as float64.

        Raises:
            UserTermError: it fails or, on NumPy arrays, gives no finite number: the checks before use saw small
                clusters only. Under jit values are not known yet.
        """
        reward = cast("RewardFunction", getattr(self.unit, "reward", self.unit))
        xp = namespace(step.after.state.requested)
        if xp is np:
            return np.float64(_evaluated(self.name, _RUNNING, reward, step))
        return xp.asarray(_called(self.name, _RUNNING, reward, step)).astype(xp.float64)

    def ends_episode(self, step: Transition) -> Array:
        """Say whether the episode ends; a function ends nothing."""
        return _called(self.name, _RUNNING, getattr(self.unit, "ends_episode", never_ends), step)


def load_user_term(target: str, *, check_jit: JitCheck | None = None) -> UserTerm:
    """Load and check a user's own term.

    Args:
        target: `path/to/file.py:function`, or the name of an entry point of the group `longshore.objectives`.
        check_jit: runs a function under jit, see the module's docstring.

    Raises:
        UserTermError: if it fails a check; the message says which one and on what.
        InputError: if it cannot be loaded, or is neither a file nor a registered name.
    """
    function = REGISTRY.find(target)
    if not callable(function) or isinstance(function, type):
        raise UserTermError(
            f"user term `{target}`: got {type(function).__name__} `{function!r}`, expected a function",
            "give the name of a function that takes one `Transition` and returns a scalar",
        )
    check_reward(target, function, check_jit=check_jit)
    return UserTerm(target, function)


def check_reward(target: str, reward: RewardFunction, *, check_jit: JitCheck | None = None) -> None:
    """Try a reward function on the sample placements: scalar, finite, bounded and, where asked, equal under jit."""
    for number, step in enumerate(sample_transitions(), start=1):
        where = f"sample placement {number}"
        value = _bounded(target, where, _evaluated(target, where, reward, step))
        if check_jit is not None:
            _check_under_jit(target, where, value, partial(check_jit, reward), step)


def _called(target: str, where: str, function: RewardFunction, step: Transition) -> Array:
    try:
        # What NumPy would warn of shows in the value, which is checked.
        with np.errstate(all="ignore"):
            return function(step)
    except (Exception, SystemExit) as error:
        # A user's code may fail in any way; each is theirs to read, with the place and the original chained below.
        raise UserTermError(
            f"user term `{target}`: {where}: raised {type(error).__name__}: {error}",
            "it must give a reward for every placement, also on clusters without readings, GPUs or pods; "
            "it may not change its arrays",
        ) from error


def _evaluated(target: str, where: str, reward: RewardFunction, step: Transition) -> float:
    """Run a reward function and read the finite number that it gives."""
    value = _called(target, where, lambda step: np.asarray(reward(step)), step)
    return _scalar(target, where, value)


def _scalar(target: str, where: str, array: Array) -> float:
    if array.shape != () or array.dtype.kind not in "biuf":
        raise UserTermError(
            f"user term `{target}`: {where}: returned shape {array.shape} of {array.dtype}, expected one real number",
            "reduce over the nodes, for instance with `.sum()` or `[step.node]`",
        )
    number = float(array)
    if not np.isfinite(number):
        raise UserTermError(
            f"user term `{target}`: {where}: returned `{number}`, expected a finite number",
            "guard divisions: `x / xp.maximum(count, 1)`; what is not known is marked in `step.after.readings.*_known`",
        )
    return number


def _bounded(target: str, where: str, number: float) -> float:
    if abs(number) > MAX_REWARD:
        raise UserTermError(
            f"user term `{target}`: {where}: returned `{number}`, expected at most {MAX_REWARD:g} either way",
            "scale it, for instance bytes by `allocatable`",
        )
    return number


def _check_under_jit(target: str, where: str, value: float, compiled: RewardFunction, step: Transition) -> None:
    try:
        jitted = np.asarray(compiled(step))
    except (Exception, SystemExit) as error:
        raise UserTermError(
            f"user term `{target}`: {where}: does not work under jit: {type(error).__name__}: {error}",
            "use `xp = namespace(array)` and `xp.where` in place of NumPy's own functions and of `if` on array values",
        ) from error
    number = _bounded(target, f"{where} under jit", _scalar(target, f"{where} under jit", jitted))
    if not np.isclose(number, value, rtol=1e-6, atol=1e-9):
        raise UserTermError(
            f"user term `{target}`: {where}: gives `{number}` under jit and `{value}` without, expected the same",
            "it may depend on nothing but its transition: no randomness, no clock, no variables that it changes",
        )
