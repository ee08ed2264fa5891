"""The report's page: its head and style, tables of numbers, legends and definitions. Plain HTML, no script.

Everything that comes from outside (names, commands, parameters) is escaped here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from longshore.evaluation.base import Bound
from longshore.evaluation.comparison import Comparison, Row
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.report_svg import Style, colour_variables
from longshore.evaluation.statistics import Interval

DASH = "\N{EN DASH}"
"""What stands where there is no number."""
MAIN_METRICS = (
    "reward",
    "active_nodes",
    "cpu_variance",
    "latency_ms",
    "hard_violations",
    "watts",
    "unschedulable",
)
"""The first table's; the second has all."""
# Rounding of sums that are added up in another order.
_TOLERANCE = 1e-9
_LARGE = 10_000.0
_SMALL = 1e-3

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


def comparison_facts(comparison: Comparison) -> str:
    """Return what was compared, in a row."""
    parameters = ", ".join(f"{name}={value}" for name, value in comparison.parameters.items())
    return facts(
        [
            ("objective", f"<code>{escape(comparison.objective)}</code>"),
            ("nodes", str(comparison.nodes)),
            ("seeds", _seeds(comparison.seeds)),
            ("filters", f"<code>{escape(comparison.filters)}</code>"),
            ("lag of readings", f"{comparison.lag_seconds:g} s"),
            ("intervals", f"{number(100.0 * comparison.level)} %"),
            ("baseline", f"<code>{escape(comparison.baseline)}</code>"),
            ("parameters", f"<code>{escape(parameters)}</code>" if parameters else "the workload's own"),
        ]
    )


def main_table(comparison: Comparison) -> str:
    """Return policies by main metrics: mean, interval, difference to the baseline; the best marked, bounds below."""
    names = [name for name in MAIN_METRICS if any(name in row.metrics for row in comparison.rows)]
    best = {name: best_policies(comparison.rows, name) for name in names}
    head = "".join(f"<th>{escape(name)}<small>{_unit(name)}</small></th>" for name in names)
    lines = [f"<tr><th>policy</th>{head}<th>decisions<small>per second</small></th></tr>"]
    body = []
    for row in comparison.rows:
        cells = "".join(_cell(row, name, row.policy in best[name]) for name in names)
        speed = f"<td>{number(row.decisions_per_second)}</td>"
        body.append(f"<tr><th>{escape(row.policy)}{_waits(row)}</th>{cells}{speed}</tr>")
    if comparison.bounds:
        cells = "".join(_bound_cell(comparison.bounds.get(name)) for name in names)
        body.append(f'<tr class="bound"><th>bound</th>{cells}<td>{DASH}</td></tr>')
    return _table(lines, body)


def metrics_table(comparison: Comparison) -> str:
    """Return every metric by policies, metrics down."""
    policies = "".join(f"<th>{escape(row.policy)}{_waits(row)}</th>" for row in comparison.rows)
    body = []
    for name in METRICS:
        best = best_policies(comparison.rows, name)
        cells = "".join(_cell(row, name, row.policy in best) for row in comparison.rows)
        bound = _bound_cell(comparison.bounds.get(name))
        body.append(f"<tr><th>{escape(name)}<small> {_unit(name)}</small></th>{cells}{bound}</tr>")
    return _table([f"<tr><th>metric</th>{policies}<th>bound</th></tr>"], body)


def bounds_table(bounds: Mapping[str, Bound]) -> str:
    """Return where each bound comes from and what it proves."""
    body = [
        f"<tr><th>{escape(name)}</th><td>{number(bound.value)}</td>"
        f'<td class="text">{_proof(bound)}</td><td class="text">{escape(bound.method)}</td>'
        f'<td class="text">{escape(bound.condition) or "all runs"}</td></tr>'
        for name, bound in bounds.items()
    ]
    titles = "".join(f'<th style="text-align:left">{title}</th>' for title in ("what it is", "method", "holds for"))
    return _table([f"<tr><th>bound of</th><th>value</th>{titles}</tr>"], body)


def definitions_table() -> str:
    """Return what every metric means."""
    body = [
        f'<tr><th>{escape(name)}</th><td class="text">{escape(metric.unit)}</td>'
        f'<td class="text">{DASH if metric.better == "neither" else metric.better}</td>'
        f'<td class="text">{escape(metric.definition)}</td></tr>'
        for name, metric in METRICS.items()
    ]
    titles = "".join(f'<th style="text-align:left">{title}</th>' for title in ("unit", "better", "definition"))
    return _table([f"<tr><th>metric</th>{titles}</tr>"], body)


def legend(policies: Iterable[str], styles: Mapping[str, Style]) -> str:
    """Return the policies with a piece of their line."""
    items = "".join(f"<li>{_swatch(styles[policy])}{escape(policy)}</li>" for policy in policies)
    return f'<ul class="legend">{items}</ul>\n'


def _swatch(style: Style) -> str:
    # Dashes are in line widths.
    pattern = f' stroke-dasharray="{" ".join(f"{2.2 * dash:g}" for dash in style.dashes)}"' if style.dashes else ""
    line = f'<line x1="0" y1="5" x2="30" y2="5" stroke="var(--{style.variable})" stroke-width="2.2"{pattern}/>'
    return f'<svg viewBox="0 0 30 10" aria-hidden="true">{line}</svg>'


