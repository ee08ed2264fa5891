"""Nodes in the zone and region of the pod's bound volumes."""

from collections.abc import Mapping

from longshore.core.arrays.static import Demand
from longshore.core.words.happening import Happening
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import by_node

_ZONE_KEYS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
_STABLE_KEY = {_ZONE_KEYS[0]: _ZONE_KEYS[2], _ZONE_KEYS[1]: _ZONE_KEYS[3]}


def ask(spec: PodSpec, objects: Objects) -> Demand | None:
    """Ask for a node where all bound volumes can be used."""
    labels = [dict(volume.labels) for volume in objects.bound_volumes(spec)]
    pairs = ((key, _zones(each[key])) for each in labels for key in _ZONE_KEYS if key in each)
    topology = tuple((key, zones) for key, zones in pairs if zones is not None)
    return Demand(topology, lambda _node, labels: _is_in_zone(topology, labels)) if topology else None


def _zones(label: str) -> frozenset[str] | None:
    """Split `a__b`; a label with an empty part is ignored, as upstream ignores it."""
    zones = [zone.strip() for zone in label.split("__")]
    return frozenset(zones) if all(zones) else None


def _is_in_zone(topology: tuple[tuple[str, frozenset[str]], ...], labels: Mapping[str, str]) -> bool:
    if not any(key in labels for key in _ZONE_KEYS):
        return True  # a cluster without zones
    for key, zones in topology:
        value = labels.get(key)
        if value is None:
            value = labels.get(_STABLE_KEY.get(key, key))
        if value is None or value not in zones:
            return False
    return True


_CHANGES = Happening.NODE_LABELS | Happening.STORAGE
FILTER = by_node("VolumeZone", ask, "node(s) had no available volume zone", _CHANGES)
