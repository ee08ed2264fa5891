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

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.errors import UserTermError, nearest_name
from longshore.objectives import REGISTRY
from longshore.objectives.base import Transition, never_ends
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
    function: RewardFunction
    ends: RewardFunction = never_ends

    def reward(self, step: Transition) -> Array:
        """Return what the function says, as float64.

        Raises:
            UserTermError: it fails or, on NumPy arrays, gives no finite number: the checks before use saw small
                clusters only. Under jit values are not known yet.
        """
        xp = namespace(step.after.state.requested)
        if xp is np:
            return np.float64(_evaluated(self.name, _RUNNING, self.function, step))
        return xp.asarray(_called(self.name, _RUNNING, self.function, step)).astype(xp.float64)

    def ends_episode(self, step: Transition) -> Array:
        """Say whether the episode ends; a function ends nothing."""
        return _called(self.name, _RUNNING, self.ends, step)


def is_file_target(target: str) -> bool:
    """Say whether a name is `path/to/file.py:function` rather than an entry of the registry."""
    path, _, function = target.rpartition(":")
    return path.endswith(".py") and function.isidentifier()


def load_user_term(target: str, *, check_jit: JitCheck | None = None) -> UserTerm:
    """Load and check a user's own term.

    Args:
        target: `path/to/file.py:function`, or the name of an entry point of the group `longshore.objectives`.
        check_jit: runs a function under jit, see the module's docstring.

    Raises:
        UserTermError: if it cannot be loaded or fails a check; the message says which one and on what.
        UnknownNameError: if it is neither a file nor a registered name.
    """
    function = _from_file(target) if is_file_target(target) else REGISTRY.load(target)
    if not callable(function) or isinstance(function, type):
        raise UserTermError(
            f"user term `{target}`: got {type(function).__name__} `{function!r}`, expected a function",
            "give the name of a function that takes one `Transition` and returns a scalar",
        )
    check_signature(target, function)
    check_reward(target, function, check_jit=check_jit)
    return UserTerm(target, function)


def check_signature(target: str, function: RewardFunction) -> None:
    """Refuse a function that cannot be called with one transition."""
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError) as error:
        raise UserTermError(
            f"user term `{target}`: cannot be called with one argument: {error}",
            "its signature is `def term(step: Transition) -> Array`; further parameters need defaults",
        ) from error


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


def _from_file(target: str) -> object:
    path_text, _, name = target.rpartition(":")
    path = Path(path_text)
    if not path.is_file():
        raise UserTermError(f"user term `{target}`: no file `{path}`", "give the path from the current folder")
    module = _import(target, path)
    if not hasattr(module, name):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        nearest = nearest_name(name, functions)
        raise UserTermError(
            f"user term `{target}`: `{path}` has no `{name}`; its functions: {', '.join(functions) or 'none'}",
            f"did you mean `{nearest}`?" if nearest else "name a function of the file after the colon",
        )
    found: object = getattr(module, name)
    return found


def _import(target: str, path: Path) -> ModuleType:
    # A name of its own: a user's file `ee.py` or `numpy.py` must not stand in for a module of that name.
    spec = importlib.util.spec_from_file_location(f"longshore_user_term_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserTermError(f"user term `{target}`: `{path}` is not a Python file", "its name must end in `.py`")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UserTermError(
            f"user term `{target}`: `{path}` cannot be imported: {type(error).__name__}: {error}",
            f"`python {path}` shows where it fails",
        ) from error
    return module
