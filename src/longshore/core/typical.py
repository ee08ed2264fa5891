"""Which kinds of pods are typical: the reference that fragmentation is measured against.

FGD (USENIX ATC'23): distinct (CPU, GPU milli, GPU count, models), the most frequent first until they cover 95 % of the
pods, shares scaled to sum to 1.
"""

from collections import Counter
from collections.abc import Iterable

from longshore.core.pod import GpuRequest, Pod
from longshore.core.resources import CPU, pod_requests
from longshore.core.snapshot import TypicalPod

_COVERED_SHARE = 0.95


def typical_pods(pods: Iterable[Pod]) -> tuple[TypicalPod, ...]:
    """Find the typical kinds among pods; none where no pod wants a GPU (nothing can be fragmented then)."""
    by_spec = Counter(pod.spec for pod in pods)
    if not any(spec.gpu for spec in by_spec):
        return ()
    kinds: Counter[tuple[int, GpuRequest | None]] = Counter()
    for spec, count in by_spec.items():
        kinds[dict(pod_requests(spec).amounts).get(CPU, 0), spec.gpu] += count
    ordered = sorted(
        kinds.items(), key=lambda item: (item[1], item[0][0], item[0][1] or GpuRequest(0, 0)), reverse=True
    )
    total, covered, kept = sum(kinds.values()), 0, []
    for kind, count in ordered:
        kept.append((kind, count))
        covered += count
        if covered >= _COVERED_SHARE * total:
            break
    return tuple(TypicalPod(cpu, gpu, count / covered) for (cpu, gpu), count in kept)
