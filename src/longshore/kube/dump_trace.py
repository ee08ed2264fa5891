"""A cluster dump as a trace: what runs goes back where it is, then what waits arrives."""

from collections.abc import Collection
from dataclasses import replace

from longshore.core.arrays.queries import HARD_AFFINITY_WEIGHT
from longshore.core.words.pod import (
    LATENCY_HARD_ANNOTATIONS,
    LATENCY_SOFT_ANNOTATIONS,
    Pod,
    Toleration,
    WeightedAffinityTerm,
)
from longshore.core.words.snapshot import Snapshot
from longshore.core.words.trace import Create, Trace
from longshore.kube.dump import Import

BOUND_TIME, WAITING_TIME = 0.0, 1.0
END_TIME = 3601.0
"""An hour with the waiting pods in place: enough for means over time to speak of them."""
_PLACING_ANNOTATIONS = frozenset({*LATENCY_SOFT_ANNOTATIONS, *LATENCY_HARD_ANNOTATIONS})


def left_out(snapshot: Snapshot, unsupported: Collection[str] = ()) -> dict[str, str]:
    """Return the pods (`namespace/name`) that a trace cannot have, each with the reason.

    Pods on nodes that the dump does not have are in no snapshot's arrays; gated ones and those being deleted no
    scheduler may place; `unsupported` names those that need what the simulator does not model.
    """
    names = {node.name for node in snapshot.nodes}
    found = {}
    for pod in snapshot.pods:
        reasons = {
            "its node is not in the dump": bool(pod.bound_to) and pod.bound_to not in names,
            "it is gated": not pod.bound_to and bool(pod.scheduling_gates),
            "it is being deleted": not pod.bound_to and pod.spec.is_terminating,
            "it needs what longshore does not model": not pod.bound_to and pod.key in unsupported,
        }
        if any(reasons.values()):
            found[pod.key] = next(reason for reason, holds in reasons.items() if holds)
    return found


def trace_from_dump(imported: Import, unsupported: Collection[str] = ()) -> Trace:
    """Make a trace: bound pods at time 0, each with its node as the only choice; waiting pods at time 1, by priority.

    Without those of `left_out`. Nothing ends by itself; add lifetimes or deletions for that.
    """
    snapshot = imported.snapshot
    without = left_out(snapshot, unsupported)
    kept = [pod for pod in snapshot.pods if pod.key not in without]
    bound = [_settled(pod) for pod in kept if pod.bound_to]
    waiting = [pod for pod in kept if not pod.bound_to]
    # Python's sort is stable: among equals the dump's order counts, as in upstream's queue the time of arrival does.
    waiting.sort(key=lambda pod: -pod.priority)
    return Trace(
        nodes=snapshot.nodes,
        events=(*(Create(BOUND_TIME, pod) for pod in bound), *(Create(WAITING_TIME, pod) for pod in waiting)),
        namespaces=snapshot.namespaces,
        services=snapshot.services,
        controllers=snapshot.controllers,
        volumes=snapshot.volumes,
        claims=snapshot.claims,
        end=END_TIME,
    )


def _settled(pod: Pod) -> Pod:
    """Pin a bound pod to its node, and drop what only mattered for choosing it.

    It runs there whatever has changed since (a taint, a cordon, a latency), and other pods may come back after it. What
    others see of it stays: labels, requests, ports, whom it keeps away, and whom it draws near; a required affinity
    counts for others as a wish of a known weight, so it becomes that wish.
    """
    spec = pod.spec
    drawn = tuple(WeightedAffinityTerm(HARD_AFFINITY_WEIGHT, term) for term in spec.affinity)
    settled = replace(
        spec,
        node_name=pod.bound_to,
        tolerations=(Toleration(operator="Exists"),),
        node_selector=(),
        node_affinity=None,
        node_preferences=None,
        affinity=(),
        preferred_affinity=drawn + spec.preferred_affinity,
        spread=(),
        volumes=(),
        latency_soft_ms=None,
        latency_hard_ms=None,
    )
    annotations = tuple((key, text) for key, text in pod.annotations if key not in _PLACING_ANNOTATIONS)
    return replace(pod, spec=settled, bound_to="", annotations=annotations, unmodelled=())
