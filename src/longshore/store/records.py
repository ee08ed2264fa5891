"""The record of one decision, the same for every mode that longshore runs in, and what later came of it."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from longshore.core.words.decision import Decision

Mode = Literal["standalone", "plugin", "extender", "suggestions", "shadow", "simulator"]
MODES: tuple[str, ...] = get_args(Mode)
"""Where a decision was made; in `shadow` and `simulator` it moved no pod."""

OutcomeKind = Literal["bound", "bind-error"]

TOP_CANDIDATES = 5
"""So many of the best nodes go into a record: enough to see how close it was, at any size of cluster."""


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the decision log."""

    time_us: int
    """When it was decided: microseconds since 1970, UTC."""
    mode: Mode
    pod_namespace: str
    pod_name: str
    policy: str
    """Name of the policy that chose, or its folder."""
    id: str = ""
    """Given by the log where it is empty."""
    cluster: str = ""
    """What the operator calls the cluster."""
    pod_uid: str = ""
    policy_version: str = ""
    """SHA-256 of the bundle; empty for policies without weights."""
    scheduler_name: str = ""
    node: str | None = None
    """The chosen node; null = the pod stays pending."""
    runner_up: str | None = None
    score: float | None = None
    """The chosen node's score, higher is better."""
    num_nodes: int = 0
    num_feasible: int = 0
    """Nodes that could take the pod."""
    candidates: tuple[tuple[str, float], ...] = ()
    """The best few nodes with their scores, best first."""
    terms: Mapping[str, float] = {}
    """The reward's parts, per objective."""
    reasons: Mapping[str, int] = {}
    """Why nodes were refused, each reason with the number of nodes."""
    pending_reason: str | None = None
    """Why the pod was not placed, in one sentence."""
    fallback_reason: str | None = None
    """Why the policy was not asked, or its answer not taken; null = it was."""
    latency_us: int | None = None
    """How long deciding took, microseconds."""
    attempt: int = 1
    """Which attempt for this pod it was."""
    outcome: OutcomeKind | None = None
    """What came of the binding; null = not known (yet), or nothing was to be bound."""
    outcome_message: str | None = None
    """What the API server said where binding failed."""
    bind_us: int | None = None
    """How long binding took, microseconds."""

    @property
    def pod(self) -> str:
        """The pod as `namespace/name`."""
        return f"{self.pod_namespace}/{self.pod_name}"


class Outcome(msgspec.Struct, frozen=True):
    """What came of a decision that is already in the log."""

    id: str
    outcome: OutcomeKind
    outcome_message: str | None = None
    bind_us: int | None = None


def from_decision(
    decision: Decision, *, mode: Mode, time_us: int, num_nodes: int, uid: str = "", attempt: int = 1, cluster: str = ""
) -> DecisionRecord:
    """Shorten a full decision, which names every node of the cluster, to a record."""
    namespace, _, name = decision.pod.partition("/")
    best = sorted(decision.scores.items(), key=lambda item: (-item[1], item[0]))[:TOP_CANDIDATES]
    return DecisionRecord(
        time_us=time_us,
        mode=mode,
        cluster=cluster,
        pod_namespace=namespace,
        pod_name=name,
        pod_uid=uid,
        policy=decision.policy,
        policy_version=decision.policy_version,
        node=decision.node,
        runner_up=decision.runner_up,
        score=None if decision.node is None else decision.scores.get(decision.node),
        num_nodes=num_nodes,
        num_feasible=len(decision.scores),
        candidates=tuple(best),
        terms=decision.terms,
        reasons=dict(Counter(reason for one in decision.rejections.values() for reason in one.reasons)),
        pending_reason=decision.pending_reason,
        fallback_reason=decision.fallback_reason,
        latency_us=None if decision.seconds is None else round(decision.seconds * 1e6),
        attempt=attempt,
    )
