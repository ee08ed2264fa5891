"""Every way in which a run could cheat is found by counting again."""

import numpy as np
import pytest

from longshore.core.words.errors import LongshoreError
from longshore_studies.openb.tables.check import Placements, check_run
from longshore_studies.openb.tables.openb import Nodes, Pods

NODES = Nodes(("a", "b"), np.array([8000, 4000]), np.array([1000, 1000]), np.array([2, 1]), ("T4", "P100"))


def pods(*rows: tuple[int, int, int, int, tuple[str, ...]]) -> Pods:
    """Rows are (cpu, memory, GPUs, milli of each, models)."""
    cpu, memory, count, milli = (np.array(column, np.int64) for column in list(zip(*rows, strict=True))[:4])
    names = tuple(f"p{number}" for number in range(len(rows)))
    return Pods(names, cpu, memory, count, milli, tuple(row[4] for row in rows), None, None)


def done(*events: tuple[int, bool, int, tuple[bool, bool]]) -> Placements:
    """Events are (pod, comes, node, the two devices)."""
    pod, is_arrival, node, on_device = zip(*events, strict=True)
    return Placements(np.array(pod), np.array(is_arrival), np.array(node), np.array(on_device))


NONE, FIRST, SECOND, BOTH = (False, False), (True, False), (False, True), (True, True)
SHARE = (1000, 10, 1, 600, ())
WHOLE = (1000, 10, 1, 1000, ())
PAIR = (1000, 10, 2, 1000, ())
PLAIN = (3000, 10, 0, 0, ())


def test_a_run_in_which_all_fits_is_let_through() -> None:
    run = done((0, True, 0, FIRST), (1, True, 0, SECOND), (2, True, 1, FIRST))
    assert check_run(NODES, pods(SHARE, SHARE, WHOLE), run) == 0


def test_pods_that_truly_fit_nowhere_are_counted() -> None:
    run = done((0, True, 0, BOTH), (1, True, 1, FIRST), (2, True, -1, NONE), (3, True, -1, NONE))
    assert check_run(NODES, pods(PAIR, WHOLE, SHARE, SHARE), run) == 2


REFUSED = {
    "a GPU is free": (pods(WHOLE, SHARE), done((0, True, 0, FIRST), (1, True, -1, NONE))),
    "a share is left": (
        pods(PAIR, (1000, 10, 1, 400, ()), SHARE),
        done((0, True, 0, BOTH), (1, True, 1, FIRST), (2, True, -1, NONE)),
    ),
    "a pod without GPU": (pods(PLAIN), done((0, True, -1, NONE))),
    "only the second of two kinds has room": (
        pods(PAIR, WHOLE, SHARE, PLAIN),
        done((0, True, 0, BOTH), (1, True, 1, FIRST), (2, True, -1, NONE), (3, True, -1, NONE)),
    ),
    "room was made by one that left": (
        pods(PAIR, WHOLE, SHARE),
        done((0, True, 0, BOTH), (1, True, 1, FIRST), (2, True, -1, NONE), (0, False, 0, BOTH), (2, True, -1, NONE)),
    ),
}


@pytest.mark.parametrize(("list_", "run"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_with_room_left_is_found(list_: Pods, run: Placements) -> None:
    with pytest.raises(LongshoreError, match=r"found no node, but `.` had room"):
        check_run(NODES, list_, run)


FAULTS = {
    "beyond its capacity": (pods(SHARE, SHARE), done((0, True, 0, FIRST), (1, True, 0, FIRST))),
    "put on a node beyond its capacity": (pods(PLAIN, PLAIN), done((0, True, 1, NONE), (1, True, 1, NONE))),
    "were put on a node beyond": (
        pods((0, 600, 0, 0, ()), (0, 600, 0, 0, ())),
        done((0, True, 0, NONE), (1, True, 0, NONE)),
    ),
    "GPU model it may not use": (pods((1000, 10, 1, 600, ("T4",))), done((0, True, 1, FIRST))),
    "another number of GPUs": (pods(PAIR), done((0, True, 0, FIRST))),
    "GPU that its node does not have": (pods(SHARE), done((0, True, 1, SECOND))),
    "left another node": (pods(SHARE), done((0, True, 0, FIRST), (0, False, 1, FIRST))),
    "a pod left that was not there": (pods(SHARE), done((0, True, 0, FIRST), (0, False, 0, SECOND))),
}


@pytest.mark.parametrize(
    ("list_", "run", "message"), [(*case, message) for message, case in FAULTS.items()], ids=FAULTS
)
def test_a_placement_that_cannot_be_is_found(list_: Pods, run: Placements, message: str) -> None:
    with pytest.raises(LongshoreError, match=f"a fault of longshore: .*{message}"):
        check_run(NODES, list_, run)


def test_what_a_pod_gave_back_can_be_used_again() -> None:
    run = done((0, True, 1, FIRST), (0, False, 1, FIRST), (1, True, 1, FIRST))
    assert check_run(NODES, pods(WHOLE, WHOLE), run) == 0
