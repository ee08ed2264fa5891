"""Preemption as upstream's DefaultPreemption does it: which pods of lower priority leave which node. Pure.

On every node where removing pods could help, all pods of lower priority are taken away; if the waiting pod then fits,
they come back one by one, those whose eviction would break a disruption budget first, then the others, the most
important first, as long as the pod still fits. Those that cannot come back are the node's victims. Of the nodes, the
one is chosen that breaks the fewest budgets, then the one whose most important victim has the lowest priority, …
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.budgets import violating
from longshore.deciding.trial_room import Move, TrialRoom, is_node_local
from longshore.kube.context import DisruptionBudget

MIN_CANDIDATES = 100
MIN_CANDIDATES_PERCENT = 10
"""Upstream's minCandidateNodesAbsolute and minCandidateNodesPercentage: with so many candidates, and one among them
that breaks no budget, the search ends. For pods whose constraints look at other nodes the number alone counts: each
node costs a look at all of them."""

_PRIORITY_OFFSET = 2**31
"""Added to every priority before summing, so that more victims of a negative priority never weigh less."""

CONFLICT = "pod affinity terms conflict"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Preemption:
    """What came of the search."""

    node: str | None
    """Where room is made; None = nowhere."""
    victims: tuple[Pod, ...] = ()
    """Who has to leave, the most important first."""
    num_violations: int = 0
    message: str = ""
    """Why nobody leaves, in upstream's words; empty if somebody does."""
    clears_nomination: bool = False
    """The pod cannot be helped by preemption any more: the room kept for it is free."""


@dataclass(frozen=True)
class Search:
    """What the search reads beside the cluster's arrays."""

    names: tuple[str, ...]
    """The filters."""
    running_on: Callable[[str], Collection[Pod]]
    budgets: Sequence[DisruptionBudget] = ()
    kept: Sequence[Move] = ()
    """Nominated pods of the same or a higher priority: their room is not free."""
    offset: int = 0
    """Where among the nodes the search begins; upstream draws it."""
    spared: Collection[str] = frozenset()
    """UIDs of pods that cannot be made to leave."""


class _Tally:
    """Why no pod leaves, node by node; nodes that were not tried are counted as not helpful, as upstream does."""

    def __init__(self, num_nodes: int) -> None:
        self.num_nodes, self.num_tried, self.reasons = num_nodes, 0, Counter[str]()

    def add(self, reasons: Sequence[str]) -> None:
        self.num_tried += 1
        self.reasons.update(reasons)

    def message(self) -> str:
        return fit_message(self.num_nodes, {**self.reasons, NOT_HELPFUL: self.num_nodes - self.num_tried})


def eligibility(
    pod: Pod,
    preemption_policy: str,
    nominated: str,
    rejections: Mapping[str, Rejection],
    running_on: Callable[[str], Collection[Pod]],
) -> str:
    """Say why a pod may not preempt others now; empty = it may."""
    if preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    rejection = rejections.get(nominated) if nominated else None
    if rejection is not None and rejection.is_resolvable:
        for other in running_on(nominated):
            if other.priority < pod.priority and other.is_being_preempted:
                return "not eligible due to a terminating pod on the nominated node."
    return ""


def preempt(encoded: Encoded, pod: Pod, rejections: Mapping[str, Rejection], search: Search) -> Preemption:
    """Look for a node where evicting pods of lower priority makes room.

    Args:
        encoded: the cluster; it knows the class of `pod` and of the nominated pods.
        pod: the pod that no node can take.
        rejections: why, for every node.
        search: filters, running pods, budgets.
    """
    index = encoded.node_index
    potential = [name for name, rejection in rejections.items() if rejection.is_resolvable and name in index]
    start = search.offset % len(potential) if potential else 0
    pod_class, room, tally = encoded.class_of(pod), TrialRoom(encoded), _Tally(len(encoded.node_names))
    is_local = is_node_local(encoded, pod_class, search.names)
    share = len(potential) * MIN_CANDIDATES_PERCENT // 100 if is_local else 0
    wanted = min(max(share, MIN_CANDIDATES), len(potential))
    at_once = wanted if is_local else 1
    candidates: dict[int, tuple[list[Pod], int]] = {}
    waiting = iter(potential[start:] + potential[:start])
    while names := tuple(islice(waiting, at_once)):
        lower: dict[int, list[Pod]] = {}
        for name in names:
            found = [
                other
                for other in search.running_on(name)
                if other.priority < pod.priority and other.uid not in search.spared
            ]
            if found:
                lower[index[name]] = found
            else:
                tally.add((NO_VICTIMS,))
        if lower:
            candidates |= _victims(room, pod_class, lower, search, tally)
        if len(candidates) >= wanted and any(num_violations == 0 for _, num_violations in candidates.values()):
            break
    if not candidates:
        return Preemption(None, message=tally.message(), clears_nomination=True)
    row = min(candidates, key=lambda row: _preference(*candidates[row], encoded.node_names[row]))
    victims, num_violations = candidates[row]
    return Preemption(encoded.node_names[row], tuple(victims), num_violations)


