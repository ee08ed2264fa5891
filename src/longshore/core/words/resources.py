"""What a pod asks for in all: containers, init containers, sidecars, overhead and pod-level requests together.

The rules are upstream's `component-helpers/resource.PodRequests`; sums are exact (nano-units), rounded once at the end.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from longshore.core.words.pod import Container, PodSpec, ResourceNanos
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT, to_millis, to_units

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
CORE_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""The first columns of every resource array; extended resources follow by name."""

# Upstream counts a container that names no request as this much when it scores, so that such pods spread.
DEFAULT_CPU_NANOS = 100 * NANOS_PER_MILLI
DEFAULT_MEMORY_NANOS = 200 * 1024 * 1024 * NANOS_PER_UNIT


class PodRequests(NamedTuple):
    """A pod's requests in array units: milli-CPU, bytes, counts."""

    amounts: tuple[tuple[str, int], ...]
    """What the filter compares and what the node has less of afterwards."""
    nonzero_cpu_millis: int
    nonzero_memory_bytes: int
    """What an existing pod counts for in scores."""
    score_cpu_millis: int
    score_memory_bytes: int
    """What the pod itself counts for when NodeResourcesFit scores it: that scorer ignores pod-level requests."""


@lru_cache(maxsize=8192)
def is_scalar_resource(name: str) -> bool:
    """Say whether the scheduler counts this resource beside CPU, memory and ephemeral storage."""
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.")


@lru_cache(maxsize=8192)  # thousands of nodes are of a few sizes
def amount(name: str, nanos: int) -> int:
    """Convert nano-units to the resource's array unit."""
    return to_millis(nanos) if name == CPU else to_units(nanos)


def pod_requests(spec: PodSpec) -> PodRequests:
    """Add up what the pod asks for, for the filter and for the scores."""
    exact = _total(spec, missing={}, with_pod_level=True)
    both = {CPU: DEFAULT_CPU_NANOS, MEMORY: DEFAULT_MEMORY_NANOS}
    has_pod_level = any(_is_pod_level(name) for name, _ in spec.pod_requests)
    missing = {name: nanos for name, nanos in both.items() if name not in exact} if has_pod_level else both
    nonzero = _total(spec, missing=missing, with_pod_level=True)
    scored = _total(spec, missing=both, with_pod_level=False) if has_pod_level else nonzero
    counted = {name: nanos for name, nanos in exact.items() if name in CORE_RESOURCES or is_scalar_resource(name)}
    return PodRequests(
        amounts=tuple(sorted((name, amount(name, nanos)) for name, nanos in counted.items())),
        nonzero_cpu_millis=to_millis(nonzero.get(CPU, 0)),
        nonzero_memory_bytes=to_units(nonzero.get(MEMORY, 0)),
        score_cpu_millis=to_millis(scored.get(CPU, 0)),
        score_memory_bytes=to_units(scored.get(MEMORY, 0)),
    )


def _total(spec: PodSpec, *, missing: Mapping[str, int], with_pod_level: bool) -> dict[str, int]:
    total = _container_total(spec, missing)
    if with_pod_level:
        total.update((name, nanos) for name, nanos in spec.pod_requests if _is_pod_level(name))
    _add(total, spec.overhead)
    return total


def _container_total(spec: PodSpec, missing: Mapping[str, int]) -> dict[str, int]:
    """Running containers and sidecars add up; an init container needs its own plus the sidecars started before it."""
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, _filled(container, missing))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.init_containers:
        requests = _filled(container, missing)
        if container.is_sidecar:
            _add(total, requests)
            _add(sidecars, requests)
            needed = sidecars
        else:
            needed = dict(sidecars)
            _add(needed, requests)
        for name, nanos in needed.items():
            peak[name] = max(peak.get(name, nanos), nanos)
    for name, nanos in peak.items():
        total[name] = max(total.get(name, nanos), nanos)
    return total


def _filled(container: Container, missing: Mapping[str, int]) -> ResourceNanos:
    if not missing:
        return container.requests
    named = {name for name, _ in container.requests}
    return container.requests + tuple((name, nanos) for name, nanos in missing.items() if name not in named)


def _add(total: dict[str, int], requests: ResourceNanos) -> None:
    for name, nanos in requests:
        total[name] = total.get(name, 0) + nanos


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")
