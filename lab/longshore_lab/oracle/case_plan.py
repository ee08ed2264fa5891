"""What a case is about: its kind, the topics that it touches, its size.

`make_plan` is drawn first; the builders of nodes, pods, affinities, spreading and volumes read it and give a topic
that is in the plan much probability, any other topic little or none.
"""

from typing import NamedTuple

from longshore_lab.oracle.case_draw import Draw, pick, pick_count, pick_each
from longshore_lab.oracle.case_vocabulary import EXTENDED_RESOURCES, HUGE_PAGES

TOPICS = (
    "resources",
    "taints",
    "node-affinity",
    "ports",
    "spread",
    "default-spread",
    "inter-pod",
    "volumes",
    "images",
    "node-name",
)

KINDS = ("focus", "focus", "focus", "focus", "ties", "ties", "ties", "mixed", "mixed", "mixed", "mixed", "mixed")
RARE_KINDS = ("one-open", "one-open", "zero-request", "everything", "everything", "plain")
RARE_SHARE = 0.3
# Inter-pod affinity and spreading have the most corners, a node name the fewest.
FOCUS_TOPICS = (
    *TOPICS[:-1] * 2,
    *("inter-pod",) * 4,
    *("spread",) * 3,
    *("node-affinity",) * 2,
    "default-spread",
    "resources",
    "node-name",
)

# How often a constraint is of the kind that rejects nodes. Low where many topics meet: else no node would be left,
# and a case without feasible nodes proves nothing about scores.
REQUIRED_SHARES = {
    "focus": 0.55,
    "ties": 0.3,
    "mixed": 0.35,
    "one-open": 0.08,
    "zero-request": 0.25,
    "everything": 0.13,
    "plain": 0.3,
}


class CasePlan(NamedTuple):
    """The decisions that all builders of one case share.

    `has_full_labels`: every node carries the topology labels, so that spreading is about counts and not about gaps.
    `extended`: the resources beyond CPU and memory that this cluster knows.
    """

    kind: str
    topics: frozenset[str]
    node_count: int
    pod_count: int
    has_equal_nodes: bool
    has_full_labels: bool
    extended: tuple[str, ...]
    required_share: float


def make_plan(draw: Draw) -> CasePlan:
    """Draw a case's kind, topics and size."""
    kind = pick(draw, RARE_KINDS if draw() < RARE_SHARE else KINDS)
    topics = frozenset(_draw_topics(draw, kind))
    return CasePlan(
        kind=kind,
        topics=topics,
        node_count=_draw_node_count(draw),
        pod_count=_draw_pod_count(draw, kind, is_crowded=not topics.isdisjoint(("spread", "inter-pod"))),
        has_equal_nodes=kind == "ties" or draw() < 0.15,
        has_full_labels=draw() < 0.55,
        extended=_draw_extended(draw, 0.6 if "resources" in topics else 0.05),
        required_share=REQUIRED_SHARES[kind],
    )


def _draw_topics(draw: Draw, kind: str) -> list[str]:
    if kind in ("focus", "ties"):
        return [pick(draw, FOCUS_TOPICS)]
    if kind == "everything":
        # A pod either brings spread constraints or gets the default ones; a node name would end most other checks.
        without = ("node-name", "default-spread" if draw() < 0.6 else "spread")
        return [topic for topic in TOPICS if topic not in without]
    if kind == "plain":
        return []
    return pick_each(draw, TOPICS[:-1], 0.3)


def _draw_node_count(draw: Draw) -> int:
    size = draw()
    if size < 0.05:
        return pick_count(draw, 1, 2)
    if size < 0.9:
        return pick_count(draw, 3, 8)
    return pick_count(draw, 9, 12)


def _draw_pod_count(draw: Draw, kind: str, *, is_crowded: bool) -> int:
    size = draw()
    if size < 0.06:
        return 0
    if size < (0.4 if kind == "ties" else 0.15):
        return pick_count(draw, 1, 3)
    if size < (0.6 if is_crowded else 0.9):
        return pick_count(draw, 3, 10)
    return pick_count(draw, 11, 25)


def _draw_extended(draw: Draw, share: float) -> tuple[str, ...]:
    return tuple(pick_each(draw, (*EXTENDED_RESOURCES, HUGE_PAGES), share))
