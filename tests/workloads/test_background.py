"""Tests of nodes with background load."""

from longshore.workloads.background import Background
from workloads.facts import creates, deletes, request, shape


def test_every_node_has_a_blocker_that_it_keeps() -> None:
    trace = Background(cycles=1).trace(0)
    blockers = [event.pod for event in creates(trace) if event.time == 0.0]
    assert [pod.spec.node_name for pod in blockers] == [node.name for node in trace.nodes]


def test_background_is_at_most_half_the_cpu_and_three_quarters_of_the_memory() -> None:
    trace = Background(cycles=200, pods=1).trace(0)
    assert [shape(node)[:2] for node in trace.nodes] == [(6, 16 * 1024)] * 3
    sizes = [request(event.pod) for event in creates(trace) if event.pod.spec.node_name]
    assert len(set(sizes)) > 590
    assert 2900 < max(cpu for cpu, _ in sizes) < 3000
    assert 12000 < max(memory for _, memory in sizes) < 12288


def test_replicas_always_fit_beside_the_background() -> None:
    trace = Background(cycles=50).trace(1)
    for cycle in range(50):
        pods = [event.pod for event in creates(trace)][cycle * 83 : (cycle + 1) * 83]
        free = {node.name: list(shape(node)[:2]) for node in trace.nodes}
        for pod in pods[:3]:
            cpu_millis, memory_mib = request(pod)
            free[pod.spec.node_name] = [6000 - cpu_millis, 16 * 1024 - memory_mib]
        assert sum(min(cpu // 100, memory // 128) for cpu, memory in free.values()) >= 80


def test_a_cycle_ends_with_nothing_left() -> None:
    trace = Background(cycles=2, pods=4).trace(0)
    assert sorted(event.pod for event in deletes(trace)) == sorted(event.pod.key for event in creates(trace))


def test_nodes_draw_the_watts_that_were_given() -> None:
    trace = Background(idle_watts=10.0, full_watts=50.0).trace(0)
    assert {node.power.watts_at_load for node in trace.nodes} == {(10.0, 50.0)}
