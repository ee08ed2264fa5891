"""A plain function as a policy: what it is asked, what its answers mean, and how it is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from longshore.core.arrays.encode import Encoded, encode
from longshore.core.arrays.features import default_names, features
from longshore.core.words.errors import InputError
from longshore.policies.base import choose_node
from longshore.policies.function import policy_of
from support.builders import make_node, make_pod, make_snapshot

ALL = np.array([True, True, True])


@pytest.fixture(scope="module")
def cluster() -> Encoded:
    return encode(make_snapshot(*(make_node(name) for name in "abc"), make_pod("p").cpu("1")))


def chosen(cluster: Encoded, function: Callable[..., Any], feasible: Any = ALL) -> int:
    return int(choose_node(policy_of(function), cluster.arrays, np.asarray(0), np.asarray(feasible)).node)


def test_a_function_gets_the_environments_observation_and_mask(cluster: Encoded) -> None:
    seen: list[Any] = []
    chosen(cluster, lambda *given: seen.extend(given) or 0, [True, False, True])
    rows, mask = seen
    want = features(cluster.arrays, np.asarray(0), np.array([True, False, True]), default_names(has_gpus=False))
    np.testing.assert_array_equal(rows, want)
    assert mask.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(2, 2, id="an action"),
        pytest.param(np.array(1), 1, id="an action as an array"),
        pytest.param(3, -1, id="to wait"),
        pytest.param([-5.0, -2.0, -9.0], 1, id="scores of nodes, all below 0"),
        pytest.param([-np.inf, -2.0, np.nan], 1, id="scores that are no numbers"),
        pytest.param([-5.0, -2.0, -9.0, -7.0], 1, id="scores of actions"),
        pytest.param([-5.0, -2.0, -9.0, 0.0], -1, id="scores of actions, to wait the best"),
        pytest.param([1.0, 2.0, 1.0, -np.inf], 1, id="scores of actions, never to wait"),
    ],
)
def test_an_answer_is_an_action_or_scores(cluster: Encoded, answer: object, want: int) -> None:
    assert chosen(cluster, lambda _observation, _mask: answer) == want


def test_an_action_that_is_not_allowed_waits(cluster: Encoded) -> None:
    assert chosen(cluster, lambda _observation, _mask: 1, [True, False, True]) == -1


def test_a_score_of_an_infeasible_node_is_not_read(cluster: Encoded) -> None:
    assert chosen(cluster, lambda _observation, _mask: [1.0, 9.0, 2.0], [True, False, True]) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [([1.0, 2.0], "returned `[1. 2.]`"), ("left", "raised ValueError"), (None, "returned `nan`"), (4, "up to 3, or 3")],
)
def test_another_answer_is_refused(cluster: Encoded, answer: object, message: str) -> None:
    def choose(observation: Any, mask: Any) -> object:
        return answer

    with pytest.raises(InputError) as caught:
        chosen(cluster, choose)
    assert "the policy's function `choose`" in str(caught.value)
    assert message in str(caught.value)
