"""Policies that are plain Python functions, made such that a compiled program can ask them: it calls Python back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.policies.base import Policy
from longshore.policies.function import Ask, FunctionScore

_failures: list[InputError] = []
"""What functions failed with. JAX would write the whole traceback to the log, and hand on its text alone."""


def compilable(policy: Policy) -> Policy:
    """Return the policy as a compiled program can ask it; most can be asked as they are."""
    score = policy.score
    return replace(policy, score=replace(score, call=_call_back)) if isinstance(score, FunctionScore) else policy


@contextmanager
def failing_afterwards() -> Iterator[None]:
    """Fail with the first error of a function that was called back in here; after it none is asked any more."""
    _failures.clear()
    yield
    if _failures:
        raise _failures[0]


def _call_back(ask: Ask, rows: Array, feasible: Array) -> Array:
    result = jax.ShapeDtypeStruct(feasible.shape, jnp.float64)
    return jax.pure_callback(partial(_asked, ask), result, rows, feasible, vmap_method="sequential")


def _asked(ask: Ask, rows: Array, feasible: Array) -> Array:
    if not _failures:
        try:
            return ask(np.asarray(rows), np.asarray(feasible))
        except InputError as error:
            _failures.append(error)
    return np.zeros(feasible.shape)
