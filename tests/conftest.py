"""What all tests share: how a missing component is answered, and hypothesis' settings."""

import contextlib
import ctypes
import functools
import gc
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from longshore.store.location import cache_folder
from support.local_cluster import built_programs, cluster_namespace, local_cluster

__all__ = ["built_programs", "cluster_namespace", "local_cluster"]
"""Fixtures that are written elsewhere."""

TESTS = Path(__file__).parent

# Programs that JAX compiles are shared by the workers, by child processes and with later runs.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder() / "jax-tests"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", str(4 * 2**30))
# Most programs of tests run once: they are compiled without most optimisations, which takes less time.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")

# Thousands of programs and tables make a large heap, through which Python's collector would walk every few moments:
# a quarter of the time of some modules.
gc.set_threshold(50_000, 20, 50)

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


SLOW = TESTS / "slow.txt"
"""Tests that `--fast` leaves out, a line each: `path::name`, for all of its parameters."""
SLOW_SECONDS = 1.0
OF_CLUSTERS = {"built_programs", "cluster_namespace", "local_cluster"}
"""Fixtures that need programs built from Go, or a cluster of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="no cluster, no built programs, nothing slow")
    parser.addoption("--write-slow", action="store_true", help=f"write down what takes {SLOW_SECONDS:g} s or more")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-slow") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SlowTests(), "slow-tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--fast"):
        return
    slow = set(SLOW.read_text(encoding="utf-8").split())
    left_out = [item for item in items if name_of(item.nodeid) in slow or OF_CLUSTERS & set(item.fixturenames)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def name_of(nodeid: str) -> str:
    """Return `path::name` of a test, relative to this folder, whatever its parameters are."""
    path, _, rest = nodeid.partition("::")
    return f"{path.removeprefix('tests/')}::{rest.partition('[')[0]}"


class SlowTests:
    """Measures a run, and writes the names of slow tests."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what a test takes: set-up, call and taking down."""
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the list."""
        names = {name_of(nodeid) for nodeid, seconds in self._seconds.items() if seconds >= SLOW_SECONDS}
        SLOW.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


@pytest.fixture(autouse=True)
def ctrl_c_stays() -> Iterator[None]:
    """Fail the test that leaves another handler of Ctrl-C behind: tests after it would not hear it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.signal(signal.SIGINT, before)
    assert after is before, "a handler of SIGINT is left behind"


MOST_BYTES, MOST_BYTES_OF_A_MODULE = 1_500_000_000, 800_000_000
"""Memory that a test process may hold, after a test and after a module, before compiled programs are thrown away."""
MOST_MAPS = 20_000
"""The same for pieces of memory: Linux ends a process at 65,530 without a word, and a program takes about fourteen."""


@pytest.fixture(autouse=True)
def room_for_programs() -> Iterator[None]:
    """After a test, forget compiled programs where they have become many: the whole suite compiles thousands."""
    yield
    if "jax" in sys.modules and _resident_bytes() > MOST_BYTES:
        _forget_programs()


@pytest.fixture(scope="module", autouse=True)
def room_for_modules() -> Iterator[None]:
    """After a module, be stricter: what comes next shares little with it."""
    yield
    if "jax" in sys.modules and (_resident_bytes() > MOST_BYTES_OF_A_MODULE or _num_maps() > MOST_MAPS):
        _forget_programs()


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else 0


def _num_maps() -> int:
    maps = Path("/proc/self/maps")
    return len(maps.read_bytes().splitlines()) if maps.exists() else 0


def _forget_programs() -> None:
    import jax

    # Programs also hang on what tests keep by `functools.cache`.
    for kept in [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]:
        if not kept.__module__.startswith(("longshore", "jax")) and Path(_file_of(kept)).is_relative_to(TESTS):
            kept.cache_clear()
    jax.clear_caches()
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _file_of(function: Any) -> str:
    return str(function.__wrapped__.__code__.co_filename) if hasattr(function.__wrapped__, "__code__") else ""


@pytest.fixture(scope="session")
def require_component() -> Callable[[str, str, bool], None]:
    """Give tests `require_component(name, provided_by, is_there)`, for what a plain `make setup` does not install."""
    return answer_missing_component
