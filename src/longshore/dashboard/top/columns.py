"""How nodes and placements are drawn: which columns fit into a width, and one line of each."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from longshore.dashboard.top.model import EventKind, NodeRow, PlacementEvent, SortKey
from longshore.dashboard.top.table import LineTable
from longshore.dashboard.top.text import Piece, amount_of_bytes, bar, cell, clock, cores, percent

BAR_WIDTHS = (6, 10, 20)
"""Of a bar: where it is narrow, at least as long as there is room for more columns, and at most."""
NAME_WIDTHS = (10, 48)
_CPU_AMOUNT, _MEMORY_AMOUNT, _PERCENT = 12, 14, 5


class Column(NamedTuple):
    """A column of the nodes."""

    title: str
    width: int
    draw: Callable[[NodeRow, int], list[Piece]]
    sort: SortKey | None = None
    is_right: bool = False


class NodeTable(LineTable[NodeRow]):
    """The nodes: how full they are, and what was measured on them."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's word
        super().__init__(id=id)
        self.sort = SortKey.NAME
        self.is_reversed = False
        self.shows: frozenset[SortKey] = frozenset()
        """Readings of which at least one is known: the others get no column."""
        self.shows_load = False
        self.name_width = NAME_WIDTHS[0]
        """As wide as the longest name."""

    def key_of(self, item: NodeRow) -> str:
        """Return the node's name."""
        return item.name

    def header(self, width: int) -> list[Piece]:
        """Return the titles; the one that is sorted by bears an arrow."""
        pieces = []
        for column in self.columns(width):
            is_sorted = column.sort is self.sort
            # Names start with the smallest, figures with the largest.
            is_up = self.is_reversed != (self.sort is SortKey.NAME)
            title = column.title + (" ▲" if is_up else " ▼") if is_sorted else column.title
            text = cell(title, column.width, is_right=column.is_right)
            pieces += [Piece(text, "sorted" if is_sorted else "header"), Piece("  ", "header")]
        return [Piece(" ", "header"), *pieces]

    def line(self, item: NodeRow, width: int) -> list[Piece]:
        """Return a node's cells."""
        pieces = [Piece(" ")]
        for column in self.columns(width):
            pieces += [*column.draw(item, column.width), Piece("  ")]
        return pieces

    def columns(self, width: int) -> list[Column]:
        """Return the columns that fit: first the bars get shorter, then amounts, state and readings go."""
        narrow, usual, most = BAR_WIDTHS
        for bar_width, has_amounts, has_state, num_readings in (
            (usual, True, True, 3),
            (usual, False, True, 3),
            (usual, False, False, 3),
            (narrow, False, False, 3),
            (narrow, False, False, 2),
            (narrow, False, False, 1),
            (narrow, False, False, 0),
        ):
            columns = self._columns(bar_width, has_amounts, has_state, num_readings)
            spare = width - 1 - sum(column.width + 2 for column in columns)
            if spare >= 0:
                break
        if bar_width == usual and spare > 0:
            return self._columns(min(most, usual + spare // 2), has_amounts, has_state, num_readings)
        return columns

    def _columns(self, bar_width: int, has_amounts: bool, has_state: bool, num_readings: int) -> list[Column]:
        cpu = bar_width + _PERCENT + _CPU_AMOUNT * has_amounts
        memory = bar_width + _PERCENT + _MEMORY_AMOUNT * has_amounts
        columns = [
            Column("NODE", self.name_width, _draw_name, SortKey.NAME),
            Column("CPU", cpu, partial(_draw_cpu, bar_width), SortKey.CPU),
            Column("MEMORY", memory, partial(_draw_memory, bar_width), SortKey.MEMORY),
            Column("PODS", 9, _draw_pods, SortKey.PODS, is_right=True),
        ]
        readings = [
            (SortKey.LATENCY in self.shows, Column("LATENCY", 9, _draw_latency, SortKey.LATENCY, is_right=True)),
            (SortKey.WATTS in self.shows, Column("WATTS", 7, _draw_watts, SortKey.WATTS, is_right=True)),
            (self.shows_load, Column("LOAD", 5, _draw_load, is_right=True)),
        ]
        columns += [column for is_shown, column in readings if is_shown][:num_readings]
        return [*columns, Column("STATE", 12, _draw_state)] if has_state else columns


class PlacementTable(LineTable[PlacementEvent]):
    """The placements, newest first, and pods that wait with the reason."""

    def key_of(self, item: PlacementEvent) -> tuple[float, str]:
        """Return what tells one line from the others."""
        return item.time_seconds, item.pod

    def header(self, width: int) -> list[Piece]:
        """Return the titles."""
        pod, node, rest = _placement_widths(width)
        text = f" {cell('TIME', 8)}  {cell('POD', pod)}  {cell('', 2)}{cell('NODE', node)}  "
        return [Piece(text + cell("WHY" if rest > 3 else "", rest), "header")]

    def line(self, item: PlacementEvent, width: int) -> list[Piece]:
        """Return one event's cells."""
        pod, node, rest = _placement_widths(width)
        start = [Piece(f" {clock(item.time_seconds)}  ", "muted"), Piece(cell(item.pod, pod) + "  ", "strong")]
        if item.kind is EventKind.GONE:
            return [*start, Piece("deleted while it waited", "muted")]
        if item.kind is EventKind.WAITS:
            return [*start, Piece("… waits  ", "high"), Piece(cell(item.message, node + 2 + rest - 7), "muted")]
        return [*start, Piece("→ ", "good"), Piece(cell(item.node, node) + "  "), *_why(item, rest)]


def _placement_widths(width: int) -> tuple[int, int, int]:
    """Divide a line into pod, node and the reasons."""
    left = width - 1 - 8 - 2 - 2 - 2 - 2
    pod = max(20, min(44, left * 3 // 10))
    node = max(14, min(30, left // 5))
    return pod, node, max(0, left - pod - node)


def _why(item: PlacementEvent, width: int) -> list[Piece]:
    decision = item.decision
    if decision is None:
        return [Piece(cell(f"by {item.scheduler}", width), "muted")]
    parts = [] if decision.score is None else [f"score {decision.score:.4g}"]
    if decision.runner_up is not None:
        second = next((score for node, score in decision.candidates if node == decision.runner_up), None)
        parts.append(f"then {decision.runner_up}" + ("" if second is None else f" {second:.4g}"))
    parts.append(f"{decision.num_feasible:,}/{decision.num_nodes:,} fit")
    if decision.latency_us is not None:
        parts.append(f"{decision.latency_us / 1000:.1f} ms")
    text = "  ".join([*parts, decision.policy])
    if decision.outcome == "bind-error":
        return [Piece(cell(f"binding failed: {decision.outcome_message or ''}", width), "bad")]
    if decision.fallback_reason is not None:
        return [Piece(cell(f"fallback ({decision.fallback_reason})  {text}", width), "high")]
    return [Piece(cell(text, width), "muted")]


def _draw_name(row: NodeRow, width: int) -> list[Piece]:
    return [Piece(cell(row.name, width), "strong" if row.state == "ok" else "bad")]


def _draw_cpu(bar_width: int, row: NodeRow, width: int) -> list[Piece]:
    amounts = f"{cores(row.used_cpu_millis)}/{cores(row.cpu_millis)}"
    return _draw_bar(bar_width, row.cpu_ratio, amounts, width)


def _draw_memory(bar_width: int, row: NodeRow, width: int) -> list[Piece]:
    amounts = f"{amount_of_bytes(row.used_memory_bytes)}/{amount_of_bytes(row.memory_bytes)}"
    return _draw_bar(bar_width, row.memory_ratio, amounts, width)


def _draw_bar(bar_width: int, ratio: float, amounts: str, width: int) -> list[Piece]:
    pieces = [*bar(ratio, bar_width), Piece(" " + percent(ratio))]
    left = width - bar_width - _PERCENT
    return [*pieces, Piece(cell("  " + amounts, left), "muted")] if left > 0 else pieces


def _draw_pods(row: NodeRow, width: int) -> list[Piece]:
    used, most = f"{row.num_pods}", f"/{row.max_pods}"
    return [Piece(cell(used, width - len(most), is_right=True)), Piece(most, "muted")]


def _draw_load(row: NodeRow, width: int) -> list[Piece]:
    return _draw_reading(None if row.readings.cpu_ratio is None else percent(row.readings.cpu_ratio), width)


def _draw_latency(row: NodeRow, width: int) -> list[Piece]:
    return _draw_reading(None if row.readings.latency_ms is None else f"{row.readings.latency_ms:.1f} ms", width)


def _draw_watts(row: NodeRow, width: int) -> list[Piece]:
    return _draw_reading(None if row.readings.watts is None else f"{row.readings.watts:.0f} W", width)


def _draw_reading(text: str | None, width: int) -> list[Piece]:
    return [Piece(cell("·" if text is None else text, width, is_right=True), "muted" if text is None else "plain")]


def _draw_state(row: NodeRow, width: int) -> list[Piece]:
    return [Piece(cell(row.state, width), "good" if row.state == "ok" else "bad")]
