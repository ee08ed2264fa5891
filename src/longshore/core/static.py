"""Constraints that depend only on the pod's class and the node: rows of masks and of raw score weights.

Equal rows are stored once: thousands of classes share a handful of toleration sets and node selectors.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

from longshore.core.labels import Requirement, is_parsable
from longshore.core.node import Node, Taint
from longshore.core.pod import NodeSelectorTerm, PodSpec, Toleration
from longshore.core.snapshot import PersistentVolume, Snapshot

UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable")
# Only these keep a pod away; upstream passes over effects that it does not know.
_REJECTING = ("NoSchedule", "NoExecute")

_ZONE_KEYS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
_STABLE_KEY = {_ZONE_KEYS[0]: _ZONE_KEYS[2], _ZONE_KEYS[1]: _ZONE_KEYS[3]}

# ImageLocality's bounds: images below 23 MB in all do not count, 1 GB per container counts full.
_IMAGE_MIN_BYTES = 23 * 1024 * 1024
_IMAGE_MAX_BYTES_PER_CONTAINER = 1000 * 1024 * 1024

VolumeTopology = tuple[tuple[str, frozenset[str]], ...]


class RowTable:
    """Rows of one value per node, each kept once; row 0 is the neutral one."""

    def __init__(self, num_nodes: int, neutral: int) -> None:
        self.rows: list[list[int]] = [[neutral] * num_nodes]
        self._by_key: dict[Hashable, int] = {}
        self._by_row: dict[tuple[int, ...], int] = {tuple(self.rows[0]): 0}

    def index(self, key: Hashable, make: Callable[[], list[int]]) -> int:
        """Return the row for `key`, made on first use."""
        known = self._by_key.get(key)
        if known is None:
            row = make()
            known = self._by_row.setdefault(tuple(row), len(self.rows))
            if known == len(self.rows):
                self.rows.append(row)
            self._by_key[key] = known
        return known


class StaticRows:
    """Compiles classes against the nodes of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes = snapshot.nodes
        self.labels = [dict(node.labels) for node in snapshot.nodes]
        self.masks = RowTable(len(self.nodes), neutral=True)
        self.weights = RowTable(len(self.nodes), neutral=0)
        self._claims = {(claim.namespace, claim.name): claim for claim in snapshot.claims}
        self._volumes = {volume.name: volume for volume in snapshot.volumes}
        self._images: list[dict[str, int]] | None = None
        self._image_spread: dict[str, int] = {}

    def prefilter(self, spec: PodSpec) -> int:
        """Nodes that `metadata.name` affinity leaves over before any filter runs."""
        names = named_nodes(spec)
        if names is None:
            return 0
        return self.masks.index(("names", names), lambda: [node.name in names for node in self.nodes])

    def node_name(self, spec: PodSpec) -> int:
        """Only the node that the pod names itself."""
        if not spec.node_name:
            return 0
        return self.masks.index(("name", spec.node_name), lambda: [node.name == spec.node_name for node in self.nodes])

    def unschedulable(self, spec: PodSpec) -> int:
        """Nodes that are not cordoned, unless the pod tolerates that."""
        if tolerates(spec.tolerations, UNSCHEDULABLE_TAINT):
            return 0
        return self.masks.index("unschedulable", lambda: [not node.is_unschedulable for node in self.nodes])

    def taints(self, spec: PodSpec) -> int:
        """Nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""

        def allowed(taints: tuple[Taint, ...]) -> bool:
            return all(taint.effect not in _REJECTING or tolerates(spec.tolerations, taint) for taint in taints)

        return self.masks.index(("taints", spec.tolerations), lambda: _by_taints(self.nodes, allowed))

    def affinity(self, spec: PodSpec) -> int:
        """Nodes that the node selector and the required node affinity match."""
        if not spec.node_selector and spec.node_affinity is None:
            return 0
        wanted, terms = spec.node_selector, spec.node_affinity
        readable = _readable(terms or ())

        def allowed(node: Node, labels: dict[str, str]) -> bool:
            if any(labels.get(key) != value for key, value in wanted):
                return False
            return terms is None or any(_holds(term, node.name, labels) for term in readable)

        key = ("affinity", wanted, terms)
        return self.masks.index(key, lambda: [allowed(node, labels) for node, labels in self._labelled()])

    def volumes(self, spec: PodSpec) -> int:
        """Nodes in a zone and region where the pod's bound volumes can be used."""
        topology = self._volume_topology(spec)
        if not topology:
            return 0
        return self.masks.index(("volumes", topology), lambda: [_in_zone(topology, labels) for labels in self.labels])

    def volume_affinity(self, spec: PodSpec) -> int:
        """Nodes from which the pod's bound volumes can be used, by the volumes' own node affinity."""
        affinities = tuple(
            volume.node_affinity for volume in self._bound_volumes(spec) if volume.node_affinity is not None
        )
        if not affinities:
            return 0

        readable = [_readable(terms) for terms in affinities]

        def allowed(labels: dict[str, str]) -> bool:
            # Upstream asks with the labels alone: conditions on a node's name say nothing here.
            return all(any(_holds(term, None, labels) for term in terms) for terms in readable)

        return self.masks.index(("volume-affinity", affinities), lambda: [allowed(labels) for labels in self.labels])

    def gpu_model(self, spec: PodSpec) -> int:
        """Nodes whose GPUs are of a model that the pod accepts."""
        models = spec.gpu.models if spec.gpu else ()
        if not models:
            return 0
        return self.masks.index(("models", models), lambda: [node.gpu_model in models for node in self.nodes])

    def taint_weight(self, spec: PodSpec) -> int:
        """Count the PreferNoSchedule taints that the pod does not tolerate."""
        tolerations = tuple(t for t in spec.tolerations if t.effect in ("", "PreferNoSchedule"))

        def count(taints: tuple[Taint, ...]) -> int:
            return sum(taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint) for taint in taints)

        return self.weights.index(("taints", tolerations), lambda: _by_taints(self.nodes, count))

    def affinity_weight(self, spec: PodSpec) -> int:
        """Add the weights of the node preferences that match."""
        preferences = spec.node_preferences
        if not preferences:
            return 0

        readable = [wish for wish in preferences if _readable((wish.term,))]

        def weight(node: Node, labels: dict[str, str]) -> int:
            return sum(wish.weight for wish in readable if _holds(wish.term, node.name, labels))

        key = ("affinity", preferences)
        return self.weights.index(key, lambda: [weight(node, labels) for node, labels in self._labelled()])

    def image_weight(self, spec: PodSpec) -> int:
        """Score 0..100 by how many bytes of the pod's images the node already has (upstream's ImageLocality)."""
        containers = spec.init_containers + spec.containers
        images = [container.image for container in containers]
        images += [volume.name for volume in spec.volumes if volume.source == "image"]
        if not any(node.images for node in self.nodes):
            return 0
        names = tuple(sorted(_normalized(image) for image in images))
        key = ("images", names, len(containers))
        return self.weights.index(key, lambda: self._image_row(names, len(containers)))

    def _image_row(self, names: tuple[str, ...], num_containers: int) -> list[int]:
        if self._images is None:
            self._images = [
                {name: image.size_bytes for image in node.images for name in image.names} for node in self.nodes
            ]
            for present in self._images:
                for name in present:
                    self._image_spread[name] = self._image_spread.get(name, 0) + 1
        most, total = _IMAGE_MAX_BYTES_PER_CONTAINER * num_containers, len(self.nodes)
        row = []
        for present in self._images:
            sizes = [
                int(float(present[name]) * (self._image_spread[name] / total)) for name in names if name in present
            ]
            clipped = max(min(sum(sizes), most), _IMAGE_MIN_BYTES)
            row.append(100 * (clipped - _IMAGE_MIN_BYTES) // (most - _IMAGE_MIN_BYTES))
        return row

    def _labelled(self) -> Iterator[tuple[Node, dict[str, str]]]:
        return zip(self.nodes, self.labels, strict=True)

    def _volume_topology(self, spec: PodSpec) -> VolumeTopology:
        found: list[tuple[str, frozenset[str]]] = []
        for volume in self._bound_volumes(spec):
            labels = dict(volume.labels)
            for key in _ZONE_KEYS:
                zones = _zones(labels[key]) if key in labels else None
                if zones is not None:
                    found.append((key, zones))
        return tuple(found)

    def _bound_volumes(self, spec: PodSpec) -> Iterator[PersistentVolume]:
        for volume in spec.volumes:
            if volume.source == "persistentVolumeClaim":
                claim = self._claims.get((spec.namespace, volume.name))
                bound = self._volumes.get(claim.volume_name) if claim else None
                if bound is not None:
                    yield bound


def tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Say whether one of the tolerations covers the taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    # Gt and Lt are an alpha feature that is off in 1.36: such a toleration covers nothing.
    return toleration.operator == "Exists"


def term_matches(term: NodeSelectorTerm, node_name: str | None, labels: dict[str, str]) -> bool:
    """Match one node selector term; an empty one matches nothing, nor does one that upstream cannot parse.

    Without a node name, conditions on fields are passed over.
    """
    return bool(_readable((term,))) and _holds(term, node_name, labels)


def find_unparsable_in(term: NodeSelectorTerm) -> Requirement | None:
    """Return the first requirement of a term that upstream cannot read, None if it can read them all."""
    for requirement in term.expressions:
        if not is_parsable(requirement):
            return requirement
    for field in term.fields:
        if len(field.values) != 1 or field.operator not in ("In", "NotIn"):
            return field
    return None


def _readable(terms: Sequence[NodeSelectorTerm]) -> list[NodeSelectorTerm]:
    """Leave out the terms that match nothing, on whatever node."""
    return [term for term in terms if (term.expressions or term.fields) and find_unparsable_in(term) is None]


def _holds(term: NodeSelectorTerm, node_name: str | None, labels: dict[str, str]) -> bool:
    if not all(requirement.matches(labels) for requirement in term.expressions):
        return False
    if node_name is None:
        return True
    fields = {"metadata.name": node_name}
    return all(_field_matches(requirement, fields) for requirement in term.fields)


def _field_matches(requirement: Requirement, fields: dict[str, str]) -> bool:
    # A field that a node does not have reads as the empty string (upstream's fields.Set).
    is_equal = fields.get(requirement.key, "") == requirement.values[0]
    return is_equal if requirement.operator == "In" else not is_equal


def named_nodes(spec: PodSpec) -> frozenset[str] | None:
    """Return the nodes that every affinity term names by `metadata.name`, None where a term leaves that open."""
    if not spec.node_affinity:
        return None
    union: set[str] = set()
    for term in spec.node_affinity:
        named = [set(r.values) for r in term.fields if r.key == "metadata.name" and r.operator == "In"]
        if not named:
            return None
        union |= set.intersection(*named)
    return frozenset(union)


def _by_taints(nodes: Sequence[Node], judge: Callable[[tuple[Taint, ...]], int]) -> list[int]:
    known: dict[tuple[Taint, ...], int] = {}
    for node in nodes:
        if node.taints not in known:
            known[node.taints] = judge(node.taints)
    return [known[node.taints] for node in nodes]


def _in_zone(topology: VolumeTopology, labels: dict[str, str]) -> bool:
    if not any(key in labels for key in _ZONE_KEYS):
        return True  # a cluster without zones
    for key, zones in topology:
        value = labels.get(key)
        if value is None:
            value = labels.get(_STABLE_KEY.get(key, key))
        if value is None or value not in zones:
            return False
    return True


def _zones(label: str) -> frozenset[str] | None:
    """Split `a__b`; a label with an empty part is ignored, as upstream ignores it."""
    zones = [zone.strip() for zone in label.split("__")]
    return frozenset(zones) if all(zones) else None


def _normalized(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
