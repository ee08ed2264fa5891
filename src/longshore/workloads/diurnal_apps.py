"""The applications of `diurnal`: plain ones, and ones with traits that between them use every filter.

A trait is a small group of fields of the pod's spec. Traits are handed out in turn, so that a dozen applications with
traits are enough for all. Traits with which few pods fit (one to a node, all in one zone) make an application rare.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from longshore.core.arrays.queries import HOSTNAME_KEY, ZONE_KEY
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import (
    AffinityTerm,
    HostPort,
    NodePreference,
    NodeSelectorTerm,
    SpreadConstraint,
    Toleration,
    WeightedAffinityTerm,
)
from longshore.core.words.snapshot import Namespace, Service
from longshore.workloads.apps import App, draw_sizes, make_app
from longshore.workloads.diurnal_nodes import DEDICATED_KEY, DISK_KEY, GENERATION_KEY
from longshore.workloads.draw import Draw

NAMESPACES = (
    Namespace("default"),
    Namespace("shop", (("team", "shop"),)),
    Namespace("batch", (("team", "data"),)),
)
LOUD = ("noise", "loud")
"""A label of some plain applications, which quiet ones keep away from."""
SOFT_LIMIT_MS, HARD_LIMIT_MS = 15.0, 30.0
_FIRST_HOST_PORT = 30000


class Trait(NamedTuple):
    """A way for an application to be special."""

    name: str
    fields: Callable[[str], Mapping[str, Any]]
    """From the application's name to arguments of `make_app`."""
    is_rare: bool = False
    """Few of its pods fit at once."""


def own(name: str) -> Selector:
    """Select the application's own pods."""
    return Selector((Requirement("app", "In", (name,)),))


def _near_own_zone(name: str) -> Mapping[str, Any]:
    return {"affinity": (AffinityTerm(ZONE_KEY, own(name)),)}


def _one_per_node(name: str) -> Mapping[str, Any]:
    return {"anti_affinity": (AffinityTerm(HOSTNAME_KEY, own(name)),)}


def _away_from_loud(_: str) -> Mapping[str, Any]:
    loud = Selector((Requirement(LOUD[0], "In", (LOUD[1],)),))
    return {"anti_affinity": (AffinityTerm(HOSTNAME_KEY, loud, namespace_selector=Selector()),)}


def _rather_together(name: str) -> Mapping[str, Any]:
    other_teams = Selector((Requirement("team", "Exists"),))
    loud = Selector((Requirement(LOUD[0], "Exists"),))
    return {
        "preferred_affinity": (WeightedAffinityTerm(60, AffinityTerm(ZONE_KEY, own(name))),),
        "preferred_anti_affinity": (
            WeightedAffinityTerm(40, AffinityTerm(HOSTNAME_KEY, loud, namespace_selector=other_teams)),
        ),
    }


def _ssd(_: str) -> Mapping[str, Any]:
    return {"node_selector": ((DISK_KEY, "ssd"),)}


def _new_machines(_: str) -> Mapping[str, Any]:
    new = NodeSelectorTerm((Requirement(GENERATION_KEY, "Gt", ("5",)),))
    near = NodeSelectorTerm((Requirement(ZONE_KEY, "In", ("zone-a", "zone-b")),))
    small = NodeSelectorTerm((Requirement("node.kubernetes.io/instance-type", "NotIn", ("large",)),))
    return {"node_affinity": (new, near), "node_preferences": (NodePreference(50, small),)}


def _batch(_: str) -> Mapping[str, Any]:
    dedicated = NodeSelectorTerm((Requirement(DEDICATED_KEY, "Exists"),))
    return {
        "namespace": "batch",
        "tolerations": (Toleration(DEDICATED_KEY, "Equal", "batch", "NoSchedule"),),
        "node_preferences": (NodePreference(100, dedicated),),
    }


def _even_zones(name: str) -> Mapping[str, Any]:
    return {"spread": (SpreadConstraint(2, ZONE_KEY, True, own(name), honors_taints=True),)}


def _even_nodes(name: str) -> Mapping[str, Any]:
    rather = SpreadConstraint(1, ZONE_KEY, False, own(name))
    return {"spread": (SpreadConstraint(3, HOSTNAME_KEY, True, own(name), min_domains=2), rather)}


def _rather_even(name: str) -> Mapping[str, Any]:
    return {"namespace": "shop", "spread": (SpreadConstraint(1, HOSTNAME_KEY, False, own(name)),)}


def _host_port(name: str) -> Mapping[str, Any]:
    # Its own port by its number, so that only pods of one application are in each other's way.
    return {"ports": (HostPort(_FIRST_HOST_PORT + int(name.rpartition("-")[2])),)}


def _near_users(_: str) -> Mapping[str, Any]:
    return {"latency_soft_ms": SOFT_LIMIT_MS, "latency_hard_ms": HARD_LIMIT_MS}


TRAITS = (
    Trait("near users", _near_users),
    Trait("ssd", _ssd),
    Trait("batch", _batch),
    Trait("even zones", _even_zones),
    Trait("one per node", _one_per_node, is_rare=True),
    Trait("new machines", _new_machines),
    Trait("near its own", _near_own_zone, is_rare=True),
    Trait("away from loud", _away_from_loud, is_rare=True),
    Trait("host port", _host_port, is_rare=True),
    Trait("even nodes", _even_nodes),
    Trait("rather together", _rather_together),
    Trait("rather even", _rather_even),
)


def make_apps(draw: Draw, count: int, constrained_share: float) -> tuple[tuple[App, ...], tuple[int, ...]]:
    """Make the applications and name, by position, those that must stay rare."""
    apps, rare, used = [], [], 0
    for number, size in enumerate(draw_sizes(draw, count)):
        name = f"app-{number:03d}"
        fields: Mapping[str, Any] = {"labels": dict([LOUD])} if number % 4 == 3 else {}
        # Evenly spaced by the share: 0.4 makes the 3rd, 5th, 8th, 10th … application a special one.
        if int((number + 1) * constrained_share) > int(number * constrained_share):
            trait = TRAITS[used % len(TRAITS)]
            fields = trait.fields(name)
            rare += [number] if trait.is_rare else []
            used += 1
        apps.append(make_app(name, **size._asdict(), **fields))
    return tuple(apps), tuple(rare)


def limit_rare(apps: tuple[App, ...], rare: tuple[int, ...], most_share: float) -> tuple[App, ...]:
    """Make rare applications no more frequent than this share of all pods."""
    most = most_share * sum(app.weight for app in apps)
    return tuple(
        replace(app, weight=min(app.weight, most)) if number in rare else app for number, app in enumerate(apps)
    )


def make_services(apps: tuple[App, ...]) -> tuple[Service, ...]:
    """Put a service in front of every third application."""
    return tuple(
        Service(app.spec.namespace, dict(app.spec.labels)["app"], (("app", dict(app.spec.labels)["app"]),))
        for app in apps[::3]
    )