def figure(svg: str | None, caption: str = "", *, is_wide: bool = False) -> str:
    """Return a plot with its caption (HTML); nothing where there is no plot."""
    if svg is None:
        return ""
    text = f"<figcaption>{caption}</figcaption>" if caption else ""
    if is_wide:
        return f'<figure class="wide">{text}<div class="scroll">{svg}</div></figure>\n'
    return f"<figure>{text}{svg}</figure>\n"


def number(value: float | None) -> str:
    """Write a number with four digits that count; a dash where it is not known."""
    if value is None or not math.isfinite(value):
        return DASH
    value = float(value)
    size = abs(value)
    if size == 0.0:
        return "0"
    if size >= _LARGE:
        text = f"{value:,.0f}"
    elif size < _SMALL:
        digits, exponent = f"{value:.2e}".split("e")
        text = f"{digits}e{int(exponent)}"
    elif value.is_integer():
        text = f"{value:,.0f}"
    else:
        text = f"{value:,.{3 - math.floor(math.log10(size))}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def best_policies(rows: Sequence[Row], metric: str) -> set[str]:
    """Return the policies with the best mean; none where all are alike or nothing is better."""
    better = METRICS[metric].better
    means = {row.policy: row.metrics[metric].mean for row in rows if metric in row.metrics}
    means = {policy: mean for policy, mean in means.items() if math.isfinite(mean)}
    if better == "neither" or len(means) < 2:
        return set()
    sign = 1.0 if better == "more" else -1.0
    top = max(sign * mean for mean in means.values())
    tolerance = _TOLERANCE * max(1.0, abs(top))
    best = {policy for policy, mean in means.items() if sign * mean >= top - tolerance}
    return set() if len(best) == len(means) else best


def _table(head: Sequence[str], body: Sequence[str]) -> str:
    return (
        f'<div class="scroll"><table><thead>{"".join(head)}</thead>\n<tbody>\n'
        + "\n".join(body)
        + "\n</tbody></table></div>\n"
    )


def _cell(row: Row, metric: str, is_best: bool) -> str:
    found = row.metrics.get(metric)
    if found is None or not math.isfinite(found.mean):
        return f"<td>{DASH}</td>"
    mark = '<span title="best mean">★</span> ' if is_best else ""
    lines = [f"{mark}{number(found.mean)}", f"<small>{_range(found)}</small>"]
    difference = row.differences.get(metric)
    if difference is not None and math.isfinite(difference.mean):
        lines.append(_difference(difference, METRICS[metric].better))
    kind = ' class="best"' if is_best else ""
    return f"<td{kind}>{''.join(lines)}</td>"


def _difference(difference: Interval, better: str) -> str:
    """Write a difference to the baseline, with a word where its interval does not hold zero."""
    if difference.low == difference.high == 0.0:
        return "<small>Δ 0</small>"
    text, interval = f"Δ {_signed(difference.mean)}", f"<small>{_range(difference)}</small>"
    is_known = math.isfinite(difference.low) and math.isfinite(difference.high)
    if not is_known or difference.low <= 0.0 <= difference.high or better == "neither":
        return f"<small>{text}</small>{interval}"
    is_better = (difference.mean > 0.0) == (better == "more")
    return f'<small class="clear">{text} {"better" if is_better else "worse"}</small>{interval}'


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0.0 else number(value)


def _range(found: Interval) -> str:
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return f"[{DASH}]"
    return f"[{number(found.low)}, {number(found.high)}]"


def _bound_cell(bound: Bound | None) -> str:
    if bound is None or bound.value is None:
        return f"<td>{DASH}</td>"
    kind = "optimum" if bound.is_exact else "best found" if bound.is_reached else "limit"
    return f"<td>{number(bound.value)}<small>{kind}</small></td>"


def _proof(bound: Bound) -> str:
    if bound.value is None:
        return "not known"
    if bound.is_exact:
        return "the optimum, proven"
    if bound.is_reached:
        return "the best found: the optimum is this or better"
    return "a limit: no policy is better"


def _waits(row: Row) -> str:
    pending = row.metrics.get("pending")
    is_waiting = pending is not None and math.isfinite(pending.mean) and pending.mean > 0.0
    return '<span title="left pods waiting"> †</span>' if is_waiting else ""


def _unit(metric: str) -> str:
    described = METRICS[metric]
    arrow = {"more": ", more is better", "less": ", less is better", "neither": ""}[described.better]
    unit = "" if described.unit == "1" else described.unit
    return escape(f"{unit}{arrow}".removeprefix(", "))


def _seeds(seeds: Sequence[int]) -> str:
    if not seeds:
        return DASH
    if len(seeds) == 1:
        return f"1 ({seeds[0]})"
    is_run = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))
    listed = f"{seeds[0]} to {seeds[-1]}" if is_run else ", ".join(map(str, seeds))
    return f"{len(seeds)} ({listed})"
