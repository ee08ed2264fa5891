"""The cluster view: assumed pods count, are confirmed or forgotten, and every change says what it means."""

from dataclasses import replace

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.happening import Happening
from longshore.core.words.pod import Pod
from longshore.deciding.assume import ClusterView
from longshore.filters import static_parts
from support.builders import make_node, make_pod

NODE = make_node("a").cpu("4").build()


def pod(name: str, uid: str = "1") -> Pod:
    return replace(make_pod(name).cpu("1").build(), uid=uid)


def view_with_node() -> ClusterView:
    view = ClusterView(LiveCluster(static_parts()))
    view.put_node(NODE)
    return view


def used(view: ClusterView) -> int:
    return int(view.live.encoded().arrays.state.requested[0, 0])


def test_an_assumed_pod_uses_room_at_once():
    view = view_with_node()
    placed = view.assume(pod("p"), "a", None, 0.0)
    assert (placed.bound_to, used(view), view.num_assumed) == ("a", 1000, 1)
    assert view.is_assumed("default/p", "1")
    assert not view.is_assumed("default/p", "2")


def test_the_watch_confirms_an_assumed_pod():
    view = view_with_node()
    placed = view.assume(pod("p"), "a", None, 0.0)
    assert view.put_running(replace(placed, started=5.0)) is Happening.POD_ADDED
    assert (view.num_assumed, view.num_running, used(view)) == (0, 1, 1000)
    assert view.forget("default/p", "1") is Happening.NOTHING  # a late failure of the binding changes nothing
    assert used(view) == 1000


def test_a_forgotten_pod_gives_its_room_back():
    view = view_with_node()
    view.assume(pod("p"), "a", None, 0.0)
    assert view.forget("default/p", "other") is Happening.NOTHING
    assert view.forget("default/p", "1") is Happening.POD_DELETED
    assert used(view) == 0


def test_a_pod_that_was_bound_elsewhere_uses_room_only_there():
    view = view_with_node()
    view.put_node(make_node("b").cpu("4").build())
    view.assume(pod("p"), "a", None, 0.0)
    view.put_running(replace(pod("p"), bound_to="b"))
    assert view.live.encoded().arrays.state.requested[:, 0].tolist() == [0, 1000]
    assert [other.name for other in view.running_on("b")] == ["p"]
    assert not view.running_on("a")


def test_devices_stay_known_until_the_annotation_is_seen():
    view = ClusterView(LiveCluster(static_parts()))
    view.put_node(make_node("a").gpu(4).build())
    asking = make_pod("g").gpu(1).build()
    placed = view.assume(asking, "a", (3,), 0.0)
    view.put_running(replace(placed, gpu_devices=None, started=1.0))
    found = view.running("default/g")
    assert found is not None
    assert found.gpu_devices == (3,)


def test_only_what_a_decision_can_see_makes_a_new_version():
    view = view_with_node()
    running = replace(pod("p"), bound_to="a", started=1.0)
    view.put_running(running)
    before = view.version
    view.put_node(NODE)
    view.put_running(running)
    view.put_running(replace(running, started=2.0))
    view.drop_running("default/nobody")
    view.drop_node("nowhere")
    assert view.version == before
    view.drop_running("default/p")
    assert view.version > before


def test_changes_of_running_pods_say_what_they_mean():
    view = view_with_node()
    first = replace(pod("p"), bound_to="a")
    assert view.put_running(first) is Happening.POD_ADDED
    labelled = replace(first, spec=replace(first.spec, labels=(("app", "x"),)))
    assert view.put_running(labelled) is Happening.POD_LABELS
    smaller = replace(labelled, spec=replace(labelled.spec, containers=()))
    assert view.put_running(smaller) is Happening.POD_SHRANK
    assert view.drop_running("default/p") is Happening.POD_DELETED
    assert view.drop_node("a") is Happening.NODE_DELETED


def test_lower_priorities_are_known_without_a_search():
    view = view_with_node()
    assert not view.has_lower_priority(10)
    view.assume(make_pod("p").priority(5).build(), "a", None, 0.0)
    assert view.has_lower_priority(10)
    assert not view.has_lower_priority(5)
    view.drop_running("default/p")
    assert not view.has_lower_priority(10)
