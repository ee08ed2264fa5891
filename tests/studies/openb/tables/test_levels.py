"""The published measure on numbers that can be checked by hand, and the reader of published tables."""

from pathlib import Path

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.levels import (
    PUBLISHED_FILE,
    allocation_percent,
    demand_levels,
    means_at_levels,
    published,
)

HEADER = "workload,sc_policy,tune,seed,total_gpus,0,1,130\n"


def write(folder: Path, rows: str) -> Path:
    (folder / PUBLISHED_FILE).write_text(HEADER + rows)
    return folder


def test_levels_round_halves_to_even() -> None:
    assert demand_levels(np.array([4, 5, 15, 16, 25, 26]), 1000).tolist() == [0, 0, 2, 2, 2, 3]


def test_means_are_over_the_arrivals_of_a_level() -> None:
    arrived = np.array([10, 11, 19, 20, 24, 30])
    values = np.array([1.0, 3.0, 10.0, 20.0, 30.0, 7.0])
    assert means_at_levels(values, arrived, 1000, [1, 2, 3]) == {1: 2.0, 2: 20.0, 3: 7.0}


def test_level_without_arrivals_takes_its_neighbours() -> None:
    assert means_at_levels(np.array([1.0, 3.0]), np.array([10, 30]), 1000, [2]) == {2: 2.0}


def test_level_beyond_the_run_is_left_out() -> None:
    assert means_at_levels(np.array([1.0]), np.array([10]), 1000, [1, 2, 3]) == {1: 1.0, 2: 1.0}


def test_allocation_is_rounded_before_and_after_the_mean() -> None:
    # 0.0049 % counts as 0; the mean of 0, 0 and 0.02 is 0.00666…
    allocated = np.array([49, 49, 151])
    assert allocation_percent(np.array([300, 300, 300]), allocated, 1_000_000, [0]) == {0: 0.01}


def test_allocation_equals_demand_while_all_is_placed() -> None:
    arrived = np.cumsum(np.full(100, 10_000))
    got = allocation_percent(arrived, arrived, 1_000_000, range(1, 101))
    assert got == {level: float(level) for level in range(1, 101)}


def test_published_gives_values_in_the_order_of_seeds(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        "openb_pod_list_default,06-FGD,1.3,43,6212,0.2,1.1,95.2\n"
        "openb_pod_list_default,06-FGD,1.3,42,6212,0.1,1.0,95.1\n"
        "openb_pod_list_cpu050,05-BestFit,1.3,42,6212,0.3,1.2,93.0\n",
    )
    assert published(folder) == {
        ("default", "fgd"): {0: [0.1, 0.2], 1: [1.0, 1.1], 130: [95.1, 95.2]},
        ("cpu050", "gpu-best-fit"): {0: [0.3], 1: [1.2], 130: [93.0]},
    }


def test_published_refuses_an_unknown_policy(tmp_path: Path) -> None:
    folder = write(tmp_path, "openb_pod_list_default,07-New,1.3,42,6212,0,1,95\n")
    with pytest.raises(InputError, match=r"line 2, column `sc_policy`: got `07-New`"):
        published(folder)


def test_published_says_where_the_file_comes_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="analysis_allo_discrete"):
        published(tmp_path)
