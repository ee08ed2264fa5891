"""A cluster of any size for the tests of the view, and a feed that needs no server."""

import asyncio
import random
from typing import Any

from longshore.core.words.decision import Decision
from longshore.core.words.node import NodeReadings
from longshore.dashboard.top.feed import Status
from longshore.dashboard.top.model import Board
from longshore.dashboard.top.scheduler import SchedulerState
from longshore.kube.cache import NodeChange, PodChange, PodCondition
from support.builders import make_node, make_pod

NOW = 1_700_000_000.0


def node_change(name: str, **builder: Any) -> NodeChange:
    """Return a node with 16 CPUs, 64 GiB and room for 110 pods, changed by the builder's steps."""
    made = make_node(name).cpu("16").memory("64Gi").pods(110)
    for step, value in builder.items():
        made = getattr(made, step)(*value) if isinstance(value, tuple) else getattr(made, step)(value)
    return NodeChange(name, made.build())


def pod_change(
    name: str, node: str = "", *, cpu: int = 1000, memory: str = "1Gi", uid: str = "", waits: str = "", **fields: Any
) -> PodChange:
    """Return a pod of the namespace `default`, bound where a node is given."""
    builder = make_pod(name).cpu(cpu).memory(memory)
    pod = (builder.on(node) if node else builder).build()
    conditions = (PodCondition("PodScheduled", "False", "Unschedulable", waits),) if waits else ()
    return PodChange(
        key=pod.key,
        namespace=pod.namespace,
        name=name,
        uid=uid or f"uid-{name}",
        pod=pod,
        scheduler_name="longshore",
        bound_to=node,
        conditions=conditions,
        **fields,
    )


def gone(change: PodChange) -> PodChange:
    """Return the change by which a pod goes away."""
    return PodChange(change.key, change.namespace, change.name, change.uid, bound_to=change.bound_to)


class FakeFeed:
    """A board and a status of the test's own; nothing happens by itself."""

    def __init__(self, board: Board | None = None, **status: Any) -> None:
        self.board = board or Board()
        self.status = Status(**{"server": "https://127.0.0.1:6443", "is_synced": True, "has_answered": True, **status})
        self.error: Exception | None = None

    async def run(self) -> None:
        """Wait until cancelled, or raise what the test asks for."""
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


def decision(pod: str, node: str | None, **fields: Any) -> Decision:
    """Return a record about a pod of the namespace `default`."""
    known: dict[str, Any] = {
        "time_us": int(NOW * 1e6),
        "mode": "standalone",
        "pod_namespace": "default",
        "pod_name": pod,
        "pod_uid": f"uid-{pod}",
        "policy": "el-rl",
        "node": node,
        "score": 0.75,
        "num_nodes": 1000,
        "num_feasible": 998,
        "latency_us": 640,
    }
    return Decision(**{**known, **fields})


def large_board(num_nodes: int, num_pods: int, seed: int = 0) -> Board:
    """Return a filled cluster with readings, placements and some trouble."""
    rng = random.Random(seed)
    board = Board()
    names = [f"worker-{number:04d}" for number in range(num_nodes)]
    nodes = [node_change(name, cpu=rng.choice(["8", "16", "32"])) for name in names]
    board.apply(nodes, NOW, is_history=True)
    weights = [rng.random() ** 2 + 0.02 for _ in names]
    held = rng.choices(names, weights, k=num_pods)
    pods = [pod_change(f"old-{i}", node, cpu=rng.choice([250, 500, 1000])) for i, node in enumerate(held)]
    board.apply(pods, NOW, is_history=True)
    board.put_readings(
        {
            name: NodeReadings(latency_ms=rng.uniform(1, 40), watts=rng.uniform(90, 320), cpu_ratio=rng.random() * 0.9)
            for name in names
            if rng.random() < 0.95
        }
    )
    return board


SCHEDULER = SchedulerState(
    policy="models/el-rl",
    version="3f2a91bc",
    is_leader=True,
    attempts={"scheduled": 2940, "unschedulable": 12},
    pending={"active": 12, "backoff": 3, "unschedulable": 1, "gated": 0},
    decision_p50_seconds=0.0005,
    decision_p99_seconds=0.0025,
)
