"""An API server in memory for tests of the live loop: it binds, refuses, forgets to answer, and records every request.

It stands in for `kube.client.Client`, so that what is written is written by the real code. Changes reach the scheduler
as batches, as the reflectors deliver them: at once, later (`hold_watch`), or never (`watches_pods`). Requests take the
time that `latency` says, and fail once (`fail`) or always (`always`).
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from longshore.kube.errors import ApiError, Conflict, NotFound, Unreachable
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import DISRUPTION_BUDGETS, NODES, PODS, RESOURCES, Resource

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Rule:
    """What is answered to some requests."""

    method: str
    part: str
    """Of the path."""
    error: BaseException | None
    takes_effect: bool


class FakeApi:
    """Holds nodes and pods, and answers the requests of a scheduler."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Json]] = {resource.kind: {} for resource in RESOURCES}
        self.requests: list[tuple[str, str]] = []
        self.events: list[Json] = []
        self.deliver: Callable[[WatchBatch], None] | None = None
        self.watches_pods = True
        """False: what happens to pods is not told, as by a watch that hangs."""
        self.faults: list[tuple[str, ApiError, bool]] = []
        """(part of the path, error, whether the request takes effect all the same), used up one by one."""
        self.gate: asyncio.Event | None = None
        """While set and not opened, bindings wait."""
        self.rules: list[Rule] = []
        """What is answered for as long as the rule stands."""
        self.latency: Callable[[str, str], float] = lambda method, path: 0.0
        """Seconds that a request takes, half of them before it takes effect."""
        self.at_once = self.most_at_once = 0
        """Requests under way, now and at the most."""
        self.bindings: Counter[str] = Counter()
        """Bindings that took effect, by the pod's UID."""
        self._held: deque[WatchBatch] | None = None
        self._version = 0
        self._uid = 0

    # What tests do.

    def put(self, resource: Resource, obj: Json) -> Json:
        """Create or change an object."""
        meta = obj.setdefault("metadata", {})
        if resource.is_namespaced:
            meta.setdefault("namespace", "default")
        key = self.key(meta)
        kind = "MODIFIED" if key in self.objects[resource.kind] else "ADDED"
        if not meta.get("uid"):
            self._uid += 1
            meta["uid"] = f"uid-{self._uid}"
        self._version += 1
        meta["resourceVersion"] = str(self._version)
        self.objects[resource.kind][key] = obj
        self._tell(resource, kind, obj)
        return obj

    def drop(self, resource: Resource, key: str) -> None:
        """Delete an object."""
        obj = self.objects[resource.kind].pop(key)
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self._tell(resource, "DELETED", obj)

    def node(self, name: str, cpu: str = "4", pods: str = "110", **spec: Any) -> Json:
        """Create or change a node."""
        amounts = {"cpu": cpu, "memory": "16Gi", "pods": pods}
        status = {"allocatable": amounts, "capacity": amounts}
        labels = {"kubernetes.io/hostname": name}
        return self.put(NODES, {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})

    def pod(self, name: str, cpu: str = "1", node: str = "", priority: int = 0, **more: Any) -> Json:
        """Create a pod of ours; `more` are fields of its spec, and `labels`."""
        metadata = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": more.pop("labels", {})}
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        spec = {"schedulerName": "longshore", "priority": priority, "containers": [container], **more}
        if node:
            spec["nodeName"] = node
        return self.put(PODS, {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})

    def budget(self, name: str, labels: dict[str, str], allowed: int) -> None:
        """Create a PodDisruptionBudget."""
        status = {"disruptionsAllowed": allowed}
        self.put(
            DISRUPTION_BUDGETS,
            {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}}, "status": status},
        )

    def fail(self, path: str, error: ApiError, *, takes_effect: bool = False) -> None:
        """Answer the next request whose path has this part with an error."""
        self.faults.append((path, error, takes_effect))

    def always(self, method: str, part: str, error: BaseException | None, *, takes_effect: bool = False) -> "Rule":
        """Answer all such requests with an error until the rule is removed; None = they hang."""
        rule = Rule(method, part, error, takes_effect)
        self.rules.append(rule)
        return rule

    def hold_watch(self) -> None:
        """Keep what the watch has to say until `release_watch`: answers come first from now on."""
        self._held = self._held or deque()

    def release_watch(self, count: int | None = None) -> None:
        """Deliver what was held, the oldest first; all of it = from now on at once again."""
        assert self.deliver is not None
        for _ in range(len(self._held or ()) if count is None else min(count, len(self._held or ()))):
            assert self._held is not None
            self.deliver(self._held.popleft())
        if count is None:
            self._held = None

    def start(self, deliver: Callable[[WatchBatch], None]) -> None:
        """Deliver all lists, and from then on every change."""
        for resource in RESOURCES:
            deliver(WatchBatch(resource, Stage.LIST_BEGINS))
            events = [Event("ADDED", _decode(resource, obj)) for obj in self.objects[resource.kind].values()]
            deliver(WatchBatch(resource, Stage.LIST, events))
            deliver(WatchBatch(resource, Stage.LIST_ENDS, resource_version=str(self._version)))
        self.deliver = deliver

    # What tests look at.

    def get(self, name: str) -> Json | None:
        """Return a pod of the default namespace."""
        return self.objects["Pod"].get(f"default/{name}")

    def node_of(self, name: str) -> str:
        """Return where a pod is bound; empty = nowhere."""
        pod = self.get(name)
        return "" if pod is None else pod["spec"].get("nodeName", "")

    def condition(self, name: str, kind: str = "PodScheduled") -> Json | None:
        """Return a condition of a pod."""
        pod = self.get(name) or {}
        return next((c for c in pod.get("status", {}).get("conditions", []) if c["type"] == kind), None)

    def events_of(self, name: str) -> list[tuple[str, str]]:
        """Return reason and note of the events about a pod."""
        return [(event["reason"], event["note"]) for event in self.events if event["regarding"]["name"] == name]

    def count(self) -> Counter[str]:
        """Count requests by what they were about."""
        return Counter(f"{method} {path.rpartition('/')[2]}" for method, path in self.requests)

    # What the scheduler calls: `kube.client.Client.request`.

    async def request(
        self, method: str, path: str, *, body: Any = None, timeout_seconds: float = 30.0, **_: Any
    ) -> bytes:
        """Answer a request."""
        self.requests.append((method, path))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._request(method, path, body, timeout_seconds)
        finally:
            self.at_once -= 1

    async def _request(self, method: str, path: str, body: Any, timeout_seconds: float) -> bytes:
        seconds = self.latency(method, path)
        await asyncio.sleep(seconds / 2)
        if self.gate is not None and path.endswith("/binding"):
            await self.gate.wait()
        content = msgspec.json.decode(body) if isinstance(body, bytes) else body
        for i, (part, error, takes_effect) in enumerate(self.faults):
            if part in path:
                del self.faults[i]
                if takes_effect:
                    self._answer(method, path, content)
                raise error
        for rule in self.rules:
            if rule.method == method and rule.part in path:
                if rule.takes_effect:
                    self._answer(method, path, content)
                if rule.error is None:
                    await asyncio.sleep(timeout_seconds)
                raise rule.error or Unreachable(f"no answer within {timeout_seconds:g} s")
        answer = msgspec.json.encode(self._answer(method, path, content))
        await asyncio.sleep(seconds / 2)
        return answer

    def _answer(self, method: str, path: str, body: Any) -> Json:
        if path.endswith("/events"):
            self.events.append(body)
            return {}
        if "/events/" in path:
            made = next((one for one in self.events if one["metadata"]["name"] == path.rpartition("/")[2]), None)
            if made is None:
                raise NotFound(404, "NotFound", "no such event")
            made |= body
            return made
        parts = path.split("/")
        namespace, name = parts[4], parts[6]
        key = f"{namespace}/{name}"
        pod = self.objects["Pod"].get(key)
        if pod is None:
            raise NotFound(404, "NotFound", f'pods "{name}" not found')
        if path.endswith("/binding"):
            self._bind(pod, body)
        elif path.endswith("/status"):
            self._patch_status(pod, body)
        elif method == "DELETE":
            self._check_uid(pod, body["preconditions"]["uid"])
            self.drop(PODS, key)
        return pod

    def _bind(self, pod: Json, body: Json) -> None:
        self._check_uid(pod, body["metadata"]["uid"])
        if pod["spec"].get("nodeName"):
            raise Conflict(409, "Conflict", "the pod is already assigned to a node")
        self.bindings[pod["metadata"]["uid"]] += 1
        spec = pod["spec"] | {"nodeName": body["target"]["name"]}
        self.put(PODS, pod | {"spec": spec})

    def _patch_status(self, pod: Json, body: Json) -> None:
        self._check_uid(pod, body["metadata"]["uid"])
        status = dict(pod["status"])
        for condition in body["status"].get("conditions", []):
            kept = [each for each in status.get("conditions", []) if each["type"] != condition["type"]]
            status["conditions"] = [*kept, condition]
        if "nominatedNodeName" in body["status"]:
            status["nominatedNodeName"] = body["status"]["nominatedNodeName"] or ""
        self.put(PODS, pod | {"status": status})

    def _check_uid(self, pod: Json, uid: str) -> None:
        if pod["metadata"]["uid"] != uid:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")

    def _tell(self, resource: Resource, kind: str, obj: Json) -> None:
        if self.deliver is None or (not self.watches_pods and resource is PODS):
            return
        batch = WatchBatch(resource, Stage.WATCH, [Event(kind, _decode(resource, obj))])
        if self._held is None:
            self.deliver(batch)
        else:
            self._held.append(batch)

    def key(self, meta: Json) -> str:
        """Return an object's key."""
        return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def _decode(resource: Resource, obj: Json) -> Any:
    # By way of JSON, since the narrow types hold raw parts.
    return msgspec.json.decode(msgspec.json.encode(obj), type=resource.body)
