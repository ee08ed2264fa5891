"""The table that draws only what can be seen."""

from textual.app import App, ComposeResult

from longshore.dashboard.top.table import LineTable
from longshore.dashboard.top.text import Piece, cell


class Numbers(LineTable[int]):
    def key_of(self, item: int) -> int:
        return item

    def header(self, width: int) -> list[Piece]:
        return [Piece(cell("NUMBER", width), "header")]

    def line(self, item: int, width: int) -> list[Piece]:
        return [Piece(cell(str(item), width))]


class NumbersApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Numbers(id="numbers")

    def table(self) -> Numbers:
        table = self.query_one(Numbers)
        table.focus()
        return table


def lines(table: Numbers) -> list[str]:
    return [table.render_line(y).text.strip() for y in range(table.size.height)]


async def test_only_the_lines_that_can_be_seen_are_drawn():
    app = NumbersApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.table()
        await pilot.pause()
        table.num_drawn = 0
        table.show(range(100_000), "")
        await pilot.pause()
        assert 0 < table.num_drawn <= 3 * 12


async def test_the_header_stays_while_rows_scroll():
    app = NumbersApp()
    async with app.run_test(size=(40, 6)) as pilot:
        table = app.table()
        table.show(range(100), "")
        await pilot.pause()
        assert lines(table) == ["NUMBER", "0", "1", "2", "3", "4"]
        await pilot.press("end")
        await pilot.pause()
        assert lines(table) == ["NUMBER", "95", "96", "97", "98", "99"]
        await pilot.press("pageup", "home")
        await pilot.pause()
        assert lines(table) == ["NUMBER", "0", "1", "2", "3", "4"]


async def test_the_cursor_stays_on_its_item_when_the_order_changes():
    app = NumbersApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.table()
        table.show(list(range(50)), "")
        await pilot.press("down", "down", "down")
        table.show(list(range(49, -1, -1)), "")
        await pilot.pause()
        assert table.items[table.cursor] == 3


async def test_the_cursor_stays_at_the_top_so_that_new_rows_are_seen():
    app = NumbersApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.table()
        table.show([5, 4], "")
        table.show([7, 6, 5, 4], "")
        await pilot.pause()
        assert table.cursor == 0


async def test_a_list_that_shrinks_takes_the_cursor_along():
    app = NumbersApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.table()
        table.show(list(range(50)), "")
        await pilot.press("end")
        table.show([1, 2], "")
        await pilot.pause()
        assert table.cursor == 1
        assert lines(table)[1:3] == ["1", "2"]


async def test_nothing_to_show_is_said():
    app = NumbersApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.table()
        table.show([], "nothing yet")
        await pilot.pause()
        assert "nothing yet" in lines(table)
        await pilot.press("down", "end", "pagedown")
