"""The lines above the tables: the cluster in figures, the scheduler's state, and what is wrong, in words. Pure."""

import math

from longshore.core.words.text import quantity
from longshore.dashboard.top.feed import Status
from longshore.dashboard.top.model import Board, Totals
from longshore.dashboard.top.text import Piece, bar, clock, curve, percent

BAR_WIDTHS = (6, 16)
CURVE_WIDTHS = (10, 30)
NARROW = 110
"""Up to so many columns, bars and curve are short."""


def title_line(status: Status, *, is_paused: bool) -> list[Piece]:
    """Say what is looked at, and whether the view is live."""
    if status.lost_since is not None:
        state = Piece("● lost", "bad")
    elif status.is_synced:
        state = Piece("● live", "good")
    else:
        state = Piece("● connecting", "high")
    paused = [Piece("   ‖ paused: p goes on", "high")] if is_paused else []
    return [Piece("longshore top", "strong"), Piece(f"   {status.server}   ", "muted"), state, *paused]


def room_line(totals: Totals, width: int) -> list[Piece]:
    """Say how full the cluster is."""
    bar_width = BAR_WIDTHS[width > NARROW]
    pieces: list[Piece] = []
    for name, ratio in (("CPU", totals.cpu_ratio), ("memory", totals.memory_ratio), ("pods", totals.pod_ratio)):
        pieces += [Piece(f"{name} ", "muted"), *bar(ratio, bar_width), Piece(f" {percent(ratio).strip()}   ")]
    if totals.watts is not None:
        pieces += [Piece(quantity(totals.watts, "W"), "strong")]
    return pieces


def count_line(totals: Totals, rate: list[int], width: int) -> list[Piece]:
    """Say how many there are, and how many pods are placed in a second."""
    pieces = [Piece(f"{totals.num_nodes:,}", "strong"), Piece(" nodes")]
    if totals.num_troubled:
        pieces.append(Piece(f" ({totals.num_troubled:,} not ok)", "bad"))
    pieces += [Piece("   "), Piece(f"{totals.num_bound:,}", "strong"), Piece(" placed   ")]
    pieces.append(Piece(f"{totals.num_waiting:,} wait", "high" if totals.num_waiting else "muted"))
    if totals.num_unreadable:
        pieces.append(Piece(f"   {totals.num_unreadable:,} unreadable", "bad"))
    newest, curve_width = sum(rate[-5:]) / 5, CURVE_WIDTHS[width > NARROW]
    return [*pieces, Piece("   "), Piece(curve(rate, curve_width), "fine"), Piece(f" {newest:,.1f} placed/s")]


def scheduler_line(status: Status) -> list[Piece]:
    """Say which policy decides, whether it leads, and how often it fell back; nothing where nobody asked."""
    state = status.scheduler
    if state is None or status.metrics_trouble:
        return []
    policy = state.policy or "(not named)"
    pieces = [
        Piece("policy ", "muted"),
        Piece(policy, "strong"),
        Piece(f" {state.version}   " if state.version else "   "),
    ]
    if state.is_leader is not None:
        pieces.append(Piece("leads   ", "good") if state.is_leader else Piece("stands by   ", "high"))
    num_fallbacks = sum(state.fallbacks.values())
    if num_fallbacks:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(state.fallbacks.items()))
        pieces.append(Piece(f"{num_fallbacks:,} fallbacks ({reasons})   ", "bad"))
    else:
        pieces.append(Piece("no fallbacks   ", "good"))
    if state.decision_p99_seconds is not None and state.decision_p50_seconds is not None:
        half, most = _bound(state.decision_p50_seconds), _bound(state.decision_p99_seconds)
        pieces.append(Piece(f"decides in {half}, 99 % in {most}   "))
    queues = ", ".join(f"{number:,} {queue}" for queue, number in state.pending.items() if number)
    return [*pieces, Piece(f"queues: {queues or 'empty'}", "muted")]


def _bound(seconds: float) -> str:
    """Write the upper end of a bucket; the last one has none."""
    return "longer than every bucket" if math.isinf(seconds) else f"≤ {seconds * 1000:g} ms"


def trouble_line(status: Status) -> list[Piece]:
    """Say what is wrong; nothing where all is well."""
    if status.lost_since is not None:
        since = f"no answer since {clock(status.lost_since)}"
        shown = "; what you see was last seen then" if status.has_answered else ""
        return [Piece(f"{since}{shown}: {status.trouble}", "bad")]
    troubles = [status.metrics_trouble, status.log_trouble, status.readings_trouble]
    return [Piece("   ".join(trouble for trouble in troubles if trouble), "high")] if any(troubles) else []


def empty_nodes_text(status: Status, board: Board, text: str) -> str:
    """Say why no node is shown."""
    if not status.is_synced:
        return "no answer from the API server yet" if status.lost_since is not None else "listing nodes and pods …"
    if text and board.totals().num_nodes:
        return f"no node's name holds `{text}`; Escape shows all"
    return "this cluster has no nodes yet"


def empty_placements_text(status: Status, text: str) -> str:
    """Say why no placement is shown."""
    if text:
        return f"no placement of a pod or node that holds `{text}`"
    return "no pod was placed since you started looking" if status.is_synced else ""
