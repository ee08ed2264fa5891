"""Tests of the plan: what of a trace becomes a Deployment, what single pods, and what is not done."""

from dataclasses import replace

from longshore.core.words.pod import Volume
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeFail, Trace
from longshore.live.workload import objects
from longshore.live.workload.objects import Ground
from longshore.live.workload.plan import DropDeployment, SetReplicas, WorkloadPlan, make_plan
from longshore.workloads.apps import App, make_app
from longshore.workloads.build import build_workload

WEB = make_app("web", cpu_millis=100, memory_mib=64)


def plan_of(app: App, *events: Create | Delete) -> WorkloadPlan:
    trace = Trace((), events, controllers=(app.controller,))
    return make_plan(trace, has_own_nodes=False, shows_latency=False)


def test_test1_is_made_of_deployments() -> None:
    trace = build_workload("test1", {"pods": 2, "cycles": 2}).trace(0)
    plan = make_plan(trace, has_own_nodes=True, shows_latency=True)
    done = [(type(one).__name__, one.time) for one in plan.actions if not isinstance(one, LatencyChange)]
    made = [("SetReplicas", 0.0), ("SetReplicas", 3.0), ("DropDeployment", 26.0), ("DropDeployment", 26.0)]
    assert done == made + [(name, time + 31.0) for name, time in made]
    assert plan.selectors is not None
    assert sorted(plan.selectors) == ["default/nginx-0", "default/nginx-1"]
    assert plan.services == ()


def test_replicas_of_one_moment_are_one_deployment() -> None:
    pods = [WEB.pod(number) for number in range(3)]
    plan = plan_of(WEB, *(Create(1.0, pod) for pod in pods), *(Delete(5.0, pod.key) for pod in pods))
    assert plan.actions == (
        SetReplicas(1.0, "default/web", 3, pods[0], is_new=True),
        DropDeployment(5.0, "default/web"),
    )


def test_later_replicas_scale_the_deployment() -> None:
    first, second = WEB.pod(0), WEB.pod(1)
    plan = plan_of(WEB, Create(1.0, first), Create(2.0, second))
    assert plan.actions[1] == SetReplicas(2.0, "default/web", 2, second, is_new=False)


def test_pods_that_leave_one_by_one_are_single_pods_behind_a_service() -> None:
    events = (Create(1.0, WEB.pod(0)), Create(1.0, WEB.pod(1)), Delete(2.0, WEB.pod(0).key))
    plan = plan_of(WEB, *events)
    assert plan.actions == events
    (service,) = plan.services
    assert dict(service.selector or ()) == dict(WEB.spec.labels)


def test_pods_with_lifetimes_are_single_pods() -> None:
    event = Create(1.0, WEB.pod(0), 5.0)
    assert plan_of(WEB, event).actions == (event,)


def test_unlike_pods_of_one_controller_are_single_pods() -> None:
    other = replace(WEB.pod(1), priority=5)
    events = (Create(1.0, WEB.pod(0)), Create(1.0, other))
    assert plan_of(WEB, *events).actions == events


def test_without_deployments_every_pod_is_a_single_one() -> None:
    trace = build_workload("test1", {"pods": 2, "cycles": 1}).trace(0)
    plan = make_plan(trace, has_own_nodes=False, shows_latency=True, has_deployments=False)
    assert plan.actions == trace.events
    assert len(plan.services) == 2


def test_what_cannot_be_done_is_said() -> None:
    claimed = replace(WEB.pod(0), spec=replace(WEB.spec, volumes=(Volume("persistentVolumeClaim", "data"),)))
    events = (
        Create(0.0, claimed),
        NodeFail(1.0, "node-0"),
        LatencyChange(2.0, (("node-0", 5.0),)),
        Delete(3.0, claimed.key),
    )
    plan = make_plan(Trace((), events), has_own_nodes=False, shows_latency=False)
    assert plan.actions == ()
    claims, nodes, latencies = plan.remarks
    assert "1 pods with volume claims" in claims
    assert "1 events of nodes" in nodes
    assert "`--readings FILE`" in latencies


def test_own_nodes_may_fail() -> None:
    event = NodeFail(1.0, "node-0")
    plan = make_plan(Trace((), (event,)), has_own_nodes=True, shows_latency=True)
    assert plan.actions == (event,)
    assert plan.remarks == ()


def test_the_same_seed_gives_the_same_objects_in_the_same_order() -> None:
    def made() -> list[str]:
        trace = build_workload("poisson", {"pods": 20}).trace(5)
        plan = make_plan(trace, has_own_nodes=False, shows_latency=False)
        ground = Ground("longshore-workload-poisson-5")
        pods = [objects.pod(ground, action.pod) for action in plan.actions if isinstance(action, Create)]
        return [repr(one) for one in (*pods, *(objects.service(ground, word) for word in plan.services))]

    assert made() == made()
    assert len(made()) > 20
