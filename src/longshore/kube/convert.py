"""Kubernetes objects to our words: one object in, one word out, or a refusal that names object, field and reason."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from longshore.core.words.assumed import CARBON_GRAMS_PER_KWH, assumed_power, assumed_price
from longshore.core.words.errors import ObjectError, QuantityError
from longshore.core.words.labels import find_unparsable, freeze
from longshore.core.words.node import CARBON, MAX_DEVICES, POWER, PRICE, Image, Node, NodePower, NodeReadings, Taint
from longshore.core.words.pod import (
    ANY_IP,
    LATENCY_HARD_ANNOTATIONS,
    LATENCY_SOFT_ANNOTATIONS,
    MIRROR_ANNOTATION,
    MIRROR_OWNER,
    AffinityTerm,
    Container,
    GpuRequest,
    HostPort,
    Owner,
    Pod,
    PodSpec,
    ResourceNanos,
    Toleration,
    Volume,
    WeightedAffinityTerm,
)
from longshore.core.words.quantity import INT64_MAX, parse_nanos
from longshore.core.words.resources import CPU, amount
from longshore.kube import annotations, selectors, wire

Value = TypeVar("Value")
Annotated = TypeVar("Annotated", wire.Node, wire.Pod)
Term = TypeVar("Term", AffinityTerm, WeightedAffinityTerm)
Share = Callable[[Any], Any]
"""Returns an equal value: that of an earlier object, so that like objects share their parts."""

# The most of a resource that one field may name, in array units (milli-CPU, bytes, pieces). Scores multiply amounts by
# 100 and nodes add them up, in int64: upstream's results wrap beyond this, and mean nothing any more.
LARGEST_AMOUNT = INT64_MAX // 100
_GPU_REQUEST = (annotations.GPU_COUNT, annotations.GPU_MILLI, annotations.GPU_MODEL)
"""They say one thing together."""
_HIGHEST_PRIORITY = 2**31 - 1
# A million CPUs and a petabyte: more than a node has, and few enough that some of them can be added up.
_FULL = (("cpu", 10**6 * 10**9), ("ephemeral-storage", 10**15 * 10**9), ("memory", 10**15 * 10**9))
# The largest number in an annotation (milliseconds, watts, prices, grams): sums and products of such stay exact enough.
LARGEST_NUMBER = 10**9
# Points of a power curve: every node's is brought to the length of the longest.
_MOST_POINTS = 1001


def _unshared(value: Value) -> Value:
    return value


def annotation_field(key: str) -> str:
    """Return how refusals name an annotation."""
    return f"metadata.annotations[{key}]"


def without_unreadable(
    source: Annotated, read: Callable[[Annotated], Value], problems: tuple[str, ...] = ()
) -> tuple[Value, str | None]:
    """Convert a node or pod as if annotations that cannot be read were not there; say beside it what they are.

    Annotations and labels with our prefix that mean nothing are named too.

    Raises:
        ObjectError: something else cannot be read.
    """
    try:
        return read(source), "; ".join((*problems, *_unknown_keys(source))) or None
    except ObjectError as error:
        notes = source.metadata.annotations or {}
        wrong = [name for name in notes if error.field == annotation_field(name)]
        if not wrong:
            raise
        if wrong[0] in _GPU_REQUEST:
            wrong.extend(_GPU_REQUEST)
        kept = {name: text for name, text in notes.items() if name not in wrong}
        metadata = msgspec.structs.replace(source.metadata, annotations=kept)
        rest = msgspec.structs.replace(source, metadata=metadata)
        return without_unreadable(rest, read, (*problems, str(error)))


def _unknown_keys(source: wire.Node | wire.Pod) -> tuple[str, ...]:
    keys = (*(source.metadata.annotations or ()), *(source.metadata.labels or ()))
    return annotations.unknown_keys(keys, is_pod=isinstance(source, wire.Pod))


def node(source: wire.Node, *, share: Share = _unshared) -> Node:
    """Convert a node; `share` may give back an equal value that is already in memory.

    Raises:
        ObjectError: a quantity or annotation cannot be read.
    """
    name, notes = source.metadata.name, source.metadata.annotations or {}
    read = _Reader("Node", name)
    labels = source.metadata.labels or {}
    latency = read.number(notes, annotations.LATENCY_MS)
    cost = read.number(notes, annotations.COST_PER_HOUR)
    carbon = read.number(notes, annotations.CARBON_GRAMS_PER_KWH)
    allocatable = share(read.resources("status.allocatable", source.status.allocatable))
    power = _power(read, notes)
    said = {CARBON: carbon, POWER: power, PRICE: cost}
    return Node(
        name=name,
        allocatable=allocatable,
        capacity=share(read.resources("status.capacity", source.status.capacity)),
        labels=freeze(labels),
        annotations=freeze(notes),
        taints=share(tuple(Taint(taint.key, taint.value, taint.effect) for taint in source.spec.taints or ())),
        is_unschedulable=source.spec.unschedulable,
        images=share(tuple(Image(tuple(i.names or ()), i.size_bytes) for i in source.status.images or ())),
        gpu_count=read.whole(notes, annotations.GPU_COUNT, 0, MAX_DEVICES) or 0,
        gpu_model=notes.get(annotations.GPU_MODEL, labels.get(annotations.GPU_MODEL, "")),
        readings=NodeReadings(latency_ms=latency, zone_latency_ms=_zone_latency(read, notes)),
        power=assumed_power(allocatable) if power is None else power,
        cost_per_hour=assumed_price(allocatable) if cost is None else cost,
        carbon_grams_per_kwh=CARBON_GRAMS_PER_KWH if carbon is None else carbon,
        assumed=tuple(kind for kind, value in said.items() if value is None),
    )


def pod(source: wire.Pod, *, is_incoming: bool = False, share: Share = _unshared) -> Pod:
    """Convert a pod; `is_incoming` treats one that names a node as still to be placed.

    `share` may give back an equal value that is already in memory.

    Raises:
        ObjectError: a quantity, selector or annotation cannot be read.
    """
    meta, spec, notes = source.metadata, source.spec, source.metadata.annotations or {}
    read = _Reader("Pod", f"{meta.namespace or 'default'}/{meta.name}")
    is_bound = bool(spec.node_name) and not is_incoming
    return Pod(
        name=meta.name,
        spec=share(_pod_spec(read, source, is_bound=is_bound)),
        uid=meta.uid,
        bound_to=share(spec.node_name) if is_bound else "",
        priority=spec.priority or 0,
        scheduler_name=share(spec.scheduler_name or "default-scheduler"),
        scheduling_gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        annotations=share(freeze(notes)),
        gpu_devices=read.whole_list(notes, annotations.GPU_DEVICES),
        unmodelled=_unmodelled(spec),
        created=moment(meta.creation_timestamp) or 0.0,
    )


def stand_in(source: wire.Pod) -> Pod:
    """Return a pod for one that is bound and cannot be read: nobody knows what it uses, so its node counts as full."""
    meta, spec = source.metadata, source.spec
    return Pod(
        name=meta.name,
        spec=PodSpec(meta.namespace or "default", freeze(meta.labels or {}), (Container(requests=_FULL),)),
        uid=meta.uid,
        bound_to=spec.node_name,
        priority=_HIGHEST_PRIORITY,  # nobody is evicted for a guess
        scheduler_name=spec.scheduler_name or "default-scheduler",
    )


def _pod_spec(read: "_Reader", source: wire.Pod, *, is_bound: bool) -> PodSpec:
    meta, spec, affinity = source.metadata, source.spec, source.spec.affinity or wire.Affinity()
    notes, labels = meta.annotations or {}, meta.labels or {}
    own_node = affinity.node_affinity or wire.NodeAffinity()
    pods, anti = affinity.pod_affinity, affinity.pod_anti_affinity
    spread = spec.topology_spread_constraints or ()
    select = read.selectors

    def terms(field: str, convert: Callable[[], tuple[Term, ...]]) -> tuple[Term, ...]:
        found = select(field, convert)
        # Of a running pod upstream's cache keeps no term of a kind of which it cannot read one. One that waits keeps
        # them all: it is not placed for their sake, and says why.
        return found if not is_bound or _are_readable(found) else ()

    return PodSpec(
        namespace=meta.namespace or "default",
        labels=freeze(labels),
        containers=_containers(read, source, is_init=False, is_bound=is_bound),
        init_containers=_containers(read, source, is_init=True, is_bound=is_bound),
        overhead=read.resources("spec.overhead", spec.overhead),
        pod_requests=_pod_level(read, source, is_bound=is_bound),
        tolerations=tuple(Toleration(t.key, t.operator or "Equal", t.value, t.effect) for t in spec.tolerations or ()),
        node_name="" if is_bound else spec.node_name,
        node_selector=freeze(spec.node_selector),
        node_affinity=select("spec.affinity.nodeAffinity", lambda: selectors.node_terms(own_node.required)),
        node_preferences=select("spec.affinity.nodeAffinity", lambda: selectors.node_preferences(own_node.preferred)),
        affinity=terms("spec.affinity.podAffinity", lambda: selectors.affinity_terms(pods)),
        anti_affinity=terms("spec.affinity.podAntiAffinity", lambda: selectors.affinity_terms(anti)),
        preferred_affinity=terms("spec.affinity.podAffinity", lambda: selectors.weighted_terms(pods)),
        preferred_anti_affinity=terms("spec.affinity.podAntiAffinity", lambda: selectors.weighted_terms(anti)),
        spread=select(
            "spec.topologySpreadConstraints",
            lambda: tuple(selectors.spread_constraint(constraint, labels) for constraint in spread),
        ),
        owner=_owner(source),
        volumes=tuple(_volume(read, volume) for volume in spec.volumes or ()),
        gpu=_gpu(read, notes),
        latency_soft_ms=read.number(notes, *LATENCY_SOFT_ANNOTATIONS),
        latency_hard_ms=read.number(notes, *LATENCY_HARD_ANNOTATIONS),
        is_terminating=meta.deletion_timestamp is not None,
    )


class _Reader:
    """Reads the parts of one object and signs refusals with its name."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name

    def refuse(self, field: str, reason: str, hint: str | None = None) -> ObjectError:
        return ObjectError(self.kind, self.name, field, reason, hint)

    def resources(self, field: str, source: wire.ResourceMap | None) -> ResourceNanos:
        pairs = []
        for name, quantity in (source or {}).items():
            try:
                nanos = parse_nanos(quantity if isinstance(quantity, str) else str(quantity))
            except QuantityError as error:
                raise self.refuse(f"{field}.{name}", error.message, error.hint) from error
            if nanos < 0:
                raise self.refuse(f"{field}.{name}", f"`{quantity}` is negative")
            if amount(name, nanos) > LARGEST_AMOUNT:
                most = f"{LARGEST_AMOUNT}{'m' if name == CPU else ''}"
                reason = f"`{quantity}` is more than `{most}`, the most that can be counted"
                raise self.refuse(f"{field}.{name}", reason)
            pairs.append((name, nanos))
        return tuple(sorted(pairs))

    def selectors(self, field: str, convert: Callable[[], Value]) -> Value:
        try:
            return convert()
        except selectors.SelectorError as error:
            raise self.refuse(field, str(error)) from error

    def number(self, notes: Mapping[str, str], *keys: str) -> float | None:
        """Read the first of these annotations that is there."""
        key = next((key for key in keys if key in notes), None)
        if key is None:
            return None
        text = notes[key]
        try:
            # Python also reads `1_000` and the digits of other scripts; whoever writes those means something else.
            value = float(text if text.isascii() and "_" not in text else "nan")
        except ValueError:
            value = float("nan")
        if not 0 <= value <= LARGEST_NUMBER:
            raise self.refuse(annotation_field(key), f"`{text}` is not a number from 0 to {LARGEST_NUMBER}")
        return value

    def whole(self, notes: Mapping[str, str], key: str, low: int, high: int) -> int | None:
        text = notes.get(key)
        if text is None:
            return None
        if not (_is_number(text) and low <= int(text) <= high):
            raise self.refuse(annotation_field(key), f"`{text}` is not a whole number from {low} to {high}")
        return int(text)

    def whole_list(self, notes: Mapping[str, str], key: str) -> tuple[int, ...] | None:
        text = notes.get(key)
        if text is None:
            return None
        parts = text.split(",")
        if not all(_is_number(part) for part in parts):
            raise self.refuse(annotation_field(key), f"`{text}` is not a list of device numbers such as `0,1`")
        return tuple(int(part) for part in parts)


