"""The terminal application of `longshore top`: it asks the board twice a second and draws what can be seen.

Everything works from the keyboard, over any SSH connection; the mouse is not needed.
"""

import time
from collections.abc import Callable
from typing import ClassVar, Protocol

from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from longshore.core.words.errors import LongshoreError
from longshore.dashboard.top import summary
from longshore.dashboard.top.columns import NAME_WIDTHS, NodeTable, PlacementTable
from longshore.dashboard.top.feed import Status
from longshore.dashboard.top.model import Board, SortKey
from longshore.dashboard.top.text import Piece

REFRESH_SECONDS = 0.5

HELP = """\
[b]What you see[/b]
Bars are what pods ask for by what the node can give. Latency, watts and load are readings: a dot is a reading that \
nobody knows. Below the nodes, every placement as it happens; with a decision log (--store) its score, the node that \
came second, and how many nodes would have fitted.

[b]Keys[/b]
  s  S      sort by the next column, by the one before
  r         reverse the order
  /         show only names that hold a text; Escape shows all
  p         hold the view still, and go on
  Tab       to the placements and back
  ↑ ↓ PgUp PgDn Home End   move; j k g G do too
  ?         this page
  q         leave

Any key closes this page."""


class Watched(Protocol):
    """What the application looks at; `feed.Feed` is it."""

    board: Board
    status: Status

    async def run(self) -> None:
        """Keep both up to date until cancelled."""
        ...


class HelpScreen(ModalScreen[None]):
    """The page of keys."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Static {
        width: 78; max-width: 96%; height: auto; max-height: 96%; padding: 1 3;
        background: $panel; border: round $primary; border-title-color: $text-accent;
    }
    """

    def compose(self) -> ComposeResult:
        """Show the text."""
        page = Static(HELP)
        page.border_title = "longshore top"
        yield page

    def on_key(self) -> None:
        """Close with any key."""
        self.dismiss()


class TopApp(App[LongshoreError | None]):
    """The view; `run` returns the error that ended it, or None."""

    TITLE = "longshore top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #summary { height: auto; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    #trouble { height: auto; padding: 0 1; background: $error 15%; display: none; }
    #nodes { height: 2fr; }
    #placements { height: 1fr; min-height: 5; }
    #filter { height: 1; border: none; padding: 0 1; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort(1)", "Sort"),
        Binding("S", "sort(-1)", "Sort back", show=False),
        Binding("r", "reverse", "Reverse"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "clear_filter", "Show all", show=False),
        Binding("p", "pause", "Pause"),
        Binding("tab", "app.focus_next", "Placements", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(self, feed: Watched, *, now: Callable[[], float] = time.time) -> None:
        """Take what to look at."""
        super().__init__()
        self._feed = feed
        self._now = now
        self._is_paused = False
        self._filter = ""
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Lay out: summary, trouble, nodes, placements, filter, keys."""
        with Vertical():
            yield Static(id="summary")
            yield Static(id="trouble")
            yield NodeTable(id="nodes")
            yield PlacementTable(id="placements")
            yield Input(id="filter", placeholder="part of a name; Enter keeps it, Escape shows all")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Start to watch and to draw."""
        self.query_one(NodeTable).focus()
        self.run_worker(self._watch(), exit_on_error=True)
        self.set_interval(REFRESH_SECONDS, self.draw)
        self.draw()

    async def _watch(self) -> None:
        try:
            await self._feed.run()
        except LongshoreError as error:
            self.exit(error)

    def draw(self) -> None:
        """Bring the screen up to date; rows are made anew only where something changed."""
        if not self.query("#summary"):
            return  # the last tick of the timer can come while the screen is taken down
        status, board = self._feed.status, self._feed.board
        self._draw_summary(status, board)
        wanted = (board.version, self._filter, self._sort, self._is_reversed, status.is_synced, status.lost_since)
        if self._is_paused or wanted == self._drawn:
            return
        self._drawn = wanted
        self.draw_rows()

    def draw_rows(self) -> None:
        """Bring the tables up to date."""
        status, board, nodes = self._feed.status, self._feed.board, self.query_one(NodeTable)
        rows = board.nodes(nodes.sort, is_reversed=nodes.is_reversed, text=self._filter)
        nodes.shows = frozenset(
            key
            for key, name in ((SortKey.LATENCY, "latency_ms"), (SortKey.WATTS, "watts"))
            if any(getattr(row.readings, name) is not None for row in rows)
        )
        longest = max((len(row.name) for row in rows), default=0)
        nodes.name_width = max(NAME_WIDTHS[0], min(longest, NAME_WIDTHS[1]))
        nodes.shows_load = any(row.readings.cpu_ratio is not None for row in rows)
        nodes.show(rows, summary.empty_nodes_text(status, board, self._filter))
        placements = board.placements(self._filter)
        self.query_one(PlacementTable).show(placements, summary.empty_placements_text(status, self._filter))

    def action_sort(self, step: int) -> None:
        """Sort by another column that is shown."""
        nodes = self.query_one(NodeTable)
        keys = [
            column.sort for column in nodes.columns(nodes.scrollable_content_region.width) if column.sort is not None
        ]
        place = keys.index(nodes.sort) if nodes.sort in keys else 0
        nodes.sort, nodes.is_reversed = keys[(place + step) % len(keys)], False
        self.draw_rows()

    def action_reverse(self) -> None:
        """Turn the order round."""
        nodes = self.query_one(NodeTable)
        nodes.is_reversed = not nodes.is_reversed
        self.draw_rows()

    def action_pause(self) -> None:
        """Hold the view still, or let it go on."""
        self._is_paused = not self._is_paused
        self.draw()

    def action_filter(self) -> None:
        """Ask for a part of a name."""
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def action_clear_filter(self) -> None:
        """Show everything again."""
        self.query_one("#filter", Input).value = ""
        self._set_filter("")
        self._leave_filter()

    def action_help(self) -> None:
        """Show the page of keys."""
        self.push_screen(HelpScreen())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the text is typed."""
        self._set_filter(event.value.strip())

    def on_input_submitted(self) -> None:
        """Keep the filter and go back to the nodes."""
        self._leave_filter()

    @property
    def _sort(self) -> SortKey:
        return self.query_one(NodeTable).sort

    @property
    def _is_reversed(self) -> bool:
        return self.query_one(NodeTable).is_reversed

    def _set_filter(self, text: str) -> None:
        if text != self._filter:
            self._filter = text
            self.draw_rows()

    def _leave_filter(self) -> None:
        self.query_one("#filter", Input).display = bool(self._filter)
        self.query_one(NodeTable).focus()

    def _draw_summary(self, status: Status, board: Board) -> None:
        totals, width = board.totals(), self.size.width
        lines = [
            summary.title_line(status, is_paused=self._is_paused),
            summary.room_line(totals, width),
            summary.count_line(totals, board.rate(self._now()), width),
            summary.scheduler_line(status),
        ]
        self.query_one("#summary", Static).update(Text("\n").join(self._text(line) for line in lines if line))
        trouble = summary.trouble_line(status)
        box = self.query_one("#trouble", Static)
        box.display = bool(trouble)
        box.update(self._text(trouble))

    def _text(self, pieces: list[Piece]) -> Text:
        nodes, text = self.query_one(NodeTable), Text()
        for piece in pieces:
            style = nodes.get_component_rich_style(f"line-table--{piece.style}")
            text.append(piece.text, Style(color=style.color, bold=style.bold))
        return text
