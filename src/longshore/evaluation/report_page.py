"""The report's page: its head and style, tables of numbers, legends and definitions. Plain HTML, no script.

Everything that comes from outside (names, commands, parameters) is escaped here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from longshore.core.words.assumed import marked
from longshore.evaluation.base import Bound
from longshore.evaluation.comparison import Comparison, Row
from longshore.evaluation.html import DASH, facts, number, table
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.report_svg import Style
from longshore.evaluation.statistics import ROUNDING, Interval

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


def assumptions(sentences: Iterable[str]) -> str:
    """Return what was assumed, a paragraph each."""
    return "".join(f'<p class="note">Assumed: {escape(sentence)}.</p>\n' for sentence in sentences)


def main_table(comparison: Comparison) -> str:
    """Return policies by main metrics: mean, interval, difference to the baseline; the best marked, bounds below."""
    names = [name for name in MAIN_METRICS if any(name in row.metrics for row in comparison.rows)]
    best = {name: best_policies(comparison.rows, name) for name in names}
    head = "".join(f"<th>{escape(marked(name, comparison.assumed))}<small>{_unit(name)}</small></th>" for name in names)
    lines = [f"<tr><th>policy</th>{head}<th>decisions<small>per second</small></th></tr>"]
    body = []
    for row in comparison.rows:
        cells = "".join(_cell(row, name, row.policy in best[name]) for name in names)
        speed = f"<td>{number(row.decisions_per_second)}</td>"
        body.append(f"<tr><th>{escape(row.policy)}{_waits(row)}</th>{cells}{speed}</tr>")
    if comparison.bounds:
        cells = "".join(_bound_cell(comparison.bounds.get(name)) for name in names)
        body.append(f'<tr class="bound"><th>bound</th>{cells}<td>{DASH}</td></tr>')
    return table(lines, body)


def metrics_table(comparison: Comparison) -> str:
    """Return every metric by policies, metrics down."""
    policies = "".join(f"<th>{escape(row.policy)}{_waits(row)}</th>" for row in comparison.rows)
    body = []
    for name in METRICS:
        best = best_policies(comparison.rows, name)
        cells = "".join(_cell(row, name, row.policy in best) for row in comparison.rows)
        bound = _bound_cell(comparison.bounds.get(name))
        title = escape(marked(name, comparison.assumed))
        body.append(f"<tr><th>{title}<small> {_unit(name)}</small></th>{cells}{bound}</tr>")
    return table([f"<tr><th>metric</th>{policies}<th>bound</th></tr>"], body)


def bounds_table(bounds: Mapping[str, Bound]) -> str:
    """Return where each bound comes from and what it proves."""
    body = [
        f"<tr><th>{escape(name)}</th><td>{number(bound.value)}</td>"
        f'<td class="text">{_proof(bound)}</td><td class="text">{escape(bound.method)}</td>'
        f'<td class="text">{escape(bound.condition) or "all runs"}</td></tr>'
        for name, bound in bounds.items()
    ]
    titles = "".join(f'<th style="text-align:left">{title}</th>' for title in ("what it is", "method", "holds for"))
    return table([f"<tr><th>bound of</th><th>value</th>{titles}</tr>"], body)


def definitions_table() -> str:
    """Return what every metric means."""
    body = [
        f'<tr><th>{escape(name)}</th><td class="text">{escape(metric.unit)}</td>'
        f'<td class="text">{DASH if metric.better == "neither" else metric.better}</td>'
        f'<td class="text">{escape(metric.definition)}</td></tr>'
        for name, metric in METRICS.items()
    ]
    titles = "".join(f'<th style="text-align:left">{title}</th>' for title in ("unit", "better", "definition"))
    return table([f"<tr><th>metric</th>{titles}</tr>"], body)


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


def best_policies(rows: Sequence[Row], metric: str) -> set[str]:
    """Return the policies with the best mean; none where all are alike or nothing is better."""
    better = METRICS[metric].better
    means = {row.policy: row.metrics[metric].mean for row in rows if metric in row.metrics}
    means = {policy: mean for policy, mean in means.items() if math.isfinite(mean)}
    if better == "neither" or len(means) < 2:
        return set()
    sign = 1.0 if better == "more" else -1.0
    top = max(sign * mean for mean in means.values())
    tolerance = ROUNDING * max(1.0, abs(top))
    best = {policy for policy, mean in means.items() if sign * mean >= top - tolerance}
    return set() if len(best) == len(means) else best


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
    return f"<td>{number(bound.value)}<small>{bound.kind}</small></td>"


def _proof(bound: Bound) -> str:
    if bound.value is None:
        return "not known"
    if bound.is_exact:
        return "the optimum, proven"
    if bound.is_reached:
        return "the best found: the optimum is this or better"
    return "a limit: no policy is better"


def _waits(row: Row) -> str:
    return '<span title="left pods waiting"> †</span>' if row.has_waiting else ""


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
