"""What the tests of this room share: compiled once, since compiling is most of their time."""

import pytest

from evaluation.cases import Best, clearing_trace, mixed_trace, rolling_trace, try_all
from longshore.evaluation.comparison import Comparison, compare
from longshore.objectives.weighted import Weighted, parse_objective
from longshore.simulator.params import Compiled, compile_trace


@pytest.fixture(scope="session")
def objective() -> Weighted:
    """Terms of every kind: states, latencies, watts."""
    return parse_objective("el-rl=1,ee=0.1,watts=0.002")


@pytest.fixture(scope="session")
def clearing() -> list[Compiled]:
    """Identical pods that leave together."""
    return [compile_trace(clearing_trace(seed)) for seed in range(6)]


@pytest.fixture(scope="session")
def rolling() -> list[Compiled]:
    """Identical pods that leave one by one."""
    return [compile_trace(rolling_trace(seed)) for seed in range(6)]


@pytest.fixture(scope="session")
def mixed() -> list[Compiled]:
    """Pods of several sizes."""
    return [compile_trace(mixed_trace(seed)) for seed in range(6)]


@pytest.fixture(scope="session")
def best_clearing(clearing: list[Compiled], objective: Weighted) -> list[Best]:
    """The optimum of each of `clearing`."""
    return [try_all(compiled, objective) for compiled in clearing]


@pytest.fixture(scope="session")
def best_rolling(rolling: list[Compiled], objective: Weighted) -> list[Best]:
    """The optimum of each of `rolling`."""
    return [try_all(compiled, objective) for compiled in rolling]


@pytest.fixture(scope="session")
def told() -> list[tuple[str, int, int]]:
    """What `test1` told of its progress."""
    return []


@pytest.fixture(scope="session")
def test1(told: list[tuple[str, int, int]]) -> Comparison:
    """The thesis' test 1 under two policies, three seeds; the baseline is not asked for."""
    return compare(
        "test1",
        ["most-allocated", "energy-latency"],
        "el-rl",
        seeds=3,
        parameters={"cycles": 2},
        progress=lambda what, done, total: told.append((what, done, total)),
    )
