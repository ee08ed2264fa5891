"""From a trace to what is to be done in a cluster, in order: Deployments where pods come and go together, else Pods.

Pure. A ReplicaSet of the trace becomes a Deployment if its pods are alike and are only ever deleted all at once: no
controller could be told which of its pods has to go. Pods of other controllers are made one by one; a Service with
their controller's selector stands in for it, since schedulers spread the pods of a Service as those of a controller.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from longshore.core.words.pod import Owner, Pod
from longshore.core.words.snapshot import Controller, Service
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.workloads.apps import HASH_LABEL

_CLAIM = "persistentVolumeClaim"


class SetReplicas(NamedTuple):
    """Make a Deployment, or scale one that is there."""

    time: float
    deployment: str
    """`namespace/name`, in the trace's namespace."""
    replicas: int
    template: Pod
    """What its pods look like; the owner is the trace's ReplicaSet."""
    is_new: bool


class DropDeployment(NamedTuple):
    """Delete a Deployment with its pods."""

    time: float
    deployment: str


Action = SetReplicas | DropDeployment | Create | Delete | NodeFail | NodeDrain | NodeJoin | LatencyChange
"""Create and Delete are about single pods."""

Home = tuple[str, Owner]
"""A controller: its namespace and what pods call it."""


@dataclass(frozen=True)
class WorkloadPlan:
    """What is to be done, and what is there before it."""

    actions: tuple[Action, ...]
    services: tuple[Service, ...] = ()
    selectors: Mapping[str, Controller] | None = None
    """The ReplicaSet of every Deployment, by `namespace/name`."""
    remarks: tuple[str, ...] = ()
    """What is not done, in sentences."""


def make_plan(trace: Trace, *, has_own_nodes: bool, shows_latency: bool, has_deployments: bool = True) -> WorkloadPlan:
    """Say what is to be done for a trace.

    Args:
        trace: what is to happen.
        has_own_nodes: the trace's nodes are made, too; otherwise the cluster's nodes are not touched.
        shows_latency: somebody is told about latencies: by the nodes' annotations, or by a file of readings.
        has_deployments: make Deployments where that is possible; otherwise every pod is a single one.
    """
    controllers = {(one.namespace, Owner(one.api_version, one.kind, one.name)): one for one in trace.controllers}
    events, remarks = _possible(trace, has_own_nodes=has_own_nodes, shows_latency=shows_latency)
    homes = _deployable(events, controllers) if has_deployments else []
    names = _deployment_names(homes, controllers)
    actions = tuple(_actions(events, names))
    bare = {_home(action.pod) for action in actions if isinstance(action, Create)}
    stand_ins = (_stand_in(controllers[home]) for home in bare if home in controllers)
    return WorkloadPlan(
        actions=actions,
        services=(*trace.services, *sorted(one for one in stand_ins if one is not None)),
        selectors={names[home]: controllers[home] for home in homes},
        remarks=remarks,
    )


def _possible(
    trace: Trace, *, has_own_nodes: bool, shows_latency: bool
) -> tuple[list[Create | Delete | NodeFail | NodeDrain | NodeJoin | LatencyChange], tuple[str, ...]]:
    """Leave out what cannot be done, and say so."""
    dropped, num_nodes, num_latency = set(), 0, 0
    kept: list[Create | Delete | NodeFail | NodeDrain | NodeJoin | LatencyChange] = []
    for event in trace.events:
        match event:
            case Create(pod=pod) if any(volume.source == _CLAIM for volume in pod.spec.volumes):
                dropped.add(pod.key)
            case Delete(pod=key) if key in dropped:
                pass
            case NodeFail() | NodeDrain() | NodeJoin() if not has_own_nodes:
                num_nodes += 1
            case LatencyChange() if not shows_latency:
                num_latency += 1
            case _:
                kept.append(event)
    remarks = []
    if dropped:
        remarks.append(f"{len(dropped)} pods with volume claims are left out: their volumes would have to be made")
    if num_nodes:
        remarks.append(
            f"{num_nodes} events of nodes (fail, drain, join) are skipped: the cluster's nodes are not touched; "
            "`--make-nodes` on a cluster of `longshore cluster` makes nodes that can be"
        )
    if num_latency:
        remarks.append(
            f"{num_latency} changes of latencies are skipped: nobody would hear of them; `--readings FILE` writes them "
            "for `longshore schedule --readings FILE`"
        )
    return kept, tuple(remarks)


