"""A policy's own check: what could not run, or says something impossible, is refused; preferences keep proportions."""

from typing import Any

import numpy as np
import pytest

from longshore.core.network.bundle import Envelope, Interval, Weight, check_bundle, weight_values
from longshore.core.network.forward import Op
from longshore.core.words.errors import InputError
from support.bundle_samples import FEATURES, deepsets_ops, make_bundle, make_dial, make_fixed, make_hybrid, make_own

ONE = {"one": np.ones(1, np.float32)}
BY_PRIOR = (Op("scale", ("prior",), "score", ("one",)),)


@pytest.mark.parametrize("policy", [make_bundle(), make_dial(), make_hybrid("random"), make_fixed(7), make_own()])
def test_sound_policies_pass(policy: Any):
    check_bundle(policy)


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"name": ""}, "expected one printable line", id="no name"),
        pytest.param({"prior": "mine.py:POLICY"}, "expected names that are installed", id="a prior in a file"),
        pytest.param({"filters": "upstream,mine.py:F"}, "expected names that are installed", id="a filter in a file"),
        pytest.param({"features": ("latency",)}, "got the feature `latency`", id="feature without a version"),
        pytest.param({"features": ()}, "at least one", id="no features"),
        pytest.param({"envelope": Envelope((0.0,), (1.0,))}, "expected 4 of each", id="short envelope"),
        pytest.param(
            {"envelope": Envelope((1.0,) * 4, (0.0,) * 4)}, "in this order", id="envelope of which low is above high"
        ),
        pytest.param({"envelope": Envelope((np.nan,) * 4, (0.0,) * 4)}, "finite", id="envelope with nan"),
        pytest.param({"metrics": {"reward": np.nan}}, "metric `reward`", id="metric that is no number"),
        pytest.param({"metrics": {"reward": Interval(1, np.inf, 2)}}, "metric `reward`", id="infinite interval"),
        pytest.param({"preference": (Weight("watts", -1.0),)}, "weight of 0 or more", id="negative weight"),
        pytest.param({"preference": (Weight("a", 1.0), Weight("a", 1.0))}, "each once", id="a term twice"),
        pytest.param({"tie_tolerance": -1.0}, "tie tolerance -1.0, expected a finite", id="negative tolerance"),
        pytest.param({"tie_tolerance": np.inf}, "tie tolerance inf, expected a finite", id="infinite tolerance"),
        pytest.param({"ops": BY_PRIOR, "tensors": ONE}, "expected \\(0,\\)", id="reads a prior that it has not"),
        pytest.param(
            {"ops": BY_PRIOR, "tensors": {"one": np.ones(1)}, "prior": "random"}, "type float64", id="double precision"
        ),
        pytest.param({"ops": deepsets_ops(("rows", "preference")), "preference": (Weight("watts", 1.0),)},
                     "expected \\(5, n\\)", id="weights that lack the preference"),
        pytest.param({"ops": ()}, "do not belong", id="no operations"),
        pytest.param({"ops": (), "tensors": {}}, "no operation writes `score`", id="no score"),
        pytest.param({"num_nodes": 4}, "expected null", id="size of a network that has none"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], want: str):
    with pytest.raises(InputError, match=want):
        check_bundle(make_bundle(**changes))


@pytest.mark.parametrize(
    ("num_nodes", "want"),
    [(None, "expected a number"), (0, "expected 1 to"), (10**9, "expected 1 to"), (5, "expected \\(20, n\\)")],
)
def test_a_network_of_fixed_size_says_its_size(num_nodes: int | None, want: str):
    with pytest.raises(InputError, match=want):
        check_bundle(make_fixed(4, num_nodes=num_nodes))


def test_scores_of_a_network_of_fixed_size_are_one_per_node():
    tensors = {"w": np.zeros((4 * len(FEATURES), 3), np.float32), "b": np.zeros(3, np.float32)}
    with pytest.raises(InputError, match=r"scores of shape \(3,\), expected \(4,\)"):
        check_bundle(make_fixed(4, tensors=tensors))


def test_a_network_cannot_ask_for_more_memory_than_there_is():
    doubling = tuple(Op("concat", (f"v{n}",) * 2, f"v{n + 1}") for n in range(60))
    for ops, num_nodes in [((Op("relu", ("rows",), "v0"),), None), ((Op("flatten", ("rows",), "v0"),), 4)]:
        with pytest.raises(InputError, match="wide, expected at most"):
            check_bundle(make_bundle(ops=(*ops, *doubling), tensors={}, num_nodes=num_nodes))


def test_weights_are_the_defaults_unless_given():
    policy = make_dial(preference=(Weight("latency", 0.25), Weight("watts", 0.75)))
    assert weight_values(policy).tolist() == [0.25, 0.75]


def test_given_weights_keep_their_proportions_and_the_sum_of_the_defaults():
    policy = make_dial(preference=(Weight("latency", 1.0), Weight("watts", 1.0)))
    assert weight_values(policy, {"watts": 8, "latency": 24}).tolist() == [1.5, 0.5]


def test_terms_that_are_not_given_weigh_nothing():
    assert weight_values(make_dial(), {"watts": 3.0}).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"watt": 1.0}, "got the preference `watt`, expected one of: latency, watts"),
        ({"watts": -1.0}, "weight of 0 or more"),
        ({"watts": np.nan}, "weight of 0 or more"),
        ({"watts": 0.0}, "weighs nothing"),
    ],
)
def test_weights_that_are_none_are_refused(given: dict[str, float], want: str):
    with pytest.raises(InputError, match=want):
        weight_values(make_dial(), given)


def test_a_policy_without_a_dial_takes_no_weights():
    with pytest.raises(InputError, match="`sample` has no preference"):
        weight_values(make_bundle(), {"watts": 1.0})
