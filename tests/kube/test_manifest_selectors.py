"""Tests of writing selectors and affinity."""

from typing import Any

import msgspec
import pytest

from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import PodSpec, SpreadConstraint
from longshore.kube import convert, manifest, manifest_selectors, wire

EQUAL = Requirement("app", "In", ("web",))


@pytest.mark.parametrize(
    ("requirements", "want"),
    [
        pytest.param((), {}, id="everything"),
        pytest.param((EQUAL,), {"matchLabels": {"app": "web"}}, id="equality is a label"),
        pytest.param(
            (EQUAL, Requirement("app", "In", ("web", "x"))),
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}],
            },
            id="several values are an expression",
        ),
        pytest.param(
            (EQUAL, EQUAL),
            {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
            id="a key twice",
        ),
        pytest.param(
            (Requirement("app", "Exists"),),
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            id="no values",
        ),
    ],
)
def test_selectors(requirements: tuple[Requirement, ...], want: dict[str, Any]) -> None:
    assert manifest_selectors.selector(Selector(requirements)) == want


def test_no_affinity_is_left_out() -> None:
    assert manifest_selectors.affinity(PodSpec()) == {}
    assert "affinity" not in manifest.pod(convert.pod(wire.Pod(wire.ObjectMeta("p"))))["spec"]


AFFINITIES: list[dict[str, Any]] = [
    {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
    {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}},
    {"preferredDuringSchedulingIgnoredDuringExecution": []},
]


@pytest.mark.parametrize("node_affinity", AFFINITIES, ids=["no terms", "an empty term", "no wishes"])
def test_empty_node_affinity_is_not_none(node_affinity: dict[str, Any]) -> None:
    word = _pod({"affinity": {"nodeAffinity": node_affinity}}, {})
    assert manifest.pod(word)["spec"]["affinity"] == {"nodeAffinity": node_affinity}


@pytest.mark.parametrize("keys", [["zone"], ["app", "zone"], ["absent", "zone"]])
@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"app": "web"}}, {"matchLabels": {"b": "c", "zzz": "c"}}])
def test_match_label_keys_are_found_again(keys: list[str], selector: dict[str, Any]) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "t", "labelSelector": selector, "matchLabelKeys": keys}
    labels = {"app": "web", "zone": "x"}
    word = _pod({"topologySpreadConstraints": [constraint]}, labels)
    assert _read(manifest.pod(word)) == word


def test_spread_leaves_defaults_out() -> None:
    plain = SpreadConstraint(1, "t", True, None)
    assert manifest_selectors.spread(plain, ()) == {
        "maxSkew": 1,
        "topologyKey": "t",
        "whenUnsatisfiable": "DoNotSchedule",
    }


def test_spread_writes_what_differs() -> None:
    other = SpreadConstraint(2, "t", False, Selector(), min_domains=3, honors_affinity=False, honors_taints=True)
    assert manifest_selectors.spread(other, ()) == {
        "maxSkew": 2,
        "topologyKey": "t",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }


def _pod(spec: dict[str, Any], labels: dict[str, str]) -> Any:
    return _read({"metadata": {"name": "p", "labels": labels}, "spec": spec})


def _read(item: dict[str, Any]) -> Any:
    return convert.pod(msgspec.json.decode(msgspec.json.encode(item), type=wire.Pod))