def _is_number(text: str) -> bool:
    # Nine digits hold every number that is asked for; Python refuses to read some thousands.
    return text.isascii() and text.isdigit() and len(text) <= 9


def _are_readable(terms: Sequence[AffinityTerm | WeightedAffinityTerm]) -> bool:
    plain = [entry.term if isinstance(entry, WeightedAffinityTerm) else entry for entry in terms]
    return find_unparsable(part for term in plain for part in (term.selector, term.namespace_selector)) is None


def _containers(read: _Reader, source: wire.Pod, *, is_init: bool, is_bound: bool) -> tuple[Container, ...]:
    spec, status = source.spec, source.status
    field = "initContainers" if is_init else "containers"
    statuses = {s.name: s for s in (status.init_container_statuses if is_init else status.container_statuses) or ()}
    converted = []
    for i, container in enumerate((spec.init_containers if is_init else spec.containers) or ()):
        path, needs = f"spec.{field}[{i}]", container.resources or wire.ResourceRequirements()
        is_sidecar = is_init and container.restart_policy == "Always"
        requests = read.resources(f"{path}.resources.requests", needs.requests)
        # A status counts for a pod that runs. No kubelet has written one for a pod that waits, and upstream's
        # NodeResourcesFit does not look for it there.
        given = statuses.get(container.name) if is_bound else None
        if given is not None and given.resources is not None and (is_sidecar or not is_init):
            requests = _resized(read, source, requests, given.resources.requests, given.allocated_resources)
        ports = [port for port in container.ports or () if port.host_port > 0]
        converted.append(
            Container(
                image=container.image,
                requests=requests,
                limits=read.resources(f"{path}.resources.limits", needs.limits),
                ports=tuple(HostPort(port.host_port, port.protocol or "TCP", port.host_ip or ANY_IP) for port in ports),
                is_sidecar=is_sidecar,
            )
        )
    return tuple(converted)


