"""A cluster that changes: words about nodes and pods in, arrays that are up to date out. Pure: no clocks, no I/O.

At any moment the arrays mean what `encode` would make of the snapshot; rows of nodes and classes may stand in another
order. Pods of known classes on known nodes are counted in place, in microseconds; new classes, changed nodes
and readings are taken up by the next call of `encoded`; another set of nodes compiles everything again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from longshore.core.arrays.compiler import Compiler
from longshore.core.arrays.encode import Encoded, check_devices, encoded_by
from longshore.core.arrays.ops import Array
from longshore.core.arrays.population import PodClass, Population
from longshore.core.arrays.static import Parts
from longshore.core.arrays.typical import most_frequent
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.objects import Objects, Word
from longshore.core.words.pod import Owner, Pod, PodSpec
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
    TypicalPod,
)

_SPARE_BYTES = 24 << 20
"""How much the rows of classes that nobody asks about any more may take before all is compiled again."""
_SPARE_CLASSES = 1000
_CLAIM = "persistentVolumeClaim"


class LiveCluster:
    """A cluster as a watch tells it, one word after the other."""

    def __init__(self, parts: Parts = (), *, seed: int = 0, typical_pods: tuple[TypicalPod, ...] | None = None) -> None:
        """Start empty.

        Args:
            parts: of the filters that will be asked (`filters.static_parts`).
            seed: of the random ties and the random policy.
            typical_pods: what fragmentation is measured against; None = the pods that are there.
        """
        self._parts, self._given_typical = parts, typical_pods
        self.objects = Objects()
        """What constraints refer to; changed by `put_context` and `put_object`."""
        self._about = _About()
        self._seed, self._step, self._last_node = seed, 0, ""
        self.nodes: dict[str, Node] = {}
        """As they were put; read only."""
        self._readings: dict[str, NodeReadings] = {}
        self._population = Population()
        self._arrays: Compiler | None = None
        self._encoded: Encoded | None = None
        # What the arrays do not know yet.
        self._new_classes: dict[PodClass, None] = {}
        self._uncompiled: dict[PodClass, None] = {}
        self._new_nodes: dict[str, Node] = {}
        self._new_readings: dict[str, NodeReadings] = {}
        self._rebooked: dict[str, None] = {}
        self._has_new_kinds = False
        self._typical: tuple[TypicalPod, ...] = ()

    @property
    def pods(self) -> Mapping[str, Pod]:
        """All pods by key."""
        return self._population.pods

    def pods_on(self, node: str) -> Collection[Pod]:
        """Return the pods that are bound to a node, in the order in which they came."""
        return self._population.residents.get(node, {}).values()

    def put_node(self, node: Node) -> None:
        """Add a node, or take note that it changed. What `put_readings` said of it stays.

        Raises:
            InputError: it has more GPU devices than can be counted exactly; it is left as it was.
        """
        old = self.nodes.get(node.name)
        if old == node:
            return
        check_devices(node)
        self.nodes[node.name] = node
        if old is None:
            self._arrays = None
            return
        self._new_nodes[node.name] = node
        if old.readings != node.readings and node.name not in self._readings:
            self._new_readings[node.name] = node.readings

    def drop_node(self, name: str) -> None:
        """Take note that a node is gone; its pods stay known, and count again if it comes back."""
        if self.nodes.pop(name, None) is not None:
            self._arrays = None
            self._forget_empty(name)

    def put_pod(self, pod: Pod) -> Pod:
        """Add a pod, or take note that it changed; `bound_to` says where it is. Assumed pods are put as bound.

        Returns:
            The pod with the spec that all pods of its class share.
        """
        population, key = self._population, pod.key
        pod_class = population.class_of(pod.spec)
        old = population.pods.get(key)
        if old is not None:
            is_same_place = old.bound_to == pod.bound_to and old.gpu_devices == pod.gpu_devices
            if is_same_place and old.spec is pod_class.spec:
                pod = pod if pod.spec is old.spec else replace(pod, spec=old.spec)
                population.renew(pod)
                return pod
            self._remove(old)
        pod = population.put(pod, pod_class)
        self._note(pod_class, pod.bound_to, 1)
        if pod.bound_to and (old is None or not old.bound_to):
            self._step += 1
            self._last_node = pod.bound_to
        return pod

    def drop_pod(self, key: str) -> None:
        """Take note that a pod is gone."""
        pod = self._population.pods.get(key)
        if pod is not None:
            self._remove(pod)

    def put_context(
        self,
        *,
        namespaces: Iterable[Namespace] | None = None,
        services: Iterable[Service] | None = None,
        controllers: Iterable[Controller] | None = None,
        volumes: Iterable[PersistentVolume] | None = None,
        claims: Iterable[PersistentVolumeClaim] | None = None,
    ) -> None:
        """Take the objects that constraints refer to, all of a kind at once; None = as before."""
        objects = self.objects
        pairs: list[tuple[dict[Any, Any], Iterable[Word] | None]] = [
            (objects.namespaces, namespaces),
            (objects.services, services),
            (objects.controllers, controllers),
            (objects.volumes, volumes),
            (objects.claims, claims),
        ]
        for held, given in pairs:
            if given is not None:
                old, new = dict.fromkeys(held.values()), dict.fromkeys(given)
                for gone in [word for word in old if word not in new]:
                    self.put_object(gone, None)
                for came in [word for word in new if word not in old]:
                    self.put_object(None, came)

    def put_object(self, before: Word | None, after: Word | None) -> None:
        """Take another object in the place of one; None = there was none, or is none any more."""
        for word in (before, after):
            if word is not None:
                self._about.note(word)
        if before is not None:
            self.objects.drop(before)
        if after is not None:
            self.objects.put(after)

    def put_readings(self, readings: Mapping[str, NodeReadings]) -> None:
        """Take what was measured on nodes, by name; it stands until other readings come.

        Also of nodes that are not known: they may join later, or come back, and are not measured anew for that.
        """
        for name, measured in readings.items():
            node = self.nodes.get(name)
            if node is not None and self._readings.get(name, node.readings) != measured:
                self._new_readings[name] = measured
            self._readings[name] = measured
            if node is None:
                self._forget_empty(name)

    def readings_of(self, name: str) -> NodeReadings:
        """Return what counts of a node that is known: what was measured, else its annotations."""
        return self._readings.get(name, self.nodes[name].readings)

    def _forget_empty(self, name: str) -> None:
        """Forget a node that is gone and of which nothing is measured any more: names of nodes never end."""
        if self._readings.get(name) == NodeReadings():
            del self._readings[name]

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now; takes time by the number of pods."""
        nodes = (
            replace(node, readings=self._readings[node.name]) if node.name in self._readings else node
            for node in self.nodes.values()
        )
        return Snapshot(
            nodes=tuple(nodes),
            pods=tuple(self._population.pods.values()),
            typical_pods=self._given_typical,
            **self.objects.in_snapshot(),
        )

    def devices_of(self, key: str) -> tuple[int, ...] | None:
        """Return which GPUs of its node a pod holds, as they are booked; None where it holds none."""
        pod = self._population.pods.get(key)
        if pod is None or pod.spec.gpu is None:
            return None
        self.encoded()
        for other, held in self._book(pod.bound_to):
            if other is pod:
                return tuple(held.nonzero()[0].tolist())
        return None

    def encoded(self, waiting: Sequence[Pod] = ()) -> Encoded:
        """Return the arrays, up to date. The next change may write to them: copy the state for a trial.

        Args:
            waiting: pods that will be decided on, or that `class_of` will be asked about. Those that were put need
                not be named: all that are bound are known, and all that wait can be decided on.
        """
        wanted = [self._population.class_of(pod.spec) for pod in waiting]
        self._take_up_nodes()
        self._take_up_context()
        arrays = self._with_classes(wanted)
        for name in self._rebooked:
            self._book(name)
        self._rebooked.clear()
        self._take_up_kinds(arrays)
        arrays.set_progress(self._seed, self._step, arrays.rows.get(self._last_node, -1))
        current = arrays.arrays
        if self._encoded is None or self._encoded.arrays is not current:
            self._encoded = encoded_by(arrays, self)
        return self._encoded

    def _remove(self, pod: Pod) -> None:
        pod_class = self._population.classes[pod.spec]
        self._population.take(pod.key)
        self._note(pod_class, pod.bound_to, -1)

    def _note(self, pod_class: PodClass, node: str, sign: int) -> None:
        """Bring the arrays up to a pod that came (1) or went (-1), or note what they have to be told later."""
        self._has_new_kinds = True
        arrays = self._arrays
        if arrays is None:
            return
        if pod_class.index < 0:
            self._new_classes[pod_class] = None
        elif node in arrays.rows:
            arrays.shift(pod_class, arrays.rows[node], sign)
        if not node and sign > 0 and not pod_class.is_compiled:
            self._uncompiled[pod_class] = None
        if pod_class.spec.gpu is not None and node in arrays.rows:
            self._rebooked[node] = None

    def _take_up_nodes(self) -> None:
        arrays = self._arrays
        if arrays is not None:
            if self._new_nodes and not arrays.put_nodes(self._new_nodes):
                self._arrays = None
            else:
                arrays.put_readings(self._new_readings)
        self._new_nodes.clear()
        self._new_readings.clear()

    def _take_up_context(self) -> None:
        """Find out whom changed objects are about, and have these classes compiled again."""
        about, arrays = self._about, self._arrays
        if not about.is_something:
            return
        self._about = _About()
        if arrays is None:
            return
        if about.has_namespaces and arrays.reads_namespaces:
            self._arrays = None
            return
        self._recompile([one for one in arrays.classes if one.is_compiled and about.concerns(one.spec)])

    def _with_classes(self, wanted: Sequence[PodClass]) -> Compiler:
        """Return arrays in which every class is counted, and compiled where it waits or is wanted."""
        arrays = self._arrays
        news = list(dict.fromkeys([*self._new_classes, *(one for one in wanted if one.index < 0)]))
        if arrays is None or not all(map(arrays.has_columns_for, news)) or self._is_oversized(arrays):
            arrays = self._rebuilt(set(wanted))
        else:
            self._recompile(arrays.add(news))
        self._new_classes.clear()
        missing = dict.fromkeys(one for one in (*self._uncompiled, *wanted) if not one.is_compiled)
        arrays.compile(list(missing))
        self._uncompiled.clear()
        return arrays

    def _rebuilt(self, wanted: set[PodClass]) -> Compiler:
        """Compile everything again, without the classes that no pod has any more."""
        population = self._population
        for one in population.classes.values():
            one.index, one.is_compiled = -1, False
        population.forget_unused(wanted)
        classes = list(population.classes.values())
        nodes = list(self.nodes.values())
        measured = [self._readings.get(node.name, node.readings) for node in nodes]
        self._arrays = arrays = Compiler(
            self.objects, nodes, classes, self._parts, measured=measured, typical=self._typical
        )
        self._uncompiled = {one: None for one in classes if one.num_waiting}
        self._rebooked = {name: None for one in classes if one.spec.gpu for name in one.on_nodes}
        self._has_new_kinds = True
        return arrays

    def _is_oversized(self, arrays: Compiler) -> bool:
        if len(arrays.classes) > 2 * self._population.num_classes + _SPARE_CLASSES:
            return True
        return arrays.num_bytes > 2 * arrays.bytes_at_start + _SPARE_BYTES

    def _recompile(self, classes: Iterable[PodClass]) -> None:
        for one in classes:
            one.is_compiled = False
            if one.num_waiting:
                self._uncompiled[one] = None

    def _take_up_kinds(self, arrays: Compiler) -> None:
        """Find the typical pods again; without GPUs nothing can be fragmented, and there are none."""
        if not self._has_new_kinds:
            return
        self._has_new_kinds = False
        typical = self._given_typical
        if typical is None:
            typical = most_frequent(self._population.kinds) if self._population.num_gpu_pods else ()
        if typical != self._typical:
            self._typical = typical
            arrays.put_typical(typical)

    def _book(self, node: str) -> list[tuple[Pod, Array]]:
        if self._arrays is None or node not in self._arrays.rows:
            return []
        pods = self._population.gpu_pods_on(node)
        return list(zip(pods, self._arrays.book(self._arrays.rows[node], pods), strict=True))


