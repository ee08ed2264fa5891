"""Typical pods: the frequent kinds, until they cover 95 % of the pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.arrays.typical import typical_pods, typical_tables
from longshore.core.words.pod import GpuRequest, Pod
from longshore.core.words.snapshot import TypicalPod
from support.builders import PodBuilder, make_node, make_pod


def pods(*parts: tuple[int, PodBuilder]) -> list[Pod]:
    return [builder.build() for count, builder in parts for _ in range(count)]


SHARE, WHOLE, PLAIN = make_pod("s").cpu(500).gpu(1, 300), make_pod("w").cpu(4000).gpu(2), make_pod("p").cpu(100)


def test_typical_pods_are_none_without_gpus() -> None:
    assert typical_pods(pods((10, PLAIN))) == ()
    assert typical_pods([]) == ()


def test_typical_pods_come_most_frequent_first_with_shares_that_sum_to_one() -> None:
    kinds = typical_pods(pods((1, WHOLE), (6, SHARE), (3, PLAIN)))
    assert [(kind.cpu_millis, kind.gpu) for kind in kinds] == [
        (500, GpuRequest(1, 300)),
        (100, None),
        (4000, GpuRequest(2, 1000)),
    ]
    assert [kind.share for kind in kinds] == pytest.approx([0.6, 0.3, 0.1])


def test_typical_pods_stop_when_they_cover_enough() -> None:
    kinds = typical_pods(pods((95, SHARE), (4, PLAIN), (1, WHOLE)))
    assert [(kind.gpu, kind.share) for kind in kinds] == [(GpuRequest(1, 300), 1.0)]


def test_typical_pods_go_on_just_below_the_bound() -> None:
    kinds = typical_pods(pods((94, SHARE), (5, PLAIN), (1, WHOLE)))
    assert [kind.share for kind in kinds] == pytest.approx([94 / 99, 5 / 99])


def test_typical_pods_differ_by_cpu_gpu_and_model_only() -> None:
    same = (SHARE.label("app", "x"), SHARE.memory("1Gi"), SHARE.on("node"))
    other = (SHARE.cpu(501), SHARE.gpu(1, 301), SHARE.gpu(1, 300, ("T4",)))
    kinds = typical_pods(pods(*((10, pod) for pod in (*same, *other))))
    assert sorted(round(kind.share * 60) for kind in kinds) == [10, 10, 10, 30]


def test_typical_pods_do_not_depend_on_the_order_of_pods() -> None:
    # Equal frequencies are decided by size, not by who came first.
    some = pods((2, WHOLE), (2, SHARE), (2, PLAIN))
    assert typical_pods(some) == typical_pods(some[::-1])
    assert [kind.cpu_millis for kind in typical_pods(some)] == [4000, 500, 100]


def test_of_kinds_that_are_equally_frequent_the_larger_comes_first() -> None:
    """By CPU, then by the part of a GPU, then by their number: FGD's own order."""
    some = pods((2, SHARE.cpu(500).gpu(4)), (2, SHARE.cpu(500).gpu(1, 900)), (2, SHARE.cpu(500).gpu(2)))
    assert [kind.gpu for kind in typical_pods(some)] == [GpuRequest(4, 1000), GpuRequest(2, 1000), GpuRequest(1, 900)]


@given(st.lists(st.sampled_from([SHARE, WHOLE, PLAIN, SHARE.cpu(1), WHOLE.gpu(4)]), max_size=60))
def test_typical_pods_cover_most_pods_and_share_out_all(builders: list[PodBuilder]) -> None:
    some = [builder.build() for builder in builders]
    kinds = typical_pods(some)
    assert bool(kinds) == any(pod.spec.gpu for pod in some)
    if kinds:
        assert sum(kind.share for kind in kinds) == pytest.approx(1)
        assert [kind.share for kind in kinds] == sorted((kind.share for kind in kinds), reverse=True)


# Ten GPUs, two of them rare.
NODES = [make_node("a").gpu(8, "G2").build(), make_node("b").gpu(2, "T4").build(), make_node("c").build()]


def pressure(*kinds: TypicalPod) -> list[float]:
    found = typical_tables(kinds, NODES, 4)["typical_pressure"]
    assert found[3] == 0, "a row without a node"
    assert found[2] == found.any(), "without GPUs as the mean"
    return found[:2].tolist()


def test_pressure_is_even_where_pods_may_use_any_gpu() -> None:
    assert pressure(TypicalPod(1, GpuRequest(1, 300), 0.9), TypicalPod(1, GpuRequest(4, 1000), 0.1)) == pytest.approx(
        [1, 1]
    )


def test_pressure_is_what_is_asked_of_a_gpu_by_those_that_may_use_it() -> None:
    any_model, bound = TypicalPod(1, GpuRequest(1, 500), 0.6), TypicalPod(1, GpuRequest(2, 1000, ("T4", "P4")), 0.1)
    # 300 milli over ten GPUs and 200 over two, where the mean GPU is asked for 50.
    assert pressure(any_model, bound, TypicalPod(1, None, 0.3)) == pytest.approx([30 / 50, 130 / 50])


def test_nobody_presses_for_models_that_are_not_here() -> None:
    absent = TypicalPod(1, GpuRequest(1, 1000, ("P4",)), 0.5)
    assert pressure(TypicalPod(1, GpuRequest(1, 500), 0.5), absent) == pytest.approx([1, 1])
    assert pressure(absent) == pressure(TypicalPod(1, None, 1.0)) == pressure() == [0, 0]


@given(st.lists(st.tuples(st.floats(0.01, 1), st.sampled_from([(), ("T4",), ("G2",), ("G2", "T4")])), min_size=1))
def test_pressure_is_1_over_all_gpus(kinds: list[tuple[float, tuple[str, ...]]]) -> None:
    found = pressure(*(TypicalPod(1, GpuRequest(1, 400, models), share) for share, models in kinds))
    assert (8 * found[0] + 2 * found[1]) / 10 == pytest.approx(1)
