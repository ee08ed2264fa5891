"""Tests of NodeResourcesFit's score: the free share after the placement, by hand."""

import pytest

from policies.plugins.scoring import score
from support.builders import PodBuilder, make_node, make_pod

NAME = "NodeResourcesFit"
NODE = make_node("a").cpu("4").memory("8Gi")


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(make_pod("new").cpu("1").memory("2Gi"), 75, id="a quarter of both"),
        pytest.param(make_pod("new").cpu("2").memory("2Gi"), 62, id="the mean of 50 and 75, rounded down"),
        pytest.param(make_pod("new").cpu("4").memory("8Gi"), 0, id="all of both"),
        # 3900 of 4000 milli are 97 %; so are 8192 - 200 of 8192 MiB.
        pytest.param(make_pod("new"), 97, id="no request counts as 100m and 200Mi"),
        pytest.param(make_pod("new").cpu("5").memory("2Gi"), 37, id="more than there is counts as nothing left"),
    ],
)
def test_the_score_is_the_mean_of_the_free_shares(pod: PodBuilder, want: int) -> None:
    assert score(NAME, NODE, pod) == ({"a": want}, {"a": want})


def test_existing_pods_count_with_the_defaults_too() -> None:
    # 4000 - 2100 milli are 47 %, 8192 - 2248 MiB are 72 %.
    new = make_pod("new").cpu("2").memory("2Gi")
    assert score(NAME, NODE, make_pod("old").on("a"), new).raw == {"a": 59}
    # With a request of its own the default of that resource does not count: 4000 - 3000 milli are 25 %.
    assert score(NAME, NODE, make_pod("old").cpu("1").on("a"), new).raw == {"a": 48}


def test_a_resource_that_the_node_does_not_have_is_left_out() -> None:
    assert score(NAME, NODE.memory(0), make_pod("new").cpu("1")).raw == {"a": 75}


def test_emptier_nodes_score_higher() -> None:
    new = make_pod("new").cpu("1").memory("2Gi")
    scores = score(
        NAME, NODE, make_node("b").cpu("4").memory("8Gi"), make_pod("old").cpu("1").memory("2Gi").on("a"), new
    )
    assert scores.normalized == {"a": 50, "b": 75}