@dataclass(slots=True)
class _About:
    """What changed among the objects that constraints refer to."""

    namespaces: set[str] = field(default_factory=set)
    """Of services."""
    owners: set[tuple[str, Owner]] = field(default_factory=set)
    claims: set[tuple[str, str]] = field(default_factory=set)
    has_volumes: bool = False
    has_namespaces: bool = False

    @property
    def is_something(self) -> bool:
        """Anything has changed."""
        return bool(self.namespaces or self.owners or self.claims or self.has_volumes or self.has_namespaces)

    def note(self, word: Word) -> None:
        """Take note of an object that came, went or is another now."""
        match word:
            case Namespace():
                self.has_namespaces = True
            case Service():
                self.namespaces.add(word.namespace)
            case Controller():
                self.owners.add((word.namespace, Owner(word.api_version, word.kind, word.name)))
            case PersistentVolume():
                self.has_volumes = True
            case PersistentVolumeClaim():
                self.claims.add((word.namespace, word.name))

    def concerns(self, spec: PodSpec) -> bool:
        """Say whether a class may have to be compiled again."""
        if spec.namespace in self.namespaces or (spec.owner and (spec.namespace, spec.owner) in self.owners):
            return True
        claims = [volume.name for volume in spec.volumes if volume.source == _CLAIM]
        return bool(claims) and (self.has_volumes or any((spec.namespace, name) in self.claims for name in claims))
