"""Constraints that depend only on the pod's class and the node: rows of masks and of raw score weights.

Equal rows are stored once: thousands of classes share a handful of toleration sets and node selectors.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from longshore.core.arrays.node_images import NodeImages
from longshore.core.words.labels import Requirement, is_parsable
from longshore.core.words.node import Node, Taint
from longshore.core.words.objects import Objects
from longshore.core.words.pod import NodeSelectorTerm, PodSpec, Toleration
from longshore.core.words.snapshot import PersistentVolume

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

VolumeTopology = tuple[tuple[str, frozenset[str]], ...]

Judge = Callable[[Iterable[int]], list[int]]
"""(positions of nodes) -> a value for each."""


class RowTable:
    """Rows of one value per node, each kept once; row 0 is the neutral one."""

    def __init__(self, num_nodes: int, neutral: int, *, merges_equal: bool = True) -> None:
        """Start with the neutral row; `merges_equal`: rows of different keys that are equal are one row.

        They stay apart where nodes change later: what is equal today need not be tomorrow.
        """
        self.rows: list[list[int]] = [[neutral] * num_nodes]
        self.judges: dict[int, Judge] = {}
        """What made the rows, where they were made by node."""
        self._by_key: dict[Hashable, int] = {}
        self._by_row: dict[tuple[int, ...], int] | None = {tuple(self.rows[0]): 0} if merges_equal else None

    def index(self, key: Hashable, make: Callable[[], list[int]]) -> int:
        """Return the row for `key`, made on first use."""
        known = self._by_key.get(key)
        if known is None:
            row, known = make(), len(self.rows)
            if self._by_row is not None:
                known = self._by_row.setdefault(tuple(row), known)
            if known == len(self.rows):
                self.rows.append(row)
            self._by_key[key] = known
        return known

    def judged(self, key: Hashable, judge: Judge) -> int:
        """Return the row for `key`, made on first use by asking about all nodes."""
        known = self.index(key, lambda: judge(range(len(self.rows[0]))))
        self.judges.setdefault(known, judge)
        return known


class StaticRows:
    """Compiles classes against the nodes of one cluster."""

    def __init__(self, nodes: Iterable[Node], objects: Objects, *, merges_equal: bool = True) -> None:
        """Take the cluster; `merges_equal` as of `RowTable`.

        Claims and volumes may change: classes that use one must be compiled again then.
        """
        self.nodes = list(nodes)
        self.labels = [dict(node.labels) for node in self.nodes]
        self._objects = objects
        self.masks = RowTable(len(self.nodes), neutral=True, merges_equal=merges_equal)
        self.weights = RowTable(len(self.nodes), neutral=0, merges_equal=merges_equal)
        self.images = NodeImages(self.nodes)
        self.image_rows: dict[int, tuple[tuple[str, ...], int]] = {}
        """Rows of weights that are about images: the images and the number of containers."""

    def put_node(self, position: int, node: Node) -> frozenset[str]:
        """Put another node of the same name in a node's place; rows that are made already stay as they are.

        Return the images that are worth something else now, on whatever node.
        """
        changed = self.images.put(position, self.nodes[position].images, node.images)
        self.nodes[position], self.labels[position] = node, dict(node.labels)
        return changed

    def prefilter(self, spec: PodSpec) -> int:
        """Nodes that `metadata.name` affinity leaves over before any filter runs."""
        names = named_nodes(spec)
        if names is None:
            return 0
        return self.masks.judged(("names", names), lambda where: [self.nodes[i].name in names for i in where])

    def node_name(self, spec: PodSpec) -> int:
        """Only the node that the pod names itself."""
        name = spec.node_name
        if not name:
            return 0
        return self.masks.judged(("name", name), lambda where: [self.nodes[i].name == name for i in where])

    def unschedulable(self, spec: PodSpec) -> int:
        """Nodes that are not cordoned, unless the pod tolerates that."""
        if tolerates(spec.tolerations, UNSCHEDULABLE_TAINT):
            return 0
        return self.masks.judged("unschedulable", lambda where: [not self.nodes[i].is_unschedulable for i in where])

    def taints(self, spec: PodSpec) -> int:
        """Nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""

        def allowed(taints: tuple[Taint, ...]) -> bool:
            return all(taint.effect not in _REJECTING or tolerates(spec.tolerations, taint) for taint in taints)

        return self.masks.judged(("taints", spec.tolerations), lambda where: self._by_taints(where, allowed))

    def affinity(self, spec: PodSpec) -> int:
        """Nodes that the node selector and the required node affinity match."""
        if not spec.node_selector and spec.node_affinity is None:
            return 0
        wanted, terms = spec.node_selector, spec.node_affinity
        readable, names = _readable(terms or ()), named_nodes(spec)

        def allowed(node: Node, labels: dict[str, str]) -> bool:
            if names is not None and node.name not in names:
                return False  # a pod of a DaemonSet: one look at each of thousands of nodes
            if any(labels.get(key) != value for key, value in wanted):
                return False
            return terms is None or any(_holds(term, node.name, labels) for term in readable)

        key = ("affinity", wanted, terms)
        return self.masks.judged(key, lambda where: [allowed(self.nodes[i], self.labels[i]) for i in where])

    def volumes(self, spec: PodSpec) -> int:
        """Nodes in a zone and region where the pod's bound volumes can be used."""
        topology = self._volume_topology(spec)
        if not topology:
            return 0
        key = ("volumes", topology)
        return self.masks.judged(key, lambda where: [_in_zone(topology, self.labels[i]) for i in where])

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

        key = ("volume-affinity", affinities)
        return self.masks.judged(key, lambda where: [allowed(self.labels[i]) for i in where])

    def gpu_model(self, spec: PodSpec) -> int:
        """Nodes whose GPUs are of a model that the pod accepts."""
        models = spec.gpu.models if spec.gpu else ()
        if not models:
            return 0
        return self.masks.judged(("models", models), lambda where: [self.nodes[i].gpu_model in models for i in where])

    def taint_weight(self, spec: PodSpec) -> int:
        """Count the PreferNoSchedule taints that the pod does not tolerate."""
        tolerations = tuple(t for t in spec.tolerations if t.effect in ("", "PreferNoSchedule"))

        def count(taints: tuple[Taint, ...]) -> int:
            return sum(taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint) for taint in taints)

        return self.weights.judged(("taints", tolerations), lambda where: self._by_taints(where, count))

    def affinity_weight(self, spec: PodSpec) -> int:
        """Add the weights of the node preferences that match."""
        preferences = spec.node_preferences
        if not preferences:
            return 0

        readable = [wish for wish in preferences if _readable((wish.term,))]

        def weight(node: Node, labels: dict[str, str]) -> int:
            return sum(wish.weight for wish in readable if _holds(wish.term, node.name, labels))

        key = ("affinity", preferences)
        return self.weights.judged(key, lambda where: [weight(self.nodes[i], self.labels[i]) for i in where])

    def image_weight(self, spec: PodSpec) -> int:
        """Score 0..100 by how many bytes of the pod's images the node already has (upstream's ImageLocality)."""
        if self.images.is_empty:
            return 0
        containers = spec.init_containers + spec.containers
        images = [container.image for container in containers]
        images += [volume.name for volume in spec.volumes if volume.source == "image"]
        names = tuple(sorted(_normalized(image) for image in images))
        wanted = (names, len(containers))
        row = self.weights.index(("images", *wanted), lambda: self.images.weights(*wanted))
        self.image_rows[row] = wanted
        return row

    def _by_taints(self, where: Iterable[int], judge: Callable[[tuple[Taint, ...]], int]) -> list[int]:
        known: dict[tuple[Taint, ...], int] = {}
        found = []
        for position in where:
            taints = self.nodes[position].taints
            if taints not in known:
                known[taints] = judge(taints)
            found.append(known[taints])
        return found

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
                claim = self._objects.claims.get((spec.namespace, volume.name))
                bound = self._objects.volumes.get(claim.volume_name) if claim else None
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
