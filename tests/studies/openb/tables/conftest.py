"""What the tests of this folder share: one small trace, so that each policy is compiled for it once."""

from pathlib import Path

import pytest

from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.runs import SeededRuns, draw
from studies.openb.tables.small_trace import TRACE, write_small_trace

SEEDS = (42, 43)


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold the files of a small cluster and its pod list."""
    return write_small_trace(tmp_path_factory.mktemp("trace") / "small")


@pytest.fixture(scope="session")
def small_batch(small_folder: Path) -> SeededRuns:
    """Hold the published protocol on it, by two seeds."""
    return draw(read_nodes(small_folder), {TRACE: read_pods(small_folder, TRACE)}, SEEDS)[0]
