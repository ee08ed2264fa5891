"""Stock kube-scheduler and ours on one real API server; and what counts as a difference between them."""

import pytest

from longshore_lab.cluster import LocalCluster
from longshore_lab.oracle.compare import OwnAnswer
from longshore_lab.proof.live_oracle import Placed, difference, prove_live, violation

NUM_CASES, NUM_PLUGIN_CASES = 25, 15
FITS = OwnAnswer({}, ("a", "b", "c"), {}, {}, {"a": 5, "b": 5, "c": 1})
ONE_FITS = OwnAnswer({}, ("a",), {}, {}, {"a": 5})
NONE_FITS = OwnAnswer({}, (), {}, {}, {})
SCORES = {"a": 5, "b": 5, "c": 1}
PENDING = "0/3 nodes are available: 3 Insufficient cpu."


@pytest.mark.parametrize(
    ("own", "stock", "ours"),
    [
        pytest.param(FITS, Placed("a", scores=SCORES), Placed("b"), id="two of the best"),
        pytest.param(ONE_FITS, Placed("a"), Placed("a"), id="the only one, which is not scored"),
        pytest.param(NONE_FITS, Placed(None, PENDING), Placed(None, PENDING), id="none"),
        pytest.param(
            NONE_FITS,
            Placed(None, f"{PENDING} no new claims to deallocate, preemption: x"),
            Placed(None, f"{PENDING} preemption: x"),
            id="none, with words about claims",
        ),
        pytest.param(
            NONE_FITS,
            Placed(None, f"{PENDING} not found"),
            Placed(None, f"{PENDING} preemption: x"),
            id="none, and the plugin for claims has failed",
        ),
    ],
)
def test_agreement(own: OwnAnswer, stock: Placed, ours: Placed) -> None:
    assert difference(own, stock, ours) is None


@pytest.mark.parametrize(
    ("own", "stock", "ours", "words"),
    [
        (FITS, Placed("c", scores=SCORES), Placed("a"), "stock chose c"),
        (FITS, Placed("a", scores=SCORES), Placed("c"), "we chose c"),
        (ONE_FITS, Placed("a"), Placed("b"), "we chose b"),
        (FITS, Placed("a", scores={"a": 5, "b": 5}), Placed("a"), "feasible nodes"),
        (FITS, Placed("a"), Placed("a"), "feasible nodes"),
        (FITS, Placed("a", scores={"a": 6, "b": 5, "c": 1}), Placed("a"), "scores"),
        (FITS, Placed(None, PENDING), Placed("a"), "stock"),
        (FITS, Placed("a", scores=SCORES), Placed(None, PENDING), "stock"),
        (NONE_FITS, Placed(None, PENDING), Placed(None, "other words"), "stock"),
        (FITS, Placed(None, PENDING), Placed(None, PENDING), "both wait"),
    ],
)
def test_differences_are_found(own: OwnAnswer, stock: Placed, ours: Placed, words: str) -> None:
    assert words in str(difference(own, stock, ours))


@pytest.mark.parametrize(
    ("own", "stock", "plugin"),
    [
        pytest.param(FITS, Placed("a", scores=SCORES), Placed("c"), id="not the best of stock's, but feasible"),
        pytest.param(ONE_FITS, Placed("a"), Placed("a"), id="the only one"),
        pytest.param(NONE_FITS, Placed(None, PENDING), Placed(None, PENDING), id="none"),
    ],
)
def test_the_plugin_may_choose_any_feasible_node(own: OwnAnswer, stock: Placed, plugin: Placed) -> None:
    assert violation(own, stock, plugin) is None


@pytest.mark.parametrize(
    ("own", "stock", "plugin", "words"),
    [
        (FITS, Placed("a", scores=SCORES), Placed("d"), "the plugin chose d"),
        (ONE_FITS, Placed("a"), Placed("b"), "the plugin chose b"),
        (ONE_FITS, Placed("a", scores=SCORES), Placed("a"), "feasible nodes"),
        (FITS, Placed("a", scores=SCORES), Placed(None, PENDING), "stock"),
        (NONE_FITS, Placed(None, PENDING), Placed("a"), "stock"),
        (NONE_FITS, Placed(None, PENDING), Placed(None, "no new claims to deallocate, x"), "stock"),
        (FITS, Placed(None, PENDING), Placed(None, PENDING), "both wait"),
    ],
)
def test_violations_of_the_plugin_are_found(own: OwnAnswer, stock: Placed, plugin: Placed, words: str) -> None:
    assert words in str(violation(own, stock, plugin))


async def test_stock_kube_scheduler_and_ours_agree_on_live_objects(plugin_cluster: LocalCluster) -> None:
    told = []
    result = await prove_live(plugin_cluster, NUM_CASES, 5, lambda done, differing: told.append((done, differing)))
    assert [f"{each.what}\n{each.case}" for each in result.differences] == []
    assert result.cases == NUM_CASES == result.num_feasible + result.num_pending
    assert min(result.num_feasible, result.num_pending, result.num_ties) > 0
    assert told[-1] == (NUM_CASES, 0)


@pytest.mark.slow
async def test_the_plugin_chooses_among_stocks_feasible_nodes(plugin_cluster: LocalCluster) -> None:
    result = await prove_live(plugin_cluster, NUM_PLUGIN_CASES, 6, lambda *_: None, is_through_plugin=True)
    assert [f"{each.what}\n{each.case}" for each in result.differences] == []
    assert result.cases == NUM_PLUGIN_CASES == result.num_feasible + result.num_pending
    assert min(result.num_feasible, result.num_pending) > 0
    assert result.num_fallbacks == 0
