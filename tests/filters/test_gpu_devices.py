"""Tests of GpuDevices: whole devices, shares of one, models, and what removing pods could mend."""

import pytest

from filters.judging import judge, refused
from longshore.filters.base import Rejection
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod

NAME = "GpuDevices"
SHORT = ("Insufficient GPU devices",)
WRONG_MODEL = ("node(s) didn't have the requested GPU model",)
NODES = (make_node("two").gpu(2, "T4"), make_node("eight").gpu(8, "A100"), make_node("none"))


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod("new"), set(), id="a pod without GPUs goes anywhere"),
        pytest.param(make_pod("new").gpu(1), {"none"}, id="one whole device"),
        pytest.param(make_pod("new").gpu(2), {"none"}, id="as many as there are"),
        pytest.param(make_pod("new").gpu(3), {"none", "two"}, id="more than there are"),
        pytest.param(make_pod("new").gpu(1, 300), {"none"}, id="a share"),
        pytest.param(make_pod("new").gpu(1, models=("T4",)), {"none", "eight"}, id="one model"),
        pytest.param(make_pod("new").gpu(1, models=("A100", "T4")), {"none"}, id="one of two models"),
        pytest.param(make_pod("new").gpu(1, models=("H200",)), {"none", "two", "eight"}, id="a model that is nowhere"),
    ],
)
def test_devices_must_be_enough_and_of_an_accepted_model(pod: PodBuilder, want: set[str]) -> None:
    assert refused(NAME, *NODES, pod) == want


@pytest.mark.parametrize(
    ("held", "wanted", "fits"),
    [
        pytest.param([(1, 600)], (1, 400), True, id="a share into what is left"),
        pytest.param([(1, 600)], (1, 401), False, id="a share that is a milli too large"),
        pytest.param([(1, 600)], (1, 1000), False, id="a whole device that is in use"),
        pytest.param([(1, 1000)], (1, 1), False, id="a share of a device that is taken"),
    ],
)
def test_one_device_holds_a_thousand_milli(held: list[tuple[int, int]], wanted: tuple[int, int], fits: bool) -> None:
    old = [make_pod(f"old-{i}").gpu(*gpu).on("a", (0,)) for i, gpu in enumerate(held)]
    assert refused(NAME, make_node("a").gpu(1), *old, make_pod("new").gpu(*wanted)) == (set() if fits else {"a"})


def half_used() -> tuple[NodeBuilder | PodBuilder, ...]:
    """Two devices, each with 500 milli left."""
    old = [make_pod(f"old-{device}").gpu(1, 500).on("a", (device,)) for device in (0, 1)]
    return (make_node("a").gpu(2), *old)


def test_shares_of_two_devices_do_not_add_up() -> None:
    assert refused(NAME, *half_used(), make_pod("new").gpu(1, 600)) == {"a"}
    assert refused(NAME, *half_used(), make_pod("new").gpu(1, 500)) == set()


def test_a_bound_pod_without_known_devices_takes_the_fullest_that_fits() -> None:
    old = make_pod("old").gpu(1, 300).on("a", (1,))
    guessed = make_pod("guessed").gpu(1, 300).on("a")
    assert refused(NAME, make_node("a").gpu(2), old, guessed, make_pod("new").gpu(1)) == set()


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod("new").gpu(1), Rejection(NAME, SHORT, is_resolvable=True), id="taken for now"),
        pytest.param(make_pod("new").gpu(3), Rejection(NAME, SHORT, is_resolvable=False), id="never that many"),
        pytest.param(
            make_pod("new").gpu(1, models=("H200",)),
            Rejection(NAME, WRONG_MODEL, is_resolvable=False),
            id="wrong model",
        ),
    ],
)
def test_the_reason_tells_models_from_devices(pod: PodBuilder, want: Rejection) -> None:
    assert judge(NAME, *half_used(), pod) == {"a": want}


def test_a_cluster_without_gpus_takes_no_pod_that_wants_one() -> None:
    want = {"a": Rejection(NAME, SHORT, is_resolvable=False)}
    assert judge(NAME, make_node("a"), make_pod("new").gpu(1)) == want
    assert refused(NAME, make_node("a"), make_pod("new")) == set()
