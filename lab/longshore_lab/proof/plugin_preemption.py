"""Pods of a higher priority on full nodes, placed by kube-scheduler with the plugin: who has to go, and who never does.

Preemption is upstream's; the proof is that ranking by a bundle, and our own filter, leave it as it is. Pods differ in
CPU and priority alone, so that what is right can be worked out here in a few lines.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore_lab.cluster import LocalCluster
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.live_case import LiveCase
from longshore_lab.proof.pod_watch import PodWatch, watching
from longshore_lab.proof.stage import Stage

Json = dict[str, Any]
Running = dict[str, dict[str, tuple[int, int]]]
"""By node and pod: CPU in milli, and priority."""
NODE_MILLIS = 4000
PRIORITIES = (-10, 0, 100, 1000)
_NAMESPACE = "default"
_NEWCOMER = "newcomer"
_SETTLE_SECONDS = 0.3
_ANSWER_SECONDS = 30.0


@dataclass(frozen=True)
class Newcomer:
    """The pod to place."""

    millis: int
    priority: int
    may_preempt: bool


@dataclass
class PreemptionResult:
    """The outcome of a run."""

    cases: int = 0
    fitted: int = 0
    """The pod had room as it was."""
    preempted: int = 0
    """Others had to go for it."""
    pending: int = 0
    """It may not, or could not, preempt."""
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0


def victims_on(pods: dict[str, tuple[int, int]], new: Newcomer) -> list[str] | None:
    """Return who has to leave a node, as upstream picks them: of those with a lower priority, the highest stay first.

    None: not even without all of them would the pod fit.
    """
    free = NODE_MILLIS - new.millis - sum(millis for millis, priority in pods.values() if priority >= new.priority)
    if free < 0:
        return None
    gone = []
    lower = [(name, *pod) for name, pod in pods.items() if pod[1] < new.priority]
    for name, millis, _priority in sorted(lower, key=lambda pod: -pod[2]):
        if millis <= free:
            free -= millis
        else:
            gone.append(name)
    return gone


def violation(running: Running, new: Newcomer, node: str | None, gone: set[str]) -> str | None:
    """Say what is wrong with where the pod went and who had to go for it; None = nothing."""
    found = {name: victims_on(pods, new) for name, pods in running.items()}
    fits = {name for name, victims in found.items() if victims == []}
    highest = {name: max(running[name][pod][1] for pod in victims) for name, victims in found.items() if victims}
    seen = f"{new} on {running}: got {node}, gone {sorted(gone)}"
    if fits:
        return None if node in fits and not gone else f"there is room on {sorted(fits)}; {seen}"
    if not new.may_preempt or not highest:
        return None if node is None and not gone else f"nobody may go; {seen}"
    if node not in highest or highest[node] > min(highest.values()):
        return f"those of the lowest priority go first; {seen}"
    if not gone <= running[node].keys() or max((running[node][name][1] for name in gone), default=0) != highest[node]:
        return f"the wrong ones had to go; {seen}"
    # Of equal priority any may stay: not who goes is compared, but that none of them could have stayed.
    left = NODE_MILLIS - new.millis - sum(millis for name, (millis, _) in running[node].items() if name not in gone)
    if left < 0 or any(running[node][name][0] <= left for name in gone):
        return f"too many or too few had to go; {seen}"
    return None


async def prove_preemption(
    cluster: LocalCluster, bundle: Path, cases: int, seed: int, progress: Callable[[int, int], None]
) -> PreemptionResult:
    """Run random cases; `cluster` is one without controllers, and without another scheduler."""
    started, result = time.perf_counter(), PreemptionResult()
    draw = random.Random(f"preemption:{seed}")
    plugin = PluginProcess(cluster)
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        for path, content in _surroundings():
            await api.create_all(client, [(path, content)])
        try:
            await plugin.start({"modelPath": str(bundle.resolve()), "envelopeTolerance": 1, "deadline": "5s"})
            for index in range(cases):
                running, new = draw_case(draw)
                node, gone = await _place(Stage(client), watch, index, running, new)
                result.cases += 1
                result.pending += node is None
                result.preempted += bool(gone)
                result.fitted += node is not None and not gone
                wrong = violation(running, new, node, gone)
                result.violations += [wrong] if wrong else []
                progress(result.cases, len(result.violations))
        finally:
            plugin.stop()
    result.seconds = time.perf_counter() - started
    return result


def draw_case(draw: random.Random) -> tuple[Running, Newcomer]:
    """Draw full nodes and a pod."""
    running: Running = {}
    for number in range(draw.randint(1, 6)):
        pods: dict[str, tuple[int, int]] = {}
        free = NODE_MILLIS - draw.choice((0, 0, 0, 500, 1500))
        while free > 0:
            millis = min(free, draw.choice((500, 1000, 1500, 2000)))
            pods[f"p-{number}-{len(pods)}"] = (millis, draw.choice(PRIORITIES))
            free -= millis
        running[f"n-{number}"] = pods
    new = Newcomer(draw.choice((500, 1000, 2000, 3000, 4000)), draw.choice(PRIORITIES), draw.random() < 0.85)
    return running, new


async def _place(
    stage: Stage, watch: PodWatch, index: int, running: Running, new: Newcomer
) -> tuple[str | None, set[str]]:
    """Put a case there and give the pod to the scheduler; return its node, and who is gone."""
    objects = [_node(name) for name in running]
    objects += [_pod(name, *pod, node=node) for node, pods in running.items() for name, pod in pods.items()]
    newcomer = _pod(_NEWCOMER, new.millis, new.priority, never=not new.may_preempt)
    try:
        await stage.put(LiveCase(index, newcomer, objects, [], []))
        await asyncio.sleep(_SETTLE_SECONDS)
        created = await stage.create(newcomer)
        uid = created["metadata"]["uid"]

        def is_over() -> bool:
            # While victims go, the condition says that the pod waits, too; then it names the node that is kept for it.
            seen = watch.sightings.get(uid)
            return seen is not None and bool(seen.nodes or (seen.message and _may_not_come(running, new)))

        if not await watch.until(is_over, _ANSWER_SECONDS) and uid not in watch.sightings:
            raise LongshoreError(f"nothing was said about the pod of {running}")
        if not watch.sightings[uid].nodes:
            await asyncio.sleep(_SETTLE_SECONDS)  # whoever would have to go would go now
        names = {item["metadata"]["name"] for item in await stage.read() if item["kind"] == "Pod"}
        await stage.remove(created)
        nodes = watch.sightings[uid].nodes
        return (nodes[0] if nodes else None), {name for pods in running.values() for name in pods} - names
    finally:
        await stage.clear()


def _may_not_come(running: Running, new: Newcomer) -> bool:
    found = [victims_on(pods, new) for pods in running.values()]
    return [] not in found and (not new.may_preempt or not any(found))


def _surroundings() -> list[tuple[str, Json]]:
    found: list[tuple[str, Json]] = [
        (
            f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts",
            {"kind": "ServiceAccount", "metadata": {"name": "default"}},
        )
    ]
    for number in PRIORITIES:
        for never in (False, True):
            policy = "Never" if never else "PreemptLowerPriority"
            content = {"metadata": {"name": _class(number, never=never)}, "value": number, "preemptionPolicy": policy}
            found.append(("/apis/scheduling.k8s.io/v1/priorityclasses", content))
    return found


def _class(priority: int, *, never: bool) -> str:
    return f"preemption-{'minus-' if priority < 0 else ''}{abs(priority)}{'-never' if never else ''}"


def _node(name: str) -> Json:
    room = {"cpu": f"{NODE_MILLIS}m", "memory": "64Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _pod(name: str, millis: int, priority: int, *, node: str = "", never: bool = False) -> Json:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{millis}m"}}}
    spec = {
        "schedulerName": "longshore",
        "priorityClassName": _class(priority, never=never),
        "terminationGracePeriodSeconds": 0,  # nobody runs it, so nobody would say that it has ended
        "automountServiceAccountToken": False,
        "containers": [container],
        **({"nodeName": node} if node else {}),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": _NAMESPACE}, "spec": spec}
