"""Single steps: queueing, retries, departures, node events, lag; and that the program compiles once."""

import jax
import jax.numpy as jnp
import pytest

from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodeSelectorTerm
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.filters import filter_set
from longshore.policies import REGISTRY
from longshore.simulator.params import Kind, compile_trace
from longshore.simulator.state import StepTaken
from longshore.simulator.transition import Program, initial, step
from support.builders import make_node, make_pod

PROGRAM = Program((REGISTRY.load("first-fit"),), filter_set("upstream+latency"))
TRACES = [0]


@jax.jit
def play(params, state):
    TRACES[0] += 1
    return jax.lax.scan(lambda s, _: step(PROGRAM, params, s)[:2], state, None, length=12)


def run(
    *events: Event, lag_seconds: float = 0.0, absent: frozenset[str] = frozenset()
) -> list[tuple[str, float, int, int]]:
    """Play on two nodes that hold one pod each; return (kind, time, pod, node) of every step that is not idle."""
    nodes = tuple(make_node(name).cpu("1").readings(latency_ms=10.0).build() for name in ("a", "b"))
    trace = Trace(nodes, events, absent)
    compiled = compile_trace(trace, lag_seconds=lag_seconds, padded_pods=4, padded_events=8)
    rows = compiled.params.latency_ms
    # One number of latency rows for all traces of this file, so that they share one program.
    compiled_rows = jnp.concatenate([rows, jnp.tile(rows[-1:], (4 - len(rows), 1))])
    params = jax.tree.map(jnp.asarray, compiled.params._replace(latency_ms=compiled_rows))
    _, outcome = play(params, initial(params))
    return [_row(outcome, i) for i in range(12) if outcome.kind[i] != Kind.IDLE]


def _row(outcome: StepTaken, i: int) -> tuple[str, float, int, int]:
    return Kind(int(outcome.kind[i])).name, float(outcome.time[i]), int(outcome.pod[i]), int(outcome.node[i])


def pod(name: str):
    return make_pod(name).cpu("1").latency(20.0, 30.0).build()


P, Q, R = pod("p"), pod("q"), pod("r")


def test_a_pod_that_fits_nowhere_waits_and_is_tried_after_a_departure():
    steps = run(Create(1.0, P, 5.0), Create(2.0, Q), Create(3.0, R))
    assert steps == [
        ("CREATE", 1.0, 0, 0),
        ("CREATE", 2.0, 1, 1),
        ("CREATE", 3.0, 2, -1),
        ("DEPART", 6.0, 0, -1),
        ("RETRY", 6.0, 2, 0),
    ]


def test_a_departure_comes_before_an_arrival_of_the_same_moment():
    steps = run(Create(1.0, P, 1.0), Create(1.0, Q), Create(2.0, R))
    assert [step[0] for step in steps] == ["CREATE", "CREATE", "DEPART", "CREATE"]
    assert steps[-1][3] == 0


def test_deleting_a_waiting_pod_takes_it_out_of_the_queue():
    steps = run(Create(1.0, P), Create(1.0, Q), Create(1.0, R), Delete(2.0, R.key), Delete(3.0, P.key))
    assert [step[0] for step in steps] == ["CREATE", "CREATE", "CREATE", "DELETE", "DELETE"]


def test_deleting_a_running_pod_makes_room():
    steps = run(Create(1.0, P), Create(1.0, Q), Create(1.0, R), Delete(2.0, Q.key))
    assert steps[-1] == ("RETRY", 2.0, 2, 1)


@pytest.mark.parametrize("event", [NodeFail, NodeDrain])
def test_pods_of_a_node_that_goes_queue_behind_those_that_wait(event: type[NodeFail | NodeDrain]):
    steps = run(Create(1.0, P), Create(1.0, Q), Create(1.0, R), event(2.0, "a"), NodeJoin(3.0, "a"))
    assert [step[:1] + step[2:] for step in steps[4:]] == [
        ("RETRY", 2, -1),
        ("RETRY", 0, -1),
        ("JOIN", 0, -1),
        ("RETRY", 2, 0),
        ("RETRY", 0, -1),
    ]


def test_an_absent_node_takes_no_pods_until_it_joins():
    steps = run(Create(1.0, P), Create(1.0, Q), NodeJoin(2.0, "b"), absent=frozenset({"b"}))
    assert steps == [("CREATE", 1.0, 0, 0), ("CREATE", 1.0, 1, -1), ("JOIN", 2.0, 0, -1), ("RETRY", 2.0, 1, 1)]


def test_without_lag_the_first_pod_after_a_latency_change_goes_right():
    steps = run(LatencyChange(1.0, (("a", 40.0),)), Create(1.0, P))
    assert steps[-1] == ("CREATE", 1.0, 0, 1)


@pytest.mark.parametrize(("time", "want_node"), [(12.0, 0), (15.5, 1)], ids=["before the next scrape", "after it"])
def test_with_lag_a_change_is_seen_at_the_next_scrape(time: float, want_node: int):
    steps = run(LatencyChange(11.0, (("a", 40.0),)), Create(time, P), lag_seconds=5.0)
    assert ("CREATE", time, 0, want_node) in steps


def test_a_scrape_that_shows_a_better_latency_lets_waiting_pods_try_again():
    slow = (("a", 40.0), ("b", 40.0))
    steps = run(LatencyChange(1.0, slow), Create(6.0, P), LatencyChange(7.0, (("b", 5.0),)), lag_seconds=5.0)
    assert steps[1:] == [
        ("SCRAPE", 5.0, 0, -1),
        ("CREATE", 6.0, 0, -1),
        ("LATENCY", 7.0, 0, -1),
        ("RETRY", 7.0, 0, -1),
        ("SCRAPE", 10.0, 0, -1),
        ("RETRY", 10.0, 0, 1),
    ]


def test_the_program_compiles_once_for_all_clusters_of_a_size():
    run(Create(1.0, P))
    before = TRACES[0]
    run(Create(2.0, Q, 3.0), NodeFail(4.0, "a"))
    assert TRACES[0] == before


def of_node(name: str, node: str):
    """Make a DaemonSet's pod of a node, which fills it."""
    affinity = (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),)),)
    return make_pod(name).cpu("1").owner("DaemonSet", "agent").spec(node_affinity=affinity).build()


AGENT = of_node("p", "a")


def test_a_daemonsets_pod_runs_on_while_its_node_is_drained():
    steps = run(Create(1.0, AGENT), NodeDrain(2.0, "a"), NodeJoin(3.0, "a"), Create(4.0, Q))
    assert [step[:1] + step[2:] for step in steps] == [
        ("CREATE", 0, 0),
        ("DRAIN", 0, -1),
        ("JOIN", 0, -1),
        ("CREATE", 1, 1),
    ]


def test_a_joining_node_brings_its_daemonsets_pods_before_anybody_else_has_room():
    steps = run(Create(1.0, AGENT), Create(1.0, Q), NodeFail(2.0, "a"), Create(2.5, R), NodeJoin(3.0, "a"))
    assert [step[:1] + step[2:] for step in steps[2:]] == [
        ("FAIL", 0, -1),
        ("CREATE", 2, -1),
        ("JOIN", 0, -1),
        ("RETRY", 2, -1),
    ]


def test_a_daemonsets_pod_that_is_deleted_while_its_node_is_away_does_not_come_back():
    steps = run(Create(1.0, AGENT), NodeFail(2.0, "a"), Delete(2.5, AGENT.key), NodeJoin(3.0, "a"), Create(4.0, Q))
    assert steps[-1] == ("CREATE", 4.0, 1, 0)
