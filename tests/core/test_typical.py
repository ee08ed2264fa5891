"""Typical pods: the frequent kinds, until they cover 95 % of the pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import PodBuilder, make_pod
from longshore.core.pod import GpuRequest, Pod
from longshore.core.typical import typical_pods


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
