"""The live cluster: at any moment its arrays mean what a fresh encoding of its snapshot means."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.live_moves import histories
from longshore import filters
from longshore.core.arrays import live as live_module
from longshore.core.arrays.cluster_arrays import is_on
from longshore.core.arrays.compiler import Compiler
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.features import ALL, features
from longshore.core.arrays.live import LiveCluster
from longshore.core.words.errors import InputError
from longshore.core.words.node import NodeReadings
from longshore.core.words.pod import HostPort, Pod
from longshore.core.words.snapshot import Namespace, Service
from longshore.filters import static_parts
from longshore.policies import REGISTRY
from longshore.policies.base import choose_node
from support.builders import make_node, make_pod
from support.compiling import encode

FILTERS = filters.filter_set("upstream+latency")
SCORED_BY = ("kube-default", "fgd", "gpu-clustering", "random", "energy-latency")


def fresh_of(live: LiveCluster, encoded: Encoded) -> Encoded:
    """Encode the cluster anew, at the same point of its random numbers."""
    fresh = encode(live.snapshot())
    old, new = encoded.arrays.state, fresh.arrays.state
    last = encoded.node_names[int(old.last_node)] if old.last_node >= 0 else ""
    progress = {"seed": old.seed, "step": old.step, "last_node": np.int32(fresh.node_index.get(last, -1))}
    return replace(fresh, arrays=fresh.arrays._replace(state=new._replace(**progress)))


def assert_same_rooms(live: Encoded, fresh: Encoded) -> None:
    """Compare what pods take, node by node."""
    assert sorted(live.node_names) == sorted(fresh.node_names)
    order = [live.node_index[name] for name in fresh.node_names]
    rows = slice(0, len(order))
    columns = [live.resource_names.index(name) for name in fresh.resource_names]
    one, other = live.arrays.state, fresh.arrays.state
    assert (one.requested[order][:, columns] == other.requested[rows]).all()
    for name in ("nonzero_requested", "pod_count", "keeping", "gpu_used"):
        assert (getattr(one, name)[order] == getattr(other, name)[rows]).all(), name
    assert (live.arrays.nodes.name_rank[order] == fresh.arrays.nodes.name_rank[rows]).all()


def assert_same_decision(live: Encoded, fresh: Encoded, pod: Pod) -> None:
    """Compare where a pod may go, why not elsewhere, how nodes score and which one is chosen."""
    order = [live.node_index[name] for name in fresh.node_names]
    one, other = live.class_of(pod), fresh.class_of(pod)
    mask, why = filters.judge(live, one, FILTERS)
    fresh_mask, fresh_why = filters.judge(fresh, other, FILTERS)
    rows = slice(0, len(order))
    assert (mask[order] == fresh_mask[rows]).all()
    assert why == fresh_why
    for name in SCORED_BY:
        policy = REGISTRY.load(name)
        choice = choose_node(policy, live.arrays, np.asarray(one), mask)
        fresh_choice = choose_node(policy, fresh.arrays, np.asarray(other), fresh_mask)
        assert (choice.scores[order][mask[order]] == fresh_choice.scores[rows][mask[order]]).all(), name
        names = [*live.node_names, None][choice.node], [*fresh.node_names, None][fresh_choice.node]
        assert names[0] == names[1], name
    seen = features(live.arrays, np.asarray(one), mask, ALL)[order]
    fresh_seen = features(fresh.arrays, np.asarray(other), fresh_mask, ALL)[rows]
    np.testing.assert_allclose(seen, fresh_seen, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**31))
@settings(max_examples=15)
def test_arrays_mean_what_a_fresh_encoding_means(seed: int) -> None:
    for done, live in histories(seed, num_moves=30):
        encoded = live.encoded()
        fresh = fresh_of(live, encoded)
        try:
            assert_same_rooms(encoded, fresh)
            for pod in live.snapshot().pending:
                assert_same_decision(encoded, fresh, pod)
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


def live_of(*parts: object) -> LiveCluster:
    live = LiveCluster(static_parts())
    for part in parts:
        word = part.build()
        (live.put_pod if isinstance(word, Pod) else live.put_node)(word)
    return live


def room_for(live: LiveCluster, pod: Pod) -> set[str]:
    encoded = live.encoded([pod])
    mask = filters.feasible(encoded.arrays, np.asarray(encoded.class_of(pod)))
    return {name for name, fits in zip(encoded.node_names, mask, strict=False) if fits}


def test_pods_of_known_classes_are_counted_in_place() -> None:
    live = live_of(make_node("a"), make_pod("one").cpu(100).on("a"))
    encoded = live.encoded()
    live.put_pod(make_pod("two").cpu(100).on("a").build())
    live.drop_pod("default/one")
    live.put_pod(make_pod("three").cpu(100).on("a").build())
    assert live.encoded() is encoded
    assert encoded.arrays.state.requested[0, 0] == 200
    assert encoded.arrays.state.pod_count[0] == 2


def test_an_equal_word_about_a_node_changes_nothing() -> None:
    live = live_of(make_node("a").label("x", "y"))
    encoded = live.encoded()
    live.put_node(make_node("a").label("x", "y").build())
    assert live.encoded() is encoded


def test_a_changed_node_keeps_the_arrays_of_pods() -> None:
    live = live_of(make_node("a"), make_node("b"), make_pod("one").cpu(100).on("a"))
    state = live.encoded().arrays.state
    live.put_node(make_node("a").unschedulable().build())
    assert live.encoded().arrays.state is state
    assert room_for(live, make_pod("next").build()) == {"b"}


def test_caches_can_see_that_nodes_classes_and_readings_changed() -> None:
    live = live_of(make_node("a"), make_node("b"))
    before = live.encoded().arrays
    live.put_readings({"a": NodeReadings(latency_ms=1.0)})
    read = live.encoded().arrays
    assert read.readings.latency_ms is not before.readings.latency_ms
    assert read.nodes is before.nodes
    live.put_node(make_node("a").cpu(1).build())
    changed = live.encoded().arrays
    assert changed.nodes.allocatable is not read.nodes.allocatable
    asked = live.encoded([make_pod("new").cpu(7).build()]).arrays
    assert asked.classes.request is not changed.classes.request


def test_pods_that_were_never_put_can_be_decided_on() -> None:
    live = live_of(make_node("a"), make_node("b").cpu(100))
    assert room_for(live, make_pod("new").cpu(200).build()) == {"a"}
    assert live.snapshot().pods == ()


def test_a_class_that_nobody_asked_about_may_go_nowhere() -> None:
    pod = make_pod("one").on("a").build()
    live = live_of(make_node("a"), make_pod("one").on("a"))
    encoded = live.encoded()
    assert not filters.feasible(encoded.arrays, np.asarray(encoded.class_of(pod))).any()
    assert room_for(live, replace(pod, bound_to="")) == {"a"}


def test_a_port_that_nobody_held_before_is_seen() -> None:
    def with_port(name: str, ip: str) -> Pod:
        pod = make_pod(name).build()
        container = pod.spec.containers[0]._replace(ports=(HostPort(80, ip=ip),))
        return replace(pod, spec=replace(pod.spec, containers=(container,)))

    live, wants = live_of(make_node("a"), make_node("b")), with_port("wants", "0.0.0.0")
    assert room_for(live, wants) == {"a", "b"}
    live.put_pod(replace(with_port("holds", "10.0.0.1"), bound_to="a"))
    assert room_for(live, wants) == {"b"}


def test_the_first_pod_with_a_gpu_is_counted_among_those_that_hold_any() -> None:
    live = live_of(make_node("a").gpu(2), make_pod("plain").on("a"))
    live.encoded()
    live.put_pod(make_pod("one").gpu(1).on("a").build())
    arrays = live.encoded().arrays
    assert arrays.state.counts[arrays.classes.gpu_any_query, 0] == 1


def test_pods_of_a_node_that_goes_count_again_when_it_comes_back() -> None:
    live = live_of(make_node("a"), make_node("b"), make_pod("one").cpu(100).on("a"))
    live.encoded()
    live.drop_node("a")
    assert live.encoded().node_names == ("b",)
    live.put_node(make_node("a").build())
    encoded = live.encoded()
    assert encoded.arrays.state.requested[encoded.node_index["a"], 0] == 100


def test_readings_outlive_other_words_about_the_node_and_the_node() -> None:
    live = live_of(make_node("a"))
    live.put_readings({"a": NodeReadings(latency_ms=5.0)})
    live.put_node(make_node("a").label("x", "y").build())
    assert live.encoded().arrays.readings.latency_ms[0] == 5.0
    live.drop_node("a")
    live.put_node(make_node("a").build())
    assert live.encoded().arrays.readings.latency_ms[0] == 5.0


def test_readings_wait_for_a_node_that_joins_later() -> None:
    live = live_of(make_node("a"))
    live.put_readings({"later": NodeReadings(latency_ms=9.0)})
    live.put_node(make_node("later").build())
    encoded = live.encoded()
    assert encoded.arrays.readings.latency_ms[encoded.node_index["later"]] == 9.0


def test_readings_of_nodes_that_are_gone_are_forgotten_with_their_source() -> None:
    live = live_of(make_node("a"))
    for number in range(5):
        live.put_readings({f"gone-{number}": NodeReadings(latency_ms=9.0)})
        live.put_readings({f"gone-{number}": NodeReadings()})
    live.put_readings({"a": NodeReadings(latency_ms=9.0)})
    live.put_readings({"a": NodeReadings()})
    live.drop_node("a")
    assert live._readings == {}


def test_a_node_with_too_many_devices_is_refused_and_nothing_changes() -> None:
    live = live_of(make_node("a").gpu(2))
    with pytest.raises(InputError, match="65 GPU devices"):
        live.put_node(make_node("a").gpu(65).build())
    assert live.snapshot().nodes[0].gpu_count == 2


def test_devices_of_a_pod_are_those_that_were_booked() -> None:
    live = live_of(make_node("a").gpu(3), make_pod("says").gpu(1).on("a", (2,)), make_pod("guess").gpu(2).on("a"))
    assert live.devices_of("default/says") == (2,)
    assert live.devices_of("default/guess") == (0, 1)
    assert live.devices_of("default/nobody") is None


def test_classes_that_no_pod_has_any_more_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_SPARE_CLASSES", 3)
    live = live_of(make_node("a"))
    for number in range(20):
        live.put_pod(make_pod("job").label("job", str(number)).on("a").build())
        encoded = live.encoded()
    assert len(encoded.specs) <= 6
    assert encoded.arrays.state.pod_count[0] == 1


def test_rows_that_nobody_needs_any_more_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_SPARE_BYTES", 100)
    live = live_of(make_node("a"))
    for number in range(200):
        assert room_for(live, make_pod("picky").node_selector("number", str(number)).build()) == set()
    assert len(live.encoded().arrays.tables.masks) < 150


def test_an_empty_cluster_has_no_room() -> None:
    assert room_for(LiveCluster(static_parts()), make_pod("one").build()) == set()


def test_binding_moves_the_random_numbers_on() -> None:
    live = live_of(make_node("a"), make_node("b"))
    live.put_pod(make_pod("one").build())
    assert (int(live.encoded().arrays.state.step), int(live.encoded().arrays.state.last_node)) == (0, -1)
    live.put_pod(make_pod("one").on("b").build())
    assert (int(live.encoded().arrays.state.step), int(live.encoded().arrays.state.last_node)) == (1, 1)


def test_objects_are_those_of_now() -> None:
    live = live_of(make_node("a"))
    encoded = live.encoded()
    live.put_object(None, Namespace("new"))
    assert "new" in encoded.objects.namespaces
    assert encoded.snapshot == live.snapshot()
    live.put_context(namespaces=[])
    assert live.snapshot().namespaces == ()


def test_only_classes_that_a_changed_object_is_about_are_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = make_pod("web").label("app", "web"), make_pod("other").namespace("quiet")
    live, pods = live_of(make_node("a"), *parts), [part.build() for part in parts]
    live.encoded(pods)
    compiled: list[str] = []
    compile_them = Compiler.compile
    monkeypatch.setattr(
        Compiler,
        "compile",
        lambda self, classes: (compiled.extend(one.spec.namespace for one in classes), compile_them(self, classes)),
    )
    live.put_object(None, Service("default", "web", (("app", "web"),)))
    live.encoded(pods)
    assert compiled == ["default"]


def test_replaced_arrays_go_without_the_garbage_collector() -> None:
    """It comes late where most objects stay for long, and each of them holds a list of all nodes and their labels."""
    gc.collect()
    gc.disable()
    try:
        for seed in range(3):
            made = set[weakref.ref[object]]()
            for _, live in histories(seed, 30):
                live.encoded(live.snapshot().pods)
                made |= {weakref.ref(live._arrays), weakref.ref(live._arrays._static)}
            assert len(made) > 2
            assert {ref() for ref in made} == {None, live._arrays, live._arrays._static}
    finally:
        gc.enable()


def test_a_node_is_on_while_a_pod_keeps_it() -> None:
    live = live_of(make_node("a"), make_pod("agent").owner("DaemonSet", "agent").on("a"))
    assert list(is_on(live.encoded().arrays)) == [False]
    live.put_pod(make_pod("web").on("a").build())  # of a class that was not there at the start
    assert list(is_on(live.encoded().arrays)) == [True]
    live.drop_pod("default/web")
    assert list(is_on(live.encoded().arrays)) == [False]
