"""What pages of ours have in common: their head and style, facts in a row, tables, numbers. Plain HTML, no script.

What comes from outside is escaped by who puts it in.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from longshore.core.words import text
from longshore.evaluation.colours import colour_variables

DASH = "\N{EN DASH}"
"""What stands where there is no number."""

_STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main, header, footer { max-width: 1240px; margin: 0 auto; padding: 0 16px; }
header { padding-top: 28px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 21px; margin: 44px 0 4px; padding-top: 14px; border-top: 2px solid var(--grid); }
h3 { font-size: 16px; margin: 30px 0 4px; }
p { margin: 4px 0 10px; max-width: 80ch; }
.note { color: var(--muted); font-size: 13.5px; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.command { display: block; padding: 8px 12px; background: var(--panel); border-radius: 6px; }
nav a { margin-right: 14px; }
a { color: inherit; }
dl.facts { display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 6px 0 12px; }
dl.facts div { display: flex; gap: 7px; }
dl.facts dt { color: var(--muted); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 6px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 9px; text-align: right; vertical-align: top; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; }
thead th { vertical-align: bottom; white-space: nowrap; }
th small, td small { display: block; font-weight: 400; color: var(--muted); font-size: 12px; }
th small, td small { white-space: nowrap; }
tbody th, thead th:first-child { text-align: left; position: sticky; left: 0; background: var(--page); }
tbody th { white-space: nowrap; }
td.best { background: var(--panel); font-weight: 700; }
td.best small { font-weight: 400; }
td small.clear { color: var(--ink); }
td.text { text-align: left; }
tr.bound th, tr.bound td { border-top: 2px solid var(--muted); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 6px 0; padding: 0; font-size: 13.5px; }
.legend li { list-style: none; }
.legend svg { width: 30px; height: 10px; margin-right: 6px; vertical-align: middle; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 18px 22px; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: 14px; overflow-wrap: anywhere; }
figcaption small { font-weight: 400; color: var(--muted); }
figure svg { display: block; width: 100%; height: auto; max-width: 430px; }
figure.wide svg { max-width: 720px; min-width: 500px; }
.pairs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 520px), 1fr)); gap: 14px 22px; }
.pairs { align-items: end; }
figure svg text { font-family: system-ui, sans-serif !important; }
summary { cursor: pointer; margin: 10px 0; }
footer { padding-bottom: 40px; }
footer td:last-child { min-width: 260px; }
@media print { details > * { display: block; } }
"""


def render_page(title: str, head: str, body: str, foot: str) -> str:
    """Return the whole document."""
    light = f"color-scheme: light dark; --page: #ffffff; --panel: #f2f4f7; {colour_variables(is_dark=False)}"
    dark = f"--page: #16191d; --panel: #23282f; {colour_variables(is_dark=True)}"
    style = f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}{_STYLE}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header>\n{head}</header>\n<main>\n{body}</main>\n<footer>\n{foot}</footer>\n</body>\n</html>\n"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with their values in a row; values are HTML."""
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{items}</dl>\n'


def table(head: Sequence[str], body: Sequence[str]) -> str:
    """Return a table of rows that are HTML."""
    return (
        f'<div class="scroll"><table><thead>{"".join(head)}</thead>\n<tbody>\n'
        + "\n".join(body)
        + "\n</tbody></table></div>\n"
    )


def number(value: float | None) -> str:
    """Write a number with four digits that count; a dash where it is not known."""
    if value is None or not math.isfinite(value):
        return DASH
    return text.number(value).replace("-", "\N{MINUS SIGN}")
