"""Which pods have to leave some nodes so that another fits there, as upstream's DefaultPreemption finds them. Pure.

All pods of lower priority are taken away; if the waiting pod then fits, they come back one by one, those whose eviction
would break a disruption budget first, then the others, the most important first, as long as the pod still fits. Those
that cannot come back are the node's victims.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.budgets import violating
from longshore.deciding.trial_room import Move, TrialRoom
from longshore.kube.context import DisruptionBudget

Result = TypeVar("Result")


@dataclass(frozen=True)
class Search:
    """What a search for victims reads beside the cluster's arrays."""

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


class Victims(NamedTuple):
    """Who has to leave a node."""

    pods: list[Pod]
    """The most important first."""
    num_violations: int
    """Of disruption budgets."""


class NodesTried(NamedTuple):
    """What came of some nodes."""

    victims: dict[str, Victims]
    """By node, of those where the pod would fit."""
    rejections: list[Rejection]
    """Why it would not on the others."""


def lower_on(name: str, pod: Pod, search: Search) -> list[Pod]:
    """Return the pods of a node that may have to leave for another."""
    return [
        other for other in search.running_on(name) if other.priority < pod.priority and other.uid not in search.spared
    ]


def find_victims(
    encoded: Encoded, pod: Pod, lower: Mapping[str, list[Pod]], search: Search, *, is_local: bool
) -> Generator[None, None, NodesTried]:
    """Look for the victims of some nodes; between any two steps somebody else may have a turn.

    Args:
        encoded: the cluster; it knows the class of `pod` and of the nominated pods.
        pod: the pod that no node can take.
        lower: `lower_on` of every node that is tried; one node only, unless the pod's class is local.
        search: filters, budgets, nominated pods.
        is_local: `trial_room.is_node_local` of the pod's class.
    """
    rows = [encoded.node_index[name] for name in lower]
    at = {row: i for i, row in enumerate(rows)} if is_local else {row: row for row in rows}
    names = dict(zip(at.values(), lower, strict=True))
    room = TrialRoom(encoded, encoded.class_of(pod), rows if is_local else None)
    kept = [Move(at[row], nominated) for row, nominated in search.kept if row in at]
    room.take([Move(row, other) for row, name in names.items() for other in lower[name]])
    rejected = _reject(room, search.names, list(names), kept)
    order = {row: _order(lower[name], search.budgets) for row, name in names.items() if row not in rejected}
    found: dict[int, Victims] = {row: Victims([], 0) for row in order}
    for turn in range(max(map(len, order.values()), default=0)):
        yield
        back = {row: pairs[turn] for row, pairs in order.items() if turn < len(pairs)}
        room.put([Move(row, other) for row, (other, _) in back.items()])
        fits = _fits(room, search.names, kept)
        stay_away = {row: pair for row, pair in back.items() if not fits[row]}
        room.take([Move(row, other) for row, (other, _) in stay_away.items()])
        for row, (other, is_violating) in stay_away.items():
            pods, num_violations = found[row]
            pods.append(other)
            found[row] = Victims(pods, num_violations + is_violating)
    for victims in found.values():
        victims.pods.sort(key=lambda other: other.importance)
    return NodesTried({names[row]: each for row, each in found.items() if each.pods}, list(rejected.values()))


def finish(steps: Generator[None, None, Result]) -> Result:
    """Take all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def _order(pods: Sequence[Pod], budgets: Sequence[DisruptionBudget]) -> list[tuple[Pod, bool]]:
    """Return who comes back when, and whether it would break a budget if it did not."""
    important = sorted(pods, key=lambda other: other.importance)
    pairs = list(zip(important, violating(important, budgets), strict=True))
    return sorted(pairs, key=lambda pair: not pair[1])  # stable: the more important stay in front


def _fits(room: TrialRoom, names: Sequence[str], kept: Sequence[Move]) -> Sequence[bool]:
    fits = room.fits(names)
    if kept:
        room.put(kept)
        fits = fits & room.fits(names)
        room.take(kept)
    answer: Sequence[bool] = fits.tolist()
    return answer


def _reject(room: TrialRoom, names: Sequence[str], rows: Sequence[int], kept: Sequence[Move]) -> dict[int, Rejection]:
    if not kept:
        return room.reject(names, rows)
    room.put(kept)
    with_kept = room.reject(names, rows)
    room.take(kept)
    return room.reject(names, rows) | with_kept