def _home(pod: Pod) -> Home | None:
    return None if pod.spec.owner is None else (pod.namespace, pod.spec.owner)


def _deployable(events: Iterable[Action], controllers: Mapping[Home, Controller]) -> list[Home]:
    """Return the ReplicaSets whose pods are alike and leave together, in the order in which they come."""
    template: dict[Home, Pod] = {}
    alive: dict[Home, set[str]] = {}
    leaving: dict[Home, float] = {}
    home_of: dict[str, Home] = {}
    refused: set[Home] = set()
    for event in events:
        if isinstance(event, Create):
            home = _home(event.pod)
            if home is None:
                continue
            home_of[event.pod.key] = home
            nameless = replace(event.pod, name="", uid="")
            is_alike = template.setdefault(home, nameless) == nameless
            is_partly_left = bool(alive.get(home)) and home in leaving
            is_plain = event.lifetime is None and not event.pod.spec.node_name
            if home not in controllers or home[1].kind != "ReplicaSet" or not (is_alike and is_plain) or is_partly_left:
                refused.add(home)
            alive.setdefault(home, set()).add(event.pod.key)
            leaving.pop(home, None)
        elif isinstance(event, Delete) and event.pod in home_of:
            home = home_of[event.pod]
            if leaving.setdefault(home, event.time) != event.time:
                refused.add(home)
            alive[home].discard(event.pod)
    refused |= {home for home in leaving if alive[home]}
    return [home for home in template if home not in refused]


def _deployment_names(homes: Sequence[Home], controllers: Mapping[Home, Controller]) -> dict[Home, str]:
    """Name Deployments as their ReplicaSets without the hash, or in full where two would share a name."""
    short = {home: f"{home[0]}/{_without_hash(controllers[home])}" for home in homes}
    taken = list(short.values())
    return {home: name if taken.count(name) == 1 else f"{home[0]}/{home[1].name}" for home, name in short.items()}


def _without_hash(controller: Controller) -> str:
    requirements = controller.selector.requirements if controller.selector is not None else ()
    for requirement in requirements:
        suffix = f"-{requirement.values[0]}" if requirement.key == HASH_LABEL and requirement.values else ""
        if suffix and controller.name.endswith(suffix):
            return controller.name.removesuffix(suffix)
    return controller.name


def _actions(events: Iterable[Action], names: Mapping[Home, str]) -> list[Action]:
    found: list[Action] = []
    replicas: dict[str, int] = {}
    last: dict[str, int] = {}
    deployment_of: dict[str, str] = {}
    for event in events:
        home = _home(event.pod) if isinstance(event, Create) else None
        if isinstance(event, Create) and home is not None and home in names:
            name = names[home]
            deployment_of[event.pod.key] = name
            before = replicas.get(name, 0)
            replicas[name] = before + 1
            place = last.get(name)
            earlier = found[place] if place is not None else None
            if isinstance(earlier, SetReplicas) and earlier.time == event.time:
                found[place or 0] = earlier._replace(replicas=before + 1)
            else:
                last[name] = len(found)
                found.append(SetReplicas(event.time, name, before + 1, event.pod, is_new=before == 0))
        elif isinstance(event, Delete) and event.pod in deployment_of:
            name = deployment_of[event.pod]
            if replicas.pop(name, 0):
                last.pop(name, None)
                found.append(DropDeployment(event.time, name))
        else:
            found.append(event)
    return found


def _stand_in(controller: Controller) -> Service | None:
    """Return a Service that selects the controller's pods; None where a Service cannot."""
    requirements = controller.selector.requirements if controller.selector is not None else ()
    if not requirements or any(one.operator != "In" or len(one.values) != 1 for one in requirements):
        return None
    selector = tuple(sorted((one.key, one.values[0]) for one in requirements))
    return Service(controller.namespace, controller.name, selector)
