"""Tests of TaintToleration: which taints keep a pod away, and which tolerations cover them."""

import pytest

from filters.judging import judge, refused
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

CLEAN = make_node("clean")


def test_an_untolerated_taint_keeps_pods_away() -> None:
    want = Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), is_resolvable=False)
    assert judge("TaintToleration", CLEAN, make_node("ml").taint("dedicated", "ml"), make_pod("new")) == {"ml": want}


@pytest.mark.parametrize(
    ("effect", "want"), [("NoSchedule", {"tainted"}), ("NoExecute", {"tainted"}), ("PreferNoSchedule", set())]
)
def test_soft_taints_keep_nobody_away(effect: str, want: set[str]) -> None:
    assert refused("TaintToleration", CLEAN, make_node("tainted").taint("k", "v", effect), make_pod("new")) == want


@pytest.mark.parametrize(
    ("toleration", "is_covered"),
    [
        pytest.param(("dedicated", "Equal", "ml", "NoSchedule"), True, id="the same in every field"),
        pytest.param(("dedicated", "Equal", "ml"), True, id="any effect"),
        pytest.param(("dedicated", "", "ml"), True, id="no operator means equal"),
        pytest.param(("dedicated", "Exists"), True, id="any value"),
        pytest.param(("", "Exists"), True, id="any key"),
        pytest.param(("dedicated", "Equal", "web"), False, id="another value"),
        pytest.param(("dedicated", "Equal"), False, id="the empty value"),
        pytest.param(("other", "Exists"), False, id="another key"),
        pytest.param(("dedicated", "Exists", "", "NoExecute"), False, id="another effect"),
        pytest.param(("dedicated", "Gt", "1"), False, id="a comparison, which 1.36 does not know yet"),
    ],
)
def test_tolerations_cover_taints_as_upstream_says(toleration: tuple[str, ...], is_covered: bool) -> None:
    found = refused(
        "TaintToleration", make_node("ml").taint("dedicated", "ml"), make_pod("new").toleration(*toleration)
    )
    assert found == (set() if is_covered else {"ml"})


def test_every_hard_taint_must_be_tolerated() -> None:
    node = make_node("a").taint("one").taint("two").taint("soft", effect="PreferNoSchedule")
    pod = make_pod("new").toleration("one")
    assert refused("TaintToleration", node, pod) == {"a"}
    assert refused("TaintToleration", node, pod.toleration("two")) == set()
