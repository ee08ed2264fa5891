"""Pages are whole documents without anything from outside."""

import math

import pytest

from longshore.evaluation.html import DASH, facts, number, render_page, table


def test_a_page_is_one_document_that_refers_to_nothing_outside() -> None:
    page = render_page("a <b>", "<h1>head</h1>", "<p>body</p>", "<p>foot</p>")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>a &lt;b&gt;</title>" in page
    assert [page.index(part) for part in ("head</h1>", "body</p>", "foot</p>")] == sorted(
        page.index(part) for part in ("head</h1>", "body</p>", "foot</p>")
    )
    assert "http" not in page
    assert "<script" not in page


def test_names_of_facts_are_text_and_their_values_html() -> None:
    assert facts([("a<b", "<code>x</code>")]) == (
        '<dl class="facts"><div><dt>a&lt;b</dt><dd><code>x</code></dd></div></dl>\n'
    )


def test_a_table_has_its_head_apart_from_its_rows() -> None:
    assert table(["<tr><th>a</th></tr>"], ["<tr><td>1</td></tr>"]) == (
        '<div class="scroll"><table><thead><tr><th>a</th></tr></thead>\n<tbody>\n'
        "<tr><td>1</td></tr>\n</tbody></table></div>\n"
    )


@pytest.mark.parametrize(
    ("value", "want"),
    [(None, DASH), (math.nan, DASH), (math.inf, DASH), (0.0, "0"), (-1.5, "\N{MINUS SIGN}1.5"), (1234.56, "1,235")],
)
def test_numbers_have_four_digits_and_a_dash_where_there_is_none(value: float | None, want: str) -> None:
    assert number(value) == want
