"""From changes of the watch to queue, view and nominations."""

from typing import Any

from longshore.core.arrays.live import LiveCluster
from longshore.deciding.assume import ClusterView
from longshore.deciding.nominated import Nominations
from longshore.filters import static_parts
from longshore.kube.cache import Cache, PodChange
from longshore.kube.reflector import WatchBatch
from longshore.kube.resources import CLAIMS, NODES, PODS, SERVICES
from longshore.scheduling.intake import Intake
from longshore.scheduling.queue import Place, SchedulingQueue
from support.fake_api import FakeApi


class Scene:
    """An intake behind a cache, fed by an API server in memory."""

    def __init__(self, api: FakeApi | None = None) -> None:
        self.api = api or FakeApi()
        self.now = 100.0
        cache = Cache()
        self.view, self.nominations = ClusterView(LiveCluster(static_parts())), Nominations()
        self.queue = SchedulingQueue(lambda: self.now)
        self.intake = Intake("longshore", cache, self.view, self.queue, self.nominations, now=lambda: 5000.0)
        self.unreadable: list[PodChange] = []
        self.intake.on_unreadable = self.unreadable.append

        def collect(batch: WatchBatch) -> None:
            cache.apply(batch)

        self.api.start(collect)
        self.intake.start()
        self.api.deliver = lambda batch: self.intake.apply(cache.apply(batch))

    def change(self, name: str, **parts: Any) -> None:
        """Change parts of a pod: `spec`, `status`, `metadata`."""
        pod = self.api.get(name) or {}
        self.api.put(PODS, pod | {part: pod[part] | fields for part, fields in parts.items()})

    def fail_next(self, *rejectors: str) -> None:
        item = self.queue.pop()
        assert item is not None
        self.queue.fail(item, rejectors)