def _pod_level(read: _Reader, source: wire.Pod, *, is_bound: bool) -> ResourceNanos:
    wanted = source.spec.resources
    requests = read.resources("spec.resources.requests", wanted.requests if wanted else None)
    if not is_bound or not requests or source.status.resources is None:
        return requests
    given = dict(_resized(read, source, requests, source.status.resources.requests, source.status.allocated_resources))
    return tuple((name, given.get(name, 0)) for name, _ in requests)


def _resized(
    read: _Reader,
    source: wire.Pod,
    wanted: ResourceNanos,
    actuated: wire.ResourceMap | None,
    allocated: wire.ResourceMap | None,
) -> ResourceNanos:
    """While a resize is under way a pod counts for the most of what it wants, has and was promised.

    A resize that can never happen does not count as wanted.
    """
    pending = next((c for c in source.status.conditions or () if c.type == "PodResizePending"), None)
    is_infeasible = pending is not None and pending.reason == "Infeasible"
    most: dict[str, int] = {} if is_infeasible else dict(wanted)
    for held in (actuated, allocated):
        for name, nanos in read.resources("status.containerStatuses", held):
            most[name] = max(most.get(name, nanos), nanos)
    return tuple(sorted(most.items()))


def _owner(source: wire.Pod) -> Owner | None:
    meta = source.metadata
    for reference in meta.owner_references or ():
        if reference.controller:
            return Owner(reference.api_version, reference.kind, reference.name)
    is_mirror = MIRROR_ANNOTATION in (meta.annotations or {})
    return Owner(*MIRROR_OWNER, source.spec.node_name) if is_mirror else None


