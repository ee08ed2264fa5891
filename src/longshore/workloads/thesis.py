"""What the thesis' two tests share (document 001, chapter 5): workers, nginx Deployments, latencies that change.

The cluster has workers of 8 CPU / 16 GiB. All Deployments come from one file in which only the Deployment's name is
replaced, so all pods have the labels of one template; each has a ReplicaSet of its own with one replica.

Latencies are 10, 18 and 26 ms, one to a worker, and change twice. At the first change they rotate; at the second they
rotate again, and the slowest is at 40 ms, beyond the pods' hard limit of 30. So each worker is the fastest once, and
the worker that a good policy has filled becomes the one that it may not use.
"""

from collections.abc import Sequence

from longshore.core.words.node import Node
from longshore.core.words.trace import LatencyChange
from longshore.workloads.apps import App, make_app
from longshore.workloads.base import seconds
from longshore.workloads.draw import Draw
from longshore.workloads.machines import GIB_IN_MIB, make_node, numbered

SOFT_LIMIT_MS, HARD_LIMIT_MS = 20.0, 30.0
LATENCIES_MS = (10.0, 18.0, 26.0)
BEYOND_LIMIT_MS = 40.0
# Latencies change in the pause before a pod, not at the very moment at which it comes.
_LEAD_SECONDS = 0.5


def nginx(deployment: str) -> App:
    """One of the Deployments: 250m / 64Mi, limits 20 and 30 ms."""
    return make_app(
        deployment,
        cpu_millis=250,
        memory_mib=64,
        app_label="nginx",
        image="nginx:latest",
        latency_soft_ms=SOFT_LIMIT_MS,
        latency_hard_ms=HARD_LIMIT_MS,
    )


def latency_phases(test: str, seed: int, num_nodes: int) -> tuple[tuple[float, ...], ...]:
    """Return the latency of every worker in each of the three phases; the seed says which worker starts as which.

    Seeds 0 to `num_nodes` - 1 turn one random order round, the next ones another, and so on. So in each such group
    every worker has every place once: with few seeds, a policy that prefers a worker by its name would otherwise be
    judged by how often chance put that worker beyond the limit.
    """
    group, turn = divmod(seed, num_nodes)
    drawn = Draw(test, group).shuffled(range(num_nodes))
    order = drawn[turn:] + drawn[:turn]
    rotated = [LATENCIES_MS[-turn:] + LATENCIES_MS[:-turn] for turn in range(len(LATENCIES_MS))]
    slowest = max(LATENCIES_MS)
    rotated[-1] = tuple(BEYOND_LIMIT_MS if latency == slowest else latency for latency in rotated[-1])
    return tuple(tuple(phase[place % len(phase)] for place in order) for phase in rotated)


def make_workers(latencies_ms: Sequence[float]) -> tuple[Node, ...]:
    """Make one worker for each latency."""
    names = numbered("worker", len(latencies_ms))
    return tuple(
        make_node(name, cpu=8, memory_mib=16 * GIB_IN_MIB, latency_ms=latency)
        for name, latency in zip(names, latencies_ms, strict=True)
    )


def latency_changes(
    workers: Sequence[Node], phases: Sequence[Sequence[float]], times: Sequence[float]
) -> list[LatencyChange]:
    """Make the changes into the second phase and later ones, just before pods that come at `times`."""
    return [
        LatencyChange(
            max(seconds(time - _LEAD_SECONDS), 0.0),
            tuple((worker.name, latency) for worker, latency in zip(workers, phase, strict=True)),
        )
        for phase, time in zip(phases[1:], times, strict=True)
    ]