def test_the_first_pods_come_in_the_order_of_their_age():
    api = FakeApi()
    for name, second in (("a", 3), ("b", 1), ("c", 2)):
        pod = api.pod(name)
        pod["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{second}Z"
    scene = Scene(api)
    popped = [scene.queue.pop() for _ in range(3)]
    assert [item.pod.name for item in popped if item is not None] == ["b", "c", "a"]


def test_bound_pods_use_room_and_foreign_waiting_ones_are_nothing_to_us():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("ours", node="a")
    scene.api.pod("theirs", node="a", schedulerName="default-scheduler")
    scene.api.pod("waiting", schedulerName="default-scheduler")
    assert (scene.view.num_running, len(scene.queue)) == (2, 0)


def test_a_pod_bound_by_whomever_leaves_the_queue():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("p")
    assert len(scene.queue) == 1
    scene.change("p", spec={"nodeName": "a"})
    assert (len(scene.queue), scene.view.num_running) == (0, 1)


def test_a_waiting_pod_that_is_being_deleted_is_not_placed_any_more():
    scene = Scene()
    scene.api.pod("p")
    scene.change("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert len(scene.queue) == 0


def test_a_deletion_frees_the_room_of_a_pod_whose_binding_is_under_way():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("p")
    item = scene.queue.pop()
    assert item is not None
    scene.view.assume(item.pod, "a", None, 0.0)
    scene.change("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert (scene.view.num_running, scene.queue.get("default/p")) == (0, None)


def test_old_news_about_a_pod_that_was_just_bound_do_not_bring_it_back():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("p")
    item = scene.queue.pop()
    assert item is not None
    scene.view.assume(item.pod, "a", None, 0.0)
    scene.queue.drop("default/p")
    scene.change("p", status={"conditions": [{"type": "PodScheduled", "status": "False", "message": "x"}]})
    assert (len(scene.queue), scene.view.num_assumed) == (0, 1)


def test_what_happens_to_nodes_and_pods_wakes_those_it_could_help():
    scene = Scene()
    scene.api.node("a", cpu="1")
    scene.api.pod("other", node="a")
    scene.api.pod("p")
    scene.fail_next("NodeResourcesFit")
    scene.now += 20
    scene.api.node("a", cpu="1")  # a heartbeat
    assert scene.queue.count(Place.UNSCHEDULABLE) == 1
    scene.api.drop(PODS, "default/other")
    assert scene.queue.count(Place.ACTIVE) == 1


def test_a_finished_pod_frees_its_room():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("job", node="a")
    scene.change("job", status={"phase": "Succeeded"})
    assert scene.view.num_running == 0


def test_a_changed_service_is_taken_up_and_a_claim_wakes_who_waits_for_it():
    scene = Scene()
    scene.api.put(SERVICES, {"metadata": {"name": "web"}, "spec": {"selector": {"app": "x"}}})
    assert [service.name for service in scene.view.live.objects.services.values()] == ["web"]
    scene.api.pod("p")
    scene.fail_next("unsupported")
    scene.now += 20
    scene.api.put(CLAIMS, {"metadata": {"name": "disk"}, "spec": {}, "status": {}})
    assert scene.queue.count(Place.ACTIVE) == 1


def test_a_budget_makes_a_new_version_and_wakes_nobody():
    scene = Scene()
    scene.api.pod("p")
    scene.fail_next("NodeResourcesFit")
    before = scene.view.version
    scene.api.budget("b", {"app": "x"}, 1)
    assert scene.view.version > before
    assert scene.queue.count(Place.UNSCHEDULABLE) == 1


def test_an_unreadable_pod_of_ours_is_reported_and_a_foreign_one_is_not():
    scene = Scene()
    scene.api.pod("ours", cpu="many")
    scene.api.pod("theirs", cpu="many", schedulerName="default-scheduler")
    assert [change.name for change in scene.unreadable] == ["ours"]


def test_a_bound_pod_that_cannot_be_read_leaves_no_room_on_its_node():
    scene = Scene()
    scene.api.node("a")
    scene.api.pod("odd", cpu="many", node="a")
    assert [pod.name for pod in scene.view.running_on("a")] == ["odd"]
    assert scene.unreadable == []


def test_an_unreadable_node_takes_no_pods():
    scene = Scene()
    scene.api.node("a")
    scene.api.node("a", cpu="many")
    assert scene.view.nodes == {}


def test_a_node_that_is_gone_is_gone():
    scene = Scene()
    scene.api.node("a")
    scene.api.drop(NODES, "a")
    assert scene.view.nodes == {}


def test_a_nomination_of_before_is_taken_over():
    scene = Scene()
    pod = scene.api.pod("p")
    scene.api.put(PODS, pod | {"status": {"nominatedNodeName": "a"}})
    assert scene.nominations.node_of("default/p") == "a"


def test_a_nomination_decided_here_survives_until_the_watch_shows_it_and_ends_when_it_is_taken_away():
    scene = Scene()
    scene.api.pod("p")
    item = scene.queue.get("default/p")
    assert item is not None
    scene.nominations.put(item.pod, "a")
    scene.change("p", metadata={"labels": {"x": "y"}})
    assert scene.nominations.node_of("default/p") == "a"
    scene.change("p", status={"nominatedNodeName": "a"})
    scene.change("p", status={"nominatedNodeName": ""})
    assert scene.nominations.node_of("default/p") == ""


def test_room_of_a_nominated_pod_that_is_gone_wakes_lesser_ones():
    scene = Scene()
    scene.api.pod("boss", priority=10)
    item = scene.queue.get("default/boss")
    assert item is not None
    scene.nominations.put(item.pod, "a")
    scene.queue.drop("default/boss")
    for name, priority in (("small", 0), ("large", 99)):
        scene.api.pod(name, priority=priority)
    scene.fail_next("NodeResourcesFit")
    scene.fail_next("NodeResourcesFit")
    scene.queue.put(item.pod)
    scene.now += 20
    scene.api.drop(PODS, "default/boss")
    assert not scene.nominations
    places = {name: scene.queue.get(f"default/{name}") for name in ("small", "large")}
    assert {name: found.place for name, found in places.items() if found is not None} == {
        "small": Place.ACTIVE,
        "large": Place.UNSCHEDULABLE,
    }


def test_victims_that_are_leaving_are_recognised():
    scene = Scene()
    scene.api.node("a")
    pod = scene.api.pod("v", node="a")
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    scene.api.put(
        PODS,
        pod
        | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        | {"status": {"conditions": [condition], "startTime": "1970-01-01T00:01:00Z"}},
    )
    (found,) = scene.view.running_on("a")
    assert (found.spec.is_terminating, found.is_being_preempted, found.started) == (True, True, 60.0)