def _volume(read: _Reader, source: dict[str, msgspec.Raw]) -> Volume:
    """Name a volume's source; every volume has exactly one beside its name."""
    kinds = [key for key in source if key != "name"]
    kind = kinds[0] if kinds else "emptyDir"
    try:
        if kind == "persistentVolumeClaim":
            return Volume(kind, msgspec.json.decode(source[kind], type=wire.ClaimSource).claim_name)
        if kind == "emptyDir" and kind in source:
            return Volume(kind, msgspec.json.decode(source[kind], type=wire.EmptyDirSource).medium)
        if kind == "image":
            return Volume(kind, msgspec.json.decode(source[kind], type=wire.ImageSource).reference)
    except wire.UNREADABLE as error:
        raise read.refuse(f"spec.volumes.{kind}", str(error)) from error
    return Volume(kind)


def moment(text: str | None) -> float | None:
    """Return a moment in seconds since 1970; None where there is none that can be read."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _gpu(read: _Reader, notes: Mapping[str, str]) -> GpuRequest | None:
    milli = read.whole(notes, annotations.GPU_MILLI, 1, 1000)
    count = read.whole(notes, annotations.GPU_COUNT, 1, MAX_DEVICES)
    if milli is None and count is None:
        if annotations.GPU_MODEL in notes:
            raise read.refuse(
                annotation_field(annotations.GPU_MODEL),
                f"needs `{annotations.GPU_COUNT}` or `{annotations.GPU_MILLI}` beside it",
            )
        return None
    if milli not in (None, 1000) and count not in (None, 1):
        raise read.refuse(annotation_field(annotations.GPU_MILLI), "a share is of one device only")
    models = notes.get(annotations.GPU_MODEL, "")
    return GpuRequest(count or 1, milli or 1000, tuple(sorted(model for model in models.split("|") if model)))


def _power(read: _Reader, notes: Mapping[str, str]) -> NodePower | None:
    text = notes.get(annotations.WATTS)
    if text is None:
        return None
    parts = text.split(",")
    if not 2 <= len(parts) <= _MOST_POINTS:
        raise read.refuse(
            annotation_field(annotations.WATTS),
            f"needs 2 to {_MOST_POINTS} values, idle first and full last; got {len(parts)}",
        )
    curve = tuple(read.number({annotations.WATTS: part}, annotations.WATTS) or 0.0 for part in parts)
    return NodePower(curve)


def _zone_latency(read: _Reader, notes: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    key = annotations.ZONE_LATENCY_MS
    text = notes.get(key)
    if text is None:
        return ()
    found: dict[str, float] = {}
    for part in text.split(","):
        name, separator, milliseconds = (piece.strip() for piece in part.partition("="))
        if not name or not separator or name in found:
            reason = f"`{text}` is not a list of zones, each once, such as `zone-a=0.4,zone-b=1.8`"
            raise read.refuse(annotation_field(key), reason)
        found[name] = read.number({key: milliseconds}, key) or 0.0
    return tuple(sorted(found.items()))


def _unmodelled(spec: wire.PodSpec) -> tuple[str, ...]:
    """List the fields in use that only plugins outside our filters read."""
    rules = [
        rule for c in (spec.init_containers or []) + (spec.containers or []) for rule in c.restart_policy_rules or ()
    ]
    found = {
        "spec.resourceClaims": bool(spec.resource_claims),
        "spec.schedulingGroup": spec.scheduling_group is not None,
        "spec.hostUsers": spec.host_users is False and bool(spec.host_network),
        "spec.containers[*].restartPolicyRules": any(rule.action == "RestartAllContainers" for rule in rules),
    }
    return tuple(field for field, is_used in found.items() if is_used)
