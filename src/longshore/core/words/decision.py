"""A decision: which node, why that one, and why not the others. One type for every mode that longshore runs in.

`deciding` makes decisions; whoever acts on one adds when, where and by whom; the decision log keeps what has a column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

Mode = Literal["standalone", "plugin", "extender", "suggestions", "shadow", "simulator"]
MODES: tuple[str, ...] = get_args(Mode)
"""Where a decision was made; in `shadow` and `simulator` it moved no pod."""

OutcomeKind = Literal["bound", "bind-error"]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a node cannot take a pod."""

    filter: str
    """Upstream's name of the plugin; empty where upstream names none."""
    reasons: tuple[str, ...]
    is_resolvable: bool
    """False: removing pods from the node would not help (upstream's UnschedulableAndUnresolvable)."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided for one pod."""

    pod_namespace: str
    pod_name: str
    policy: str
    """Name of the policy that chose, or its folder."""
    node: str | None = None
    """The chosen node; None = the pod stays pending."""
    score: float | None = None
    """The chosen node's score, higher is better."""
    runner_up: str | None = None
    num_nodes: int = 0
    num_feasible: int = 0
    """Nodes that could take the pod."""
    candidates: tuple[tuple[str, float], ...] = ()
    """The best few nodes with their scores, best first."""
    devices: tuple[int, ...] | None = None
    """Which of the node's GPUs the pod is to take; None = it wants none."""
    terms: Mapping[str, float] = {}
    """The reward's parts, per objective."""
    reasons: Mapping[str, int] = {}
    """Where no node fits: how many nodes have each reason."""
    rejectors: frozenset[str] = frozenset()
    """Where no node fits: upstream's names of the filters that rejected one. What changes there can help the pod."""
    num_resolvable: int = 0
    """Where no node fits: nodes on which removing pods could help."""
    pending_reason: str | None = None
    """Why the pod was not placed, in one sentence."""
    is_held_back: bool = False
    """The pod was not compared with the nodes at all: gated, being deleted, or of unsupported needs."""
    fallback_reason: str | None = None
    """Why the policy was not asked, or its answer not taken; None = it was."""
    latency_us: int | None = None
    """How long deciding took, microseconds."""

    scores: Mapping[str, float] | None = None
    """Every feasible node's score; None = not asked for."""
    rejections: Mapping[str, Rejection] | None = None
    """Every other node's first reason; None = not asked for."""

    id: str = ""
    """Given by the decision log where it is empty."""
    time_us: int = 0
    """When it was decided: microseconds since 1970, UTC."""
    mode: Mode = "simulator"
    cluster: str = ""
    """What the operator calls the cluster."""
    pod_uid: str = ""
    policy_version: str = ""
    """SHA-256 of the bundle; empty for policies without weights."""
    scheduler_name: str = ""
    attempt: int = 1
    """Which attempt for this pod it was."""
    outcome: OutcomeKind | None = None
    """What came of the binding; None = not known (yet), or nothing was to be bound."""
    outcome_message: str | None = None
    """What the API server said where binding failed."""
    bind_us: int | None = None
    """How long binding took, microseconds."""

    @property
    def pod(self) -> str:
        """The pod as `namespace/name`."""
        return f"{self.pod_namespace}/{self.pod_name}"


class BindOutcome(msgspec.Struct, frozen=True):
    """What came of a decision that is already in the log."""

    id: str
    outcome: OutcomeKind
    outcome_message: str | None = None
    bind_us: int | None = None
