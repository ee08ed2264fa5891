"""What depends only on the pod's class and the node: rows of masks and of raw score weights.

Filters say what they ask of a node (`Demand`), and every distinct demand becomes a row of the masks. Equal rows are
stored once: thousands of classes share a handful of toleration sets and node selectors.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.node_images import NodeImages
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import LongshoreError
from longshore.core.words.labels import Requirement, is_parsable
from longshore.core.words.node import Node, Taint
from longshore.core.words.objects import Objects
from longshore.core.words.pod import NodeSelectorTerm, PodSpec, Toleration

# Only these keep a pod away; upstream passes over effects that it does not know.
_REJECTING = ("NoSchedule", "NoExecute")
_KEPT_TAINTS = 256
"""Sets of taints for which a toleration set's answer is kept."""

Judge = Callable[[Iterable[int]], list[int]]
"""(positions of nodes) -> a value for each."""


class Demand(NamedTuple):
    """What pods of a class ask of a node, whatever runs there and elsewhere."""

    key: Hashable
    """Equal for classes that ask for the same."""
    is_met: Callable[[Node, Mapping[str, str]], bool]
    """(node, its labels) -> whether it is as asked for. What is measured on a node is not in these words."""


Ask = Callable[[PodSpec, Objects], Demand | None]
"""(spec, what it may refer to) -> what a class asks of a node, None = nothing. Of the objects it reads services of the
pod's namespace, its owner, and its claims and their volumes: of other changes a live cluster does not tell."""


@dataclass(frozen=True)
class StaticPart:
    """What of a filter is compiled to a row of masks for every class."""

    filter: str
    ask: Ask

    def mask(self, arrays: ClusterArrays, pod_class: Array) -> Array:
        """Return where a class is given what it asks for [nodes]; with several classes [classes, nodes]."""
        rows = arrays.classes.static_masks.get(self.filter)
        if rows is None:
            raise LongshoreError(
                f"the cluster was compiled without the static part of the filter `{self.filter}`",
                "give `encode` or `LiveCluster` what `longshore.filters.static_parts()` returns",
            )
        return arrays.tables.masks[rows[pod_class]]


Parts = Sequence[StaticPart]


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

    def __init__(
        self, nodes: Iterable[Node], objects: Objects, parts: Parts = (), *, merges_equal: bool = True
    ) -> None:
        """Take the cluster and the filters' parts; `merges_equal` as of `RowTable`.

        Claims and volumes may change: classes that use one must be compiled again then.
        """
        self.parts, self.nodes = tuple(parts), list(nodes)
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

    def mask(self, ask: Ask, spec: PodSpec) -> int:
        """Return the row of masks of what a class asks for."""
        demand = ask(spec, self._objects)
        if demand is None:
            return 0
        nodes, labels, is_met = self.nodes, self.labels, demand.is_met
        return self.masks.judged((ask, demand.key), lambda where: [is_met(nodes[i], labels[i]) for i in where])

    def taint_weight(self, spec: PodSpec) -> int:
        """Count the PreferNoSchedule taints that the pod does not tolerate."""
        tolerations = tuple(t for t in spec.tolerations if t.effect in ("", "PreferNoSchedule"))
        nodes = self.nodes

        @lru_cache(_KEPT_TAINTS)
        def count(taints: tuple[Taint, ...]) -> int:
            return sum(taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint) for taint in taints)

        return self.weights.judged(("taints", tolerations), lambda where: [count(nodes[i].taints) for i in where])

    def affinity_weight(self, spec: PodSpec) -> int:
        """Add the weights of the node preferences that match."""
        preferences = spec.node_preferences
        if not preferences:
            return 0

        nodes, node_labels = self.nodes, self.labels
        readable = [wish for wish in preferences if readable_terms((wish.term,))]

        def weight(node: Node, labels: dict[str, str]) -> int:
            return sum(wish.weight for wish in readable if term_holds(wish.term, node.name, labels))

        key = ("affinity", preferences)
        return self.weights.judged(key, lambda where: [weight(nodes[i], node_labels[i]) for i in where])

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


def untainted(spec: PodSpec, _objects: Objects) -> Demand:
    """Ask for no NoSchedule or NoExecute taint that the pod does not tolerate."""

    @lru_cache(_KEPT_TAINTS)
    def is_tolerated(taints: tuple[Taint, ...]) -> bool:
        return all(taint.effect not in _REJECTING or tolerates(spec.tolerations, taint) for taint in taints)

    return Demand(spec.tolerations, lambda node, _labels: is_tolerated(node.taints))


def selected(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for what the node selector and the required node affinity say."""
    if not spec.node_selector and spec.node_affinity is None:
        return None
    wanted, terms = spec.node_selector, spec.node_affinity
    readable, names = readable_terms(terms or ()), named_nodes(spec)

    def is_met(node: Node, labels: Mapping[str, str]) -> bool:
        if names is not None and node.name not in names:
            return False  # a pod of a DaemonSet: one look at each of thousands of nodes
        if any(labels.get(key) != value for key, value in wanted):
            return False
        return terms is None or any(term_holds(term, node.name, labels) for term in readable)

    return Demand((wanted, terms), is_met)


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


def find_unparsable_in(term: NodeSelectorTerm) -> Requirement | None:
    """Return the first requirement of a term that upstream cannot read, None if it can read them all."""
    for requirement in term.expressions:
        if not is_parsable(requirement):
            return requirement
    for field in term.fields:
        if len(field.values) != 1 or field.operator not in ("In", "NotIn"):
            return field
    return None


def readable_terms(terms: Sequence[NodeSelectorTerm]) -> list[NodeSelectorTerm]:
    """Leave out the terms that match nothing, on whatever node."""
    return [term for term in terms if (term.expressions or term.fields) and find_unparsable_in(term) is None]


def term_holds(term: NodeSelectorTerm, node_name: str | None, labels: Mapping[str, str]) -> bool:
    """Match one node selector term that can be read; without a node's name, conditions on fields are passed over."""
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


def _normalized(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
