"""What all tests share: how a missing component is answered, and hypothesis' settings."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from support.local_cluster import built_programs, cluster_namespace, local_cluster

__all__ = ["built_programs", "cluster_namespace", "local_cluster"]
"""Fixtures that are written elsewhere."""

# No deadline: on two shared cores a slow example says nothing about the code. In CI the examples are the same every
# time, so that a red run can be repeated; the random search over many seeds is the job of `longshore bench oracle`.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


# Shells start what goes on in the background with Ctrl-C ignored, and Python leaves it so: tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def answer_missing_component(name: str, provided_by: str, is_there: bool) -> None:
    """Go on if the component is there; otherwise skip and name the command that provides it, or fail in CI."""
    if is_there:
        return
    message = f"`{name}` is missing; `{provided_by}` provides it"
    if os.environ.get("CI"):
        pytest.fail(f"{message} (in CI a missing component is a failure)", pytrace=False)
    pytest.skip(message)


MOST_MAPS = 20_000
"""Pieces of memory that a test process may hold before compiled programs are thrown away: Linux ends a process at
65,530 without a word, and every program that JAX compiles takes about fourteen."""


@pytest.fixture(scope="module", autouse=True)
def room_for_programs() -> Iterator[None]:
    """After a module, forget compiled programs where they have become many: the whole suite compiles thousands."""
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and len(maps.read_bytes().splitlines()) > MOST_MAPS:
        import jax

        jax.clear_caches()
        gc.collect()


@pytest.fixture(scope="session")
def require_component() -> Callable[[str, str, bool], None]:
    """Give tests `require_component(name, provided_by, is_there)`, for what a plain `make setup` does not install."""
    return answer_missing_component
