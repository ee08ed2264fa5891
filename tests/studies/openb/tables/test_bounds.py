"""Bounds on GPU traces: by hand where they are the optimum, and against all placements of a few pods."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.bounds import (
    Demand,
    Supply,
    fewest_nodes,
    group_nodes,
    group_pods,
    least_watts,
    mean_counts,
    most_allocated,
    most_allocated_forcing,
    placeable,
)

T4 = {"idle": 10, "full": 70}
P100 = {"idle": 25, "full": 250}
SOCKET = {"idle": 15, "active": 120}

_Group = tuple[int, int, int, str, int]
_Class = tuple[int, int, int, int, int]


def supply(*groups: _Group) -> Supply:
    """Each group is (milli-CPU, memory, GPUs, model, nodes)."""
    cpu, memory, gpus, model, count = zip(*groups, strict=True)
    return Supply(np.array(cpu), np.array(memory), np.array(gpus), model, np.array(count))


def demand(num_groups: int, *classes: _Class, forced: bool = False) -> Demand:
    """Each class is (milli-CPU, memory, GPUs, milli of each, pods); all of them must be placed, or none."""
    cpu, memory, gpu_count, gpu_milli, most = (np.array(column) for column in zip(*classes, strict=True))
    anywhere = np.ones((len(classes), num_groups), bool)
    return Demand(cpu, memory, gpu_count, gpu_milli, anywhere, most if forced else most * 0, most)


def test_shares_above_half_take_a_gpu_each() -> None:
    two_gpus = supply((64000, 100, 2, "T4", 1))
    assert most_allocated(two_gpus, demand(1, (1000, 1, 1, 600, 3))) == pytest.approx(1200)


def test_shares_fill_the_gpus_by_the_best_patterns() -> None:
    # 700 + 300 twice, and 400 + 300 on the third: the sum of all, 2700, does not show that 400 and 700 never meet.
    three_gpus = supply((64000, 100, 1, "T4", 3))
    asked = demand(1, (1000, 1, 1, 700, 2), (1000, 1, 1, 400, 1), (1000, 1, 1, 300, 3))
    assert most_allocated(three_gpus, asked) == pytest.approx(2700)
    assert most_allocated(supply((64000, 100, 1, "T4", 2)), asked) == pytest.approx(2000)


@pytest.mark.parametrize("column", [0, 1])
def test_cpu_and_memory_limit_what_is_allocated(column: int) -> None:
    pod = [1000, 1, 1, 1000, 4]
    pod[column] *= 4
    nodes = supply((8000, 8, 2, "T4", 2))
    assert most_allocated(nodes, demand(1, tuple(pod))) == pytest.approx(4000)
    pod[column] *= 2
    assert most_allocated(nodes, demand(1, tuple(pod))) == pytest.approx(2000)


def test_a_pod_of_many_gpus_needs_a_node_of_as_many() -> None:
    nodes = supply((64000, 100, 4, "T4", 10), (64000, 100, 8, "T4", 1))
    assert most_allocated(nodes, demand(2, (1000, 1, 8, 1000, 3))) == pytest.approx(8000)


def test_models_confine_pods() -> None:
    nodes = supply((64000, 100, 2, "T4", 1), (64000, 100, 2, "P100", 1))
    asked = demand(2, (1000, 1, 1, 1000, 4))
    assert most_allocated(nodes, asked._replace(allowed=np.array([[True, False]]))) == pytest.approx(2000)


def test_forced_pods_take_the_room_of_others() -> None:
    # Beside 510 there is no room for 500; without them, four of 500 fill both GPUs.
    nodes = supply((64000, 100, 1, "T4", 2))
    asked = demand(1, (1000, 1, 1, 510, 2), (1000, 1, 1, 500, 4))
    assert most_allocated(nodes, asked) == pytest.approx(2000)
    assert most_allocated(nodes, asked._replace(forced=np.array([2, 0]))) == pytest.approx(1020)


def test_pods_without_gpus_take_cpu() -> None:
    nodes = supply((8000, 100, 2, "T4", 1))
    asked = demand(1, (4000, 1, 1, 1000, 2), (4000, 1, 0, 0, 1))
    assert most_allocated(nodes, asked._replace(forced=np.array([0, 1]))) == pytest.approx(1000)


def test_forcing_falls_back_to_what_fits() -> None:
    nodes = supply((64000, 100, 1, "T4", 2))
    asked = demand(1, (1000, 1, 1, 600, 3), (1000, 1, 1, 400, 3))
    forced = {90: np.array([3, 0]), 80: np.array([2, 1]), 70: np.array([1, 0])}
    assert most_allocated_forcing(nodes, asked, forced) == (pytest.approx(2000), 80)


def test_two_nodes_hold_three_pods() -> None:
    nodes = supply((8000, 100, 2, "T4", 4))
    assert fewest_nodes(nodes, demand(1, (1000, 1, 1, 1000, 3), forced=True)) == 2.0


def test_the_larger_nodes_are_fewer() -> None:
    nodes = supply((96000, 100, 8, "G2", 2), (16000, 100, 2, "P100", 9))
    assert fewest_nodes(nodes, demand(2, (1000, 1, 1, 1000, 16), forced=True)) == 2.0
    assert fewest_nodes(nodes, demand(2, (1000, 1, 1, 1000, 17), forced=True)) == 3.0


def test_optional_pods_need_no_node() -> None:
    assert fewest_nodes(supply((8000, 100, 2, "T4", 4)), demand(1, (1000, 1, 1, 1000, 3))) == 0.0


def test_mean_counts_need_parts_of_nodes() -> None:
    nodes = supply((8000, 100, 2, "T4", 4))
    asked = demand(1, (1000, 1, 1, 1000, 1), forced=True)
    assert fewest_nodes(nodes, asked._replace(forced=np.array([2.5]))) == pytest.approx(1.25)


def test_watts_of_a_full_node() -> None:
    nodes = supply((64000, 100, 2, "T4", 2))
    asked = demand(1, (32000, 1, 1, 1000, 2), forced=True)
    full, empty = 2 * T4["full"] + 2 * SOCKET["active"], 2 * T4["idle"] + 2 * SOCKET["idle"]
    assert least_watts(nodes, asked) == pytest.approx(full + empty)
    assert least_watts(nodes, asked, idle_off=True) == pytest.approx(full)


def test_the_end_of_a_cpu_takes_a_socket_of_its_own() -> None:
    nodes = supply((40000, 100, 1, "T4", 1))
    asked = demand(1, (40000, 1, 1, 1000, 1), forced=True)
    assert least_watts(nodes, asked) == pytest.approx(T4["full"] + 2 * SOCKET["active"])


def test_every_node_with_pods_has_an_active_socket() -> None:
    nodes = supply((96000, 100, 1, "T4", 2))
    asked = demand(1, (1000, 1, 1, 1000, 2), forced=True)
    assert least_watts(nodes, asked) == pytest.approx(2 * (T4["full"] + SOCKET["active"] + 2 * SOCKET["idle"]))


def test_pods_without_cpu_need_no_socket() -> None:
    nodes = supply((96000, 100, 1, "T4", 2))
    asked = demand(1, (0, 1, 1, 1000, 2), forced=True)
    assert least_watts(nodes, asked) == pytest.approx(2 * (T4["full"] + 3 * SOCKET["idle"]))


def test_frugal_gpus_come_first() -> None:
    nodes = supply((32000, 100, 1, "P100", 1), (32000, 100, 1, "T4", 1))
    asked = demand(2, (32000, 1, 1, 1000, 1), forced=True)
    on = T4["full"] + SOCKET["active"]
    assert least_watts(nodes, asked, idle_off=True) == pytest.approx(on)
    assert least_watts(nodes, asked) == pytest.approx(on + P100["idle"] + SOCKET["idle"])


def test_pods_that_do_not_fit_are_refused() -> None:
    nodes, asked = supply((8000, 100, 2, "T4", 1)), demand(1, (1000, 1, 1, 600, 3), forced=True)
    for bound in (most_allocated, fewest_nodes, least_watts):
        with pytest.raises(InputError, match="3 pods must be placed and do not fit on 1 nodes"):
            bound(nodes, asked)


def test_a_pod_that_fits_nowhere_is_named() -> None:
    nodes, asked = supply((8000, 100, 2, "T4", 9)), demand(1, (1000, 1, 4, 1000, 1), forced=True)
    with pytest.raises(InputError, match="1000 milli-CPU, 1 memory and 4 x 1000 milli-GPU that fits on no node"):
        fewest_nodes(nodes, asked)


def test_only_pods_that_fit_on_some_node_are_placeable() -> None:
    nodes = supply((8000, 100, 2, "T4", 9), (8000, 10, 8, "P100", 1))
    asked = demand(2, (8000, 1, 8, 1000, 0), (8000, 11, 8, 1000, 0), (9000, 1, 1, 1000, 0), (1000, 1, 1, 500, 0))
    allowed = np.array([[True, True]] * 3 + [[False, False]])
    assert placeable(nodes, asked._replace(allowed=allowed)).tolist() == [True, False, False, False]


def test_more_forced_than_there_are_is_refused() -> None:
    nodes, asked = supply((8000, 100, 2, "T4", 9)), demand(1, (1000, 1, 1, 1000, 1))
    with pytest.raises(InputError, match="got 2 pods that must be placed, more"):
        most_allocated(nodes, asked._replace(forced=np.array([2])))


def test_equal_nodes_are_grouped() -> None:
    cpu, memory, gpus = np.array([8, 4, 8, 8]), np.array([1, 1, 1, 1]), np.array([2, 2, 2, 2])
    found = group_nodes(cpu, memory, gpus, np.array(["T4", "T4", "T4", "P100"]))
    rows = zip(found.cpu_millis, found.gpus, found.model, found.count, strict=True)
    assert sorted(rows) == [(4, 2, "T4", 1), (8, 2, "P100", 1), (8, 2, "T4", 2)]


def test_equal_pods_are_grouped_unless_their_models_differ() -> None:
    ones = np.ones(4, np.int64)
    allowed = np.array([[True, True], [True, False], [True, True], [True, True]])
    found, class_of_pod = group_pods(ones, ones, ones, np.array([500, 500, 500, 600]), allowed)
    assert class_of_pod[0] == class_of_pod[2] and len(set(class_of_pod.tolist())) == len(found.most) == 3
    assert found.gpu_milli[class_of_pod].tolist() == [500, 500, 500, 600]
    assert (found.allowed[class_of_pod] == allowed).all()


def test_mean_counts_are_the_mean_of_the_counts_at_each_measured_arrival() -> None:
    classes, is_measured = np.array([0, 1, 0, 2, 0, 1]), np.array([False, False, True, True, False, False])
    assert mean_counts(classes, is_measured, 4).tolist() == [2.0, 1.0, 0.5, 0.0]
    assert mean_counts(classes, is_measured, 4, before=2).tolist() == [1.0, 1.0, 0.0, 0.0]


class Placement(NamedTuple):
    """Pods on nodes: how many of them are placed, and what that comes to."""

    is_complete: bool
    allocated: int
    nodes: int
    watts: float
    watts_idle_off: float


def placements(nodes: Supply, pods: Demand) -> Iterator[Placement]:
    """Try every way to place the pods or leave them out."""
    each = [int(c) for c in np.repeat(np.arange(len(pods.most)), pods.most)]
    groups = [int(g) for g in np.repeat(np.arange(len(nodes.count)), nodes.count)]
    free = [(int(nodes.cpu_millis[g]), int(nodes.memory[g]), (1000,) * int(nodes.gpus[g])) for g in groups]

    def place(index: int, now: list[tuple[int, int, tuple[int, ...]]], placed: list[int]) -> Iterator[Placement]:
        if index == len(each):
            yield measure(now, placed)
            return
        yield from place(index + 1, now, placed)
        pod = each[index]
        count, milli = int(pods.gpu_count[pod]), int(pods.gpu_milli[pod])
        for node, (cpu, memory, gpus) in enumerate(now):
            left = (cpu - int(pods.cpu_millis[pod]), memory - int(pods.memory[pod]))
            usable = [gpu for gpu, milli_left in enumerate(gpus) if milli_left >= milli]
            if min(left) < 0 or not pods.allowed[pod, groups[node]] or len(usable) < count:
                continue
            # Whole GPUs are all the same; a share tries one GPU of each fill.
            choices = [usable[:count]] if count != 1 else [[gpus.index(fill)] for fill in {gpus[u] for u in usable}]
            for chosen in choices:
                after = tuple(fill - milli * (gpu in chosen) for gpu, fill in enumerate(gpus))
                yield from place(index + 1, [*now[:node], (*left, after), *now[node + 1 :]], [*placed, pod])

    def measure(now: list[tuple[int, int, tuple[int, ...]]], placed: list[int]) -> Placement:
        drawn = []
        for group, (cpu, _, gpus) in zip(groups, now, strict=True):
            rates, capacity = (T4 if nodes.model[group] == "T4" else P100), int(nodes.cpu_millis[group])
            active = math.ceil((capacity - cpu) / 32000)
            cpu_watts = active * SOCKET["active"] + (math.ceil(capacity / 32000) - active) * SOCKET["idle"]
            drawn.append(cpu_watts + sum(rates["idle" if fill == 1000 else "full"] for fill in gpus))
        is_used = [after != before for after, before in zip(now, free, strict=True)]
        allocated = sum(int(pods.gpu_count[pod] * pods.gpu_milli[pod]) for pod in placed)
        used_watts = sum(watts for watts, used in zip(drawn, is_used, strict=True) if used)
        return Placement(len(placed) == len(each), allocated, sum(is_used), sum(drawn), used_watts)

    return place(0, free, [])


def random_case(seed: int) -> tuple[Supply, Demand]:
    rng = np.random.default_rng(seed)
    nodes = supply(
        (int(rng.choice([16000, 40000, 64000])), 10, int(rng.integers(1, 3)), "T4", int(rng.integers(1, 3))),
        (int(rng.choice([16000, 96000])), 12, int(rng.integers(1, 3)), "P100", 1),
    )
    gpus = rng.integers(0, 3, 4)
    milli = np.where(gpus == 2, 1000, rng.choice([300, 400, 600, 810, 1000], 4)) * (gpus > 0)
    allowed = rng.random((4, 2)) < 0.8
    nothing = np.zeros(4, np.int64)
    asked = Demand(rng.integers(1, 12, 4) * 2000, rng.integers(1, 6, 4), gpus, milli, allowed, nothing, nothing + 1)
    return nodes, asked


def test_no_placement_is_beyond_the_bounds() -> None:
    num_complete = num_optimal = 0
    for seed in range(40):
        nodes, asked = random_case(seed)
        every = list(placements(nodes, asked))
        most = max(placement.allocated for placement in every)
        bound = most_allocated(nodes, asked)
        assert bound >= most - 1e-6
        num_optimal += bound < most + 1e-6
        complete = [placement for placement in every if placement.is_complete]
        if not complete:
            continue
        num_complete += 1
        asked = asked._replace(forced=asked.most)
        assert most_allocated(nodes, asked) == pytest.approx(most)
        assert fewest_nodes(nodes, asked) <= min(placement.nodes for placement in complete)
        assert least_watts(nodes, asked) <= min(placement.watts for placement in complete) + 1e-6
        idle_off = min(placement.watts_idle_off for placement in complete)
        assert least_watts(nodes, asked, idle_off=True) <= idle_off + 1e-6
    assert num_complete >= 10 and num_optimal >= 20
