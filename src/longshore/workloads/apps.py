"""Applications: a Deployment's pods as the cluster would make them, owned by a ReplicaSet with labels and a selector.

Pods of one application share their spec, so a trace has as many classes as applications, however many pods it has.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from longshore.core.words.labels import Labels, Requirement, Selector, freeze
from longshore.core.words.node import Node
from longshore.core.words.pod import (
    LATENCY_HARD_ANNOTATIONS,
    LATENCY_SOFT_ANNOTATIONS,
    Container,
    HostPort,
    Owner,
    Pod,
    PodSpec,
)
from longshore.core.words.resources import CPU, MEMORY
from longshore.core.words.snapshot import Controller
from longshore.workloads.draw import Draw
from longshore.workloads.machines import cpu_nanos, memory_nanos

HASH_LABEL = "pod-template-hash"
# Upstream's alphabet for generated names: no vowels, no digits that look like letters.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5

SIZES = ((250, 512), (500, 1024), (1000, 2048), (2000, 4096), (4000, 8192))
"""(milli-CPU, MiB): 2 GiB to a core, less than the nodes have, so that CPU is the scarcer."""
SIZE_WEIGHTS = (0.35, 0.30, 0.20, 0.10, 0.05)
"""Small pods are the most frequent; the mean is 0.84 CPU."""


@dataclass(frozen=True, slots=True)
class App:
    """A Deployment: its pods' spec and the ReplicaSet behind it."""

    replica_set: str
    spec: PodSpec
    weight: float = 1.0
    """How often its pods arrive, relative to other applications."""

    @property
    def controller(self) -> Controller:
        """The ReplicaSet as an object."""
        labels = dict(self.spec.labels)
        own = {key: labels[key] for key in ("app", HASH_LABEL)}
        requirements = tuple(sorted(Requirement(key, "In", (value,)) for key, value in own.items()))
        return Controller("apps/v1", "ReplicaSet", self.spec.namespace, self.replica_set, Selector(requirements))

    @property
    def cpu_millis(self) -> int:
        """What one pod asks for, milli-CPU."""
        return dict(self.spec.containers[0].requests)[CPU] // cpu_nanos(1)

    @property
    def memory_mib(self) -> int:
        """What one pod asks for, MiB."""
        return dict(self.spec.containers[0].requests)[MEMORY] // memory_nanos(1)

    def pod(self, number: int) -> Pod:
        """Make the pod with this number; numbers must not repeat."""
        soft, hard = self.spec.latency_soft_ms, self.spec.latency_hard_ms
        name = f"{self.replica_set}-{generated(number)}"
        return Pod(name, self.spec, annotations=latency_annotations(soft, hard))


def make_app(
    deployment: str,
    *,
    cpu_millis: int,
    memory_mib: int,
    app_label: str | None = None,
    image: str | None = None,
    ports: tuple[HostPort, ...] = (),
    labels: Mapping[str, str] | None = None,
    weight: float = 1.0,
    **spec_fields: Any,
) -> App:
    """Make an application of one container; other fields of `PodSpec` by their names.

    `app_label` is the value of the label `app` (the Deployment's name unless told otherwise). Upstream hashes the pod
    template alone, so Deployments that share a template share the hash, and their ReplicaSets' selectors overlap.
    """
    label = deployment if app_label is None else app_label
    template_hash = _template_hash(label)
    requests = ((CPU, cpu_nanos(cpu_millis)), (MEMORY, memory_nanos(memory_mib)))
    replica_set = f"{deployment}-{template_hash}"
    spec = PodSpec(
        labels=freeze({"app": label, HASH_LABEL: template_hash} | dict(labels or {})),
        containers=(Container(image=image or f"{label}:1", requests=requests, ports=ports),),
        owner=Owner("apps/v1", "ReplicaSet", replica_set),
        **spec_fields,
    )
    return App(replica_set, spec, weight)


class Size(NamedTuple):
    """What an application's pods ask for, and how popular it is."""

    cpu_millis: int
    memory_mib: int
    weight: float


def draw_sizes(draw: Draw, count: int) -> list[Size]:
    """Give applications sizes and popularity, such that sizes are as frequent as `SIZE_WEIGHTS` says for every seed.

    Of every five applications each has another size, in random order. Of those of one size, the k-th is 1/k as popular
    as the first (Zipf).
    """
    order = [size for _ in range(0, count, len(SIZES)) for size in draw.shuffled(range(len(SIZES)))][:count]
    zipf = [1.0 / (number // len(SIZES) + 1) for number in range(count)]
    totals = [math.fsum(share for share, size in zip(zipf, order, strict=True) if size == i) for i in range(len(SIZES))]
    return [
        Size(*SIZES[size], weight=SIZE_WEIGHTS[size] * share / totals[size])
        for size, share in zip(order, zipf, strict=True)
    ]


def make_apps(draw: Draw, count: int) -> tuple[App, ...]:
    """Make plain applications of mixed sizes."""
    sizes = draw_sizes(draw, count)
    return tuple(make_app(f"app-{number:03d}", **size._asdict()) for number, size in enumerate(sizes))


def mean_share(apps: Sequence[App], nodes: Sequence[Node]) -> float:
    """Return the share of the cluster that the average pod asks for, of CPU or memory, whichever is more."""
    total = sum(app.weight for app in apps)
    have = {CPU: 0, MEMORY: 0}
    for node in nodes:
        for name, nanos in node.allocatable:
            have[name] = have.get(name, 0) + nanos
    cpu = sum(app.weight * app.cpu_millis for app in apps) / total * cpu_nanos(1) / have[CPU]
    memory = sum(app.weight * app.memory_mib for app in apps) / total * memory_nanos(1) / have[MEMORY]
    return max(cpu, memory)


def latency_annotations(soft_ms: float | None, hard_ms: float | None) -> Labels:
    """Write the limits as the annotations that carry them."""
    limits = {LATENCY_SOFT_ANNOTATIONS[0]: soft_ms, LATENCY_HARD_ANNOTATIONS[0]: hard_ms}
    return freeze({key: f"{limit:g}" for key, limit in limits.items() if limit is not None})


def generated(number: int) -> str:
    """Spell a number in upstream's alphabet for generated names, five letters or more."""
    letters = ""
    while number or len(letters) < _SUFFIX_LENGTH:
        number, digit = divmod(number, len(_ALPHABET))
        letters = _ALPHABET[digit] + letters
    return letters


def _template_hash(label: str) -> str:
    """Stand in for upstream's hash of the template: any short text that differs between templates will do."""
    folded = 0
    for letter in label:
        folded = (folded * 31 + ord(letter)) % 27**9
    return generated(folded).rjust(9, _ALPHABET[0])
