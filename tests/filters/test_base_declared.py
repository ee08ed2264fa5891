"""A filter of another package, which declares all there is to declare: nothing else has to know of it."""

from dataclasses import replace
from importlib import metadata

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.live import LiveCluster
from longshore.core.arrays.ops import Array
from longshore.core.arrays.static import Demand
from longshore.core.words.errors import LongshoreError
from longshore.core.words.happening import Happening
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.core.words.trace import Create, Trace
from longshore.deciding.assume import ClusterView
from longshore.deciding.cycle import Cycle
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.deciding.helping import could_help
from longshore.deciding.trial_room import is_node_local
from longshore.filters.base import Filter, by_node, fixed
from longshore.scheduling.queue import SchedulingQueue
from longshore.simulator.params import compile_trace
from longshore.simulator.transition import Program, initial, step
from support.builders import make_node, make_pod

REASON = "node(s) were in another rack"


def ask(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for the rack that the pod's label names."""
    rack = dict(spec.labels).get("rack")
    return Demand(rack, lambda _node, labels: labels.get("rack") == rack) if rack else None


RACK = by_node("Rack", ask, REASON, Happening.NODE_LABELS)
MISNAMED = by_node("NodeName", ask, REASON)
SILENT = Filter(lambda arrays, _pod_class: arrays.nodes.is_real, fixed("Silent", REASON))

NODES = [make_node(name).label("rack", rack).build() for name, rack in (("a", "1"), ("b", "2"))]
POD = replace(make_pod("p").label("rack", "2").cpu("1").build(), uid="p")
LOST = replace(make_pod("lost").label("rack", "3").cpu("1").build(), uid="lost")


def install(monkeypatch: pytest.MonkeyPatch, **targets: str) -> None:
    """Put entry points for filters into the place of those that are installed."""
    found = [metadata.EntryPoint(name, target, "longshore.filters") for name, target in targets.items()]
    entries = metadata.EntryPoints(found)
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries.select(group=group))
    monkeypatch.setattr(filters, "REGISTRY", replace(filters.REGISTRY))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Install the filter; return the set that it joins."""
    install(monkeypatch, Rack=f"{__name__}:RACK")
    return filters.filter_set("upstream+latency")


def live_cycle() -> Cycle:
    view = ClusterView(LiveCluster(filters.static_parts()))
    for node in NODES:
        view.put_node(node)
    return Cycle(Decider(find_policy("kube-default", "upstream+latency")), view)


def test_a_declared_filter_holds_in_the_simulator(names: tuple[str, ...]) -> None:
    compiled = compile_trace(Trace(tuple(NODES), (Create(1.0, POD), Create(2.0, LOST))))
    program = Program((find_policy("first-fit"),), names)
    params = jax.tree.map(jnp.asarray, compiled.params)
    _, taken = jax.jit(
        lambda: jax.lax.scan(lambda s, _: step(program, params, s)[:2], initial(params), None, length=2)
    )()
    assert taken.node.tolist() == [1, -1]


def test_a_declared_filter_holds_in_a_live_cluster_and_says_why(names: tuple[str, ...]) -> None:
    assert "Rack" in names
    cycle = live_cycle()
    assert cycle.attempt(POD)[0].node == "b"
    decision = cycle.attempt(LOST)[0]
    assert (decision.reasons, decision.rejectors) == ({REASON: 2}, {"Rack"})
    assert decision.num_resolvable == 0


def test_a_declared_filter_judges_a_node_anew_when_it_changes(names: tuple[str, ...]) -> None:
    cycle = live_cycle()
    assert cycle.attempt(LOST)[0].node is None
    cycle.view.put_node(make_node("a").label("rack", "3").build())
    assert cycle.attempt(LOST)[0].node == "a"


def test_a_declared_filter_wakes_its_pods_by_what_helps_it(names: tuple[str, ...]) -> None:
    cycle, now = live_cycle(), [0.0]
    queue = SchedulingQueue(lambda: now[0])
    queue.put(LOST)
    item = queue.pop()
    assert item is not None
    queue.fail(item, cycle.attempt(LOST)[0].rejectors)
    now[0] = 60.0
    assert queue.wake(Happening.POD_DELETED | Happening.NODE_TAINTS | Happening.STORAGE) == 0
    assert queue.wake(cycle.view.put_node(make_node("a").label("rack", "3").build())) == 1


def calls_in_decisions(monkeypatch: pytest.MonkeyPatch, name: str, unit: Filter) -> list[int]:
    """Install a filter that counts how often it is asked; return the count after each of three decisions."""
    asked = 0

    def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
        nonlocal asked
        asked += 1
        return unit.feasible(arrays, pod_class)

    monkeypatch.setitem(globals(), "COUNTED", replace(unit, feasible=feasible))
    install(monkeypatch, **{name: f"{__name__}:COUNTED"})
    cycle, counts = live_cycle(), []
    for number in range(3):
        assert cycle.attempt(replace(POD, name=f"p{number}", uid=str(number)))[0].node == "b"
        counts.append(asked)
    return counts


def test_a_filter_that_looks_at_one_node_is_not_asked_again_while_nodes_are_the_same(monkeypatch: pytest.MonkeyPatch):
    first, *others = calls_in_decisions(monkeypatch, "Aisle", by_node("Aisle", ask, REASON))
    assert first > 0
    assert others == [first, first]
    encoded = live_cycle().view.live.encoded([POD])
    assert is_node_local(encoded, encoded.class_of(POD), filters.filter_set("upstream+latency"))


def test_a_filter_that_declares_nothing_is_asked_at_every_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    only_b = replace(
        SILENT, feasible=lambda arrays, _: arrays.nodes.is_real & (np.arange(len(arrays.nodes.is_real)) == 1)
    )
    first, second, third = calls_in_decisions(monkeypatch, "SecondNode", only_b)
    assert 0 < first < second < third
    encoded = live_cycle().view.live.encoded([POD])
    assert not is_node_local(encoded, encoded.class_of(POD), filters.filter_set("upstream+latency"))
    assert could_help(Happening.CONTEXT, "SecondNode")


def test_a_static_part_under_the_name_of_one_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Misnamed=f"{__name__}:MISNAMED")
    assert [part.filter for part in filters.static_parts()].count("NodeName") == 1
    with pytest.raises(LongshoreError, match="its static part is named `NodeName`"):
        filters.load(("Misnamed",))


def test_a_filter_that_cannot_be_loaded_leaves_the_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = filters.static_parts()
    install(monkeypatch, Broken="no_such_module_of_filters:FILTER", Rack=f"{__name__}:RACK")
    assert filters.static_parts() == (*ours, RACK.static)
