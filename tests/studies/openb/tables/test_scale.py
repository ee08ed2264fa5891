"""Smaller and larger clusters have the same mix of nodes."""

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.openb import Nodes
from longshore_studies.openb.tables.scale import scaled

NODES = Nodes(
    ("a", "b", "c", "d", "e", "f"),
    np.array([8, 8, 8, 8, 8, 4]),
    np.array([1, 1, 1, 1, 1, 2]),
    np.array([2, 2, 2, 2, 2, 1]),
    ("T4", "T4", "T4", "T4", "T4", "P100"),
)


def test_a_quarter_takes_every_fourth_of_each_kind() -> None:
    assert scaled(NODES, 0.25).names == ("a", "e", "f")


def test_four_times_takes_each_four_times_under_names_of_their_own() -> None:
    larger = scaled(NODES, 4)
    assert len(set(larger.names)) == 24
    assert larger.gpu_capacity_milli == 4 * NODES.gpu_capacity_milli
    assert larger.names[20:] == ("f", "f-2", "f-3", "f-4")
    assert (larger.cpu_milli[20:].tolist(), larger.model[20:]) == ([4] * 4, ("P100",) * 4)


def test_once_is_the_cluster_itself() -> None:
    same = scaled(NODES, 1)
    assert same.names == NODES.names
    assert same.memory_mib.tolist() == NODES.memory_mib.tolist()


@pytest.mark.parametrize("scale", [0.0, -1.0, 101.0, float("nan")])
def test_a_scale_that_makes_no_sense_is_refused(scale: float) -> None:
    with pytest.raises(InputError, match="of the cluster, expected a number above 0"):
        scaled(NODES, scale)
