"""A table that draws only the lines that can be seen, so that thousands of rows cost as much as a screenful."""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from longshore.dashboard.top.text import Piece, cell

Item = TypeVar("Item")

STYLES = ("plain", "muted", "strong", "fine", "high", "full", "track", "good", "bad", "header", "sorted", "cursor")


class LineTable(ScrollView, Generic[Item], can_focus=True):
    """A list of items under a header that stays; a child says how one item is drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-table--{name}" for name in STYLES}
    DEFAULT_CSS = """
    LineTable {
        background: $surface;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-color: $primary 50%;
        & .line-table--plain { color: $text; }
        & .line-table--muted { color: $text-muted; }
        & .line-table--strong { color: $text; text-style: bold; }
        & .line-table--fine { color: $primary; }
        & .line-table--high { color: $warning; }
        & .line-table--full { color: $error; }
        & .line-table--track { color: $foreground 15%; }
        & .line-table--good { color: $success; }
        & .line-table--bad { color: $text-error; text-style: bold; }
        & .line-table--header { color: $text-muted; background: $panel; }
        & .line-table--sorted { color: $text-accent; background: $panel; text-style: bold; }
        & .line-table--cursor { background: $primary 25%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("home,g", "move(-100000000)", "First", show=False),
        Binding("end,G", "move(100000000)", "Last", show=False),
    ]

    cursor = reactive(0)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - textual's word
        super().__init__(id=id)
        self.items: Sequence[Item] = ()
        self.empty_text = ""
        self.num_drawn = 0
        """Lines drawn so far: a test looks at how few they are."""
        self._styles: dict[str, Style] = {}

    def key_of(self, item: Item) -> Any:
        """Return what an item is known by, so that the cursor stays on it."""
        raise NotImplementedError

    def header(self, width: int) -> list[Piece]:
        """Return the header's pieces."""
        raise NotImplementedError

    def line(self, item: Item, width: int) -> list[Piece]:
        """Return an item's pieces."""
        raise NotImplementedError

    def show(self, items: Sequence[Item], empty_text: str) -> None:
        """Show these items; the cursor stays on the one that it was on, or at the top where it was at the top."""
        held = self.key_of(self.items[self.cursor]) if 0 < self.cursor < len(self.items) else None
        self.items, self.empty_text = items, empty_text
        if held is not None:
            found = next((index for index, item in enumerate(items) if self.key_of(item) == held), None)
            moved = 0 if found is None else found - self.cursor
            self.set_reactive(LineTable.cursor, max(0, min(self.cursor + moved, len(items) - 1)))
            if moved:
                self._scroll_to_cursor()
        self.virtual_size = Size(self.size.width, len(items) + 1)
        self.refresh()

    def action_move(self, step: int) -> None:
        """Move the cursor by some rows."""
        self.cursor = max(0, min(self.cursor + step, len(self.items) - 1))
        self._scroll_to_cursor()

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(direction * max(1, self.size.height - 2))

    def on_resize(self, event: events.Resize) -> None:
        """Take the new width over."""
        self.virtual_size = Size(event.size.width, len(self.items) + 1)

    def notify_style_update(self) -> None:
        """Forget the colours of the theme that was."""
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen; the first is the header."""
        self.num_drawn += 1
        width = self.scrollable_content_region.width
        if y == 0:
            return self._strip(self.header(width), "header")
        index = y - 1 + self.scroll_offset.y
        if not self.items:
            text = self.empty_text if y == 2 else ""
            return self._strip([Piece(cell("  " + text, width), "muted")], None)
        if index >= len(self.items):
            return self._strip([Piece(" " * width)], None)
        is_cursor = index == self.cursor and self.has_focus
        return self._strip(self.line(self.items[index], width), "cursor" if is_cursor else None)

    def _strip(self, pieces: list[Piece], background: str | None) -> Strip:
        width = self.scrollable_content_region.width
        over = self._style(background).background_style if background else self.rich_style.background_style
        segments = [Segment(piece.text, self._style(piece.style) + over) for piece in pieces]
        return Strip(segments).adjust_cell_length(width, self.rich_style + over).crop(0, width)

    def _style(self, name: str) -> Style:
        found = self._styles.get(name)
        if found is None:
            found = self._styles[name] = self.get_component_rich_style(f"line-table--{name}")
        return found

    def _scroll_to_cursor(self) -> None:
        first, height = self.scroll_offset.y, max(1, self.size.height - 1)
        if self.cursor < first:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= first + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
        self.refresh()
