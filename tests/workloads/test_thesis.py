"""Tests of what the thesis' two loads share: its workers, its Deployments, its latencies."""

import pytest

from longshore.core.words.pod import Owner
from longshore.workloads.thesis import latency_phases, make_workers, nginx
from workloads.facts import request, shape


def test_workers_have_the_thesis_shape_and_their_latencies() -> None:
    workers = make_workers((10.0, 18.0, 26.0))
    assert [worker.name for worker in workers] == ["worker-0", "worker-1", "worker-2"]
    assert [shape(worker) for worker in workers] == [(8, 16 * 1024, 110)] * 3
    assert [worker.readings.latency_ms for worker in workers] == [10.0, 18.0, 26.0]


def test_a_deployment_is_one_nginx_with_limits() -> None:
    app = nginx("nginx-7")
    pod = app.pod(0)
    assert request(pod) == (250, 64)
    assert pod.spec.containers[0].image == "nginx:latest"
    assert (pod.spec.latency_soft_ms, pod.spec.latency_hard_ms) == (20.0, 30.0)
    assert dict(pod.annotations) == {
        "longshore.dev/latency-soft-limit-ms": "20",
        "longshore.dev/latency-hard-limit-ms": "30",
    }


def test_deployments_have_replica_sets_of_their_own_with_one_template() -> None:
    one, other = nginx("nginx-1"), nginx("nginx-2")
    assert one.spec.labels == other.spec.labels
    assert one.spec.owner == Owner("apps/v1", "ReplicaSet", one.replica_set)
    assert one.replica_set != other.replica_set
    # So the default spread of each counts the pods of all, as it does in a cluster.
    assert one.controller.selector == other.controller.selector


def test_each_worker_is_the_fastest_once_and_the_last_phase_goes_beyond_the_limit() -> None:
    phases = latency_phases("any", 0, 3)
    assert [sorted(phase) for phase in phases] == [[10.0, 18.0, 26.0], [10.0, 18.0, 26.0], [10.0, 18.0, 40.0]]
    assert {phase.index(10.0) for phase in phases} == {0, 1, 2}
    # The worker that was the best choice before is the one that may not be used.
    assert phases[1].index(10.0) == phases[2].index(40.0)


def test_latencies_repeat_on_more_workers() -> None:
    first = latency_phases("any", 0, 7)[0]
    assert sorted(first) == [10.0] * 3 + [18.0] * 2 + [26.0] * 2


@pytest.mark.parametrize("num_nodes", [1, 3, 4])
@pytest.mark.parametrize("group", [0, 5])
def test_few_seeds_are_fair_to_every_worker(num_nodes: int, group: int) -> None:
    seeds = range(group * num_nodes, (group + 1) * num_nodes)
    last = [latency_phases("any", seed, num_nodes)[-1] for seed in seeds]
    counts = [[phase[worker] for phase in last].count(40.0) for worker in range(num_nodes)]
    assert len(set(counts)) == 1
