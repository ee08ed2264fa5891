"""A decision: which node, why that one, and why not the others. One type for every mode that longshore runs in."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a node cannot take a pod."""

    filter: str
    """Upstream's name of the plugin; empty where upstream names none."""
    reasons: tuple[str, ...]
    is_resolvable: bool
    """False: removing pods from the node would not help (upstream's UnschedulableAndUnresolvable)."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for one pod."""

    pod: str
    """`namespace/name`."""
    policy: str
    node: str | None
    """The chosen node; None = the pod stays pending."""
    scores: dict[str, float]
    """Every candidate's score, higher is better."""
    rejections: dict[str, Rejection]
    """Every other node's first reason."""
    runner_up: str | None = None
    terms: dict[str, float] = field(default_factory=dict)
    """The reward's parts, per objective."""
    pending_reason: str | None = None
    """Why the pod was not placed, in one sentence."""
    policy_version: str = ""
    seconds: float | None = None
    fallback_reason: str | None = None