def _victims(
    room: TrialRoom, pod_class: int, lower: Mapping[int, list[Pod]], search: Search, tally: _Tally
) -> dict[int, tuple[list[Pod], int]]:
    """Return the victims of every node on which the pod would fit, and how many budgets they break."""
    kept = [move for move in search.kept if move.row in lower]
    rows = list(lower)
    room.take([Move(row, other) for row in rows for other in lower[row]])
    rejected = _reject(room, pod_class, search.names, rows, kept)
    for rejection in rejected.values():
        tally.add(rejection.reasons)
    order: dict[int, list[tuple[Pod, bool]]] = {}
    for row in rows:
        if row not in rejected:
            important = sorted(lower[row], key=lambda other: other.importance)
            breaks = violating(important, search.budgets)
            pairs = list(zip(important, breaks, strict=True))
            order[row] = sorted(pairs, key=lambda pair: not pair[1])  # stable: the more important stay in front
    found: dict[int, tuple[list[Pod], int]] = {row: ([], 0) for row in order}
    for turn in range(max(map(len, order.values()), default=0)):
        back = {row: pairs[turn] for row, pairs in order.items() if turn < len(pairs)}
        room.put([Move(row, other) for row, (other, _) in back.items()])
        fits = _fits(room, pod_class, search.names, kept)
        stay_away = {row: pair for row, pair in back.items() if not fits[row]}
        room.take([Move(row, other) for row, (other, _) in stay_away.items()])
        for row, (other, is_violating) in stay_away.items():
            victims, num_violations = found[row]
            victims.append(other)
            found[row] = victims, num_violations + is_violating
    room.restore(rows)
    for victims, _ in found.values():
        victims.sort(key=lambda other: other.importance)
    return {row: pair for row, pair in found.items() if pair[0]}


def _fits(room: TrialRoom, pod_class: int, names: Sequence[str], kept: Sequence[Move]) -> Sequence[bool]:
    fits = room.fits(pod_class, names)
    if kept:
        room.put(kept)
        fits = fits & room.fits(pod_class, names)
        room.take(kept)
    answer: Sequence[bool] = fits.tolist()
    return answer


def _reject(
    room: TrialRoom, pod_class: int, names: Sequence[str], rows: Sequence[int], kept: Sequence[Move]
) -> dict[int, Rejection]:
    if not kept:
        return room.reject(pod_class, names, rows)
    room.put(kept)
    with_kept = room.reject(pod_class, names, rows)
    room.take(kept)
    return room.reject(pod_class, names, rows) | with_kept


def _preference(victims: Sequence[Pod], num_violations: int, name: str) -> tuple[float | str, ...]:
    """Sort nodes as upstream's pickOneNodeForPreemption; the name last, where upstream takes any."""
    highest = victims[0].priority
    started = min(other.started for other in victims if other.priority == highest)
    total = sum(other.priority + _PRIORITY_OFFSET for other in victims)
    return num_violations, highest, total, len(victims), -started, name


def fit_message(num_nodes: int, reasons: Mapping[str, int]) -> str:
    """Say why no node fits, in the words of upstream's FailedScheduling event."""
    counted = ", ".join(sorted(_counted(reason, count) for reason, count in reasons.items() if count))
    return f"0/{num_nodes} nodes are available:" + (f" {counted}." if counted else "")


def _counted(reason: str, count: int) -> str:
    """Write a reason with its nodes; upstream counts none where the pod is refused before nodes are looked at."""
    return reason if reason == CONFLICT else f"{count} {reason}"
