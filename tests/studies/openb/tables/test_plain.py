"""The plain way of playing a run, by hand on two nodes."""

import numpy as np

from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.tables.runs import SeededRun

NODES = Nodes(("a", "b"), np.array([8000, 8000]), np.array([100, 100]), np.array([1, 2]), ("T4", "P100"))
PODS = Pods(
    ("share", "whole", "large", "picky"),
    np.array([1000, 1000, 1000, 1000]),
    np.array([10, 10, 95, 10]),
    np.array([1, 1, 0, 1]),
    np.array([600, 1000, 0, 300]),
    ((), (), (), ("T4",)),
    None,
    None,
)
RUN = SeededRun(1, np.array([0, 1, 1, 1, 2, 3]), np.ones(6, bool), np.array([1, 0]))


def test_pods_go_to_the_best_node_that_has_room() -> None:
    """`b` stands first. The smaller node scores higher when empty, so the share goes to `a`, the whole GPUs to `b`."""
    node, devices = play_plainly(Problem(NODES, PODS), RUN, find_policy("gpu-packing"))
    # The third whole GPU finds none, the large pod no memory; the picky one fits beside the share.
    assert node.tolist() == [1, 0, 0, -1, -1, 1]
    assert devices.tolist() == [[600, 0], [1000, 0], [0, 1000], [0, 0], [0, 0], [300, 0]]


def test_pods_that_leave_give_back_all_they_held() -> None:
    events = SeededRun(1, np.array([2, 2, 2, 3, 3]), np.array([True, False, True, True, False]), np.array([1, 0]))
    node, _ = play_plainly(Problem(NODES, PODS), events, find_policy("gpu-packing"))
    assert node.tolist() == [0, 0, 0, 1, 1]


def test_a_run_may_be_cut_short() -> None:
    assert len(play_plainly(Problem(NODES, PODS), RUN, find_policy("gpu-packing"), 2)[0]) == 2
