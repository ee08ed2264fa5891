"""Comparisons and runs as one HTML file that needs nothing else: tables, intervals, runs over time, distributions.

What depends on the moment (date, command) is given as text.
"""

from collections.abc import Mapping, Sequence
from html import escape

from longshore.core.words.errors import InputError
from longshore.evaluation import html
from longshore.evaluation import report_page as page
from longshore.evaluation import report_plots as plots
from longshore.evaluation.comparison import BASELINE, Comparison
from longshore.evaluation.report_plots import Limits, latency_limits
from longshore.evaluation.report_svg import Style, assign_styles
from longshore.evaluation.series import SUCCESS_PODS, Series

__all__ = ["Limits", "latency_limits", "render_report"]

INTERVAL_METRICS = ("reward", "active_nodes", "watts", "hard_violations", "latency_ms", "watts_idle_off")
_TITLE = "Policies compared"


def render_report(
    comparisons: Sequence[Comparison],
    series: Sequence[Series],
    *,
    command: str = "",
    date: str = "",
    limits: Mapping[str, Limits] | None = None,
) -> str:
    """Return the report as HTML; the same input gives the same text.

    Args:
        comparisons: one section each, in this order.
        series: runs to draw, each in the section with its workload and objective. Of several seeds of a policy the
            first is drawn over time, and all count in the distribution.
        command: what made the report, for the header.
        date: when, for the header.
        limits: the latency limits of a workload's pods by its name (`latency_limits`), drawn as lines.

    Raises:
        InputError: there is nothing to report.
    """
    if not comparisons and not series:
        raise InputError("got no comparisons and no series, expected at least one", "compare some policies first")
    baseline = comparisons[0].baseline if comparisons else BASELINE
    policies = [row.policy for one in comparisons for row in one.rows] + [one.policy for one in series]
    styles = assign_styles(policies, baseline)
    sections = _sections(comparisons, series)
    body = ""
    for number, (comparison, runs) in enumerate(sections):
        workload = comparison.workload if comparison else runs[0].workload
        body += f'<section id="workload-{number}">\n<h2>{escape(_heading(comparison, runs))}</h2>\n'
        if comparison is not None:
            body += _comparison_part(comparison, styles, f"c{number}")
        if runs:
            body += _series_part(runs, styles, (limits or {}).get(workload, Limits()), f"s{number}")
        body += "</section>\n"
    return html.render_page(f"longshore: {_TITLE.lower()}", _head(sections, command, date), body, _foot())


_Section = tuple[Comparison | None, list[Series]]


def _sections(comparisons: Sequence[Comparison], series: Sequence[Series]) -> list[_Section]:
    """Put each run into the section of its workload and objective; runs that were not compared come last."""
    sections: list[_Section] = [
        (one, [run for run in series if (run.workload, run.objective) == (one.workload, one.objective)])
        for one in comparisons
    ]
    compared = {(one.workload, one.objective) for one in comparisons}
    alone: dict[tuple[str, str], list[Series]] = {}
    for run in series:
        if (run.workload, run.objective) not in compared:
            alone.setdefault((run.workload, run.objective), []).append(run)
    return sections + [(None, runs) for runs in alone.values()]


def _heading(comparison: Comparison | None, runs: Sequence[Series]) -> str:
    if comparison is None:
        return f"{runs[0].workload}, objective {runs[0].objective}"
    return f"{comparison.workload}, {comparison.nodes} nodes, objective {comparison.objective}"


def _head(sections: Sequence[_Section], command: str, date: str) -> str:
    text = f"<h1>{_TITLE}</h1>\n"
    text += "<p>Every policy met the same pods, seed by seed.</p>\n"
    if command:
        text += f'<code class="command">{escape(command)}</code>\n'
    if date:
        text += html.facts([("date", escape(date))])
    if len(sections) > 1:
        links = "".join(
            f'<a href="#workload-{number}">{escape(_heading(*section))}</a> ' for number, section in enumerate(sections)
        )
        text += f"<nav>{links}</nav>\n"
    return text


def _foot() -> str:
    return f"<h2>What the metrics mean</h2>\n{page.definitions_table()}"


def _comparison_part(comparison: Comparison, styles: Mapping[str, Style], prefix: str) -> str:
    text = "".join(f"<p><strong>{escape(told)}.</strong></p>\n" for told in comparison.verdicts)
    text += page.comparison_facts(comparison) + page.assumptions(comparison.assumptions) + page.main_table(comparison)
    text += (
        f'<p class="note">Mean over the seeds with its {html.number(100.0 * comparison.level)} % bootstrap interval; '
        f"Δ is the paired difference to {escape(comparison.baseline)}, with “better” or “worse” where its interval "
        "does not hold zero. ★ marks the best mean. † marks policies that left pods waiting: they can use less "
        "because they do less, and most bounds do not hold for them.</p>\n"
    )
    text += f"<details><summary>All metrics</summary>\n{page.metrics_table(comparison)}</details>\n"
    if comparison.bounds:
        text += f"<details><summary>The bounds</summary>\n{page.bounds_table(comparison.bounds)}</details>\n"
    drawn = [
        page.figure(
            plots.plot_intervals(comparison, metric, styles, f"{prefix}-{metric}"), _bound_caption(comparison, metric)
        )
        for metric in INTERVAL_METRICS
    ]
    if not any(drawn):
        return text
    return text + f'<h3>Means with intervals</h3>\n<div class="grid">{"".join(drawn)}</div>\n'


def _bound_caption(comparison: Comparison, metric: str) -> str:
    bound = comparison.bounds.get(metric)
    if bound is None or bound.value is None:
        return escape(metric)
    line = f"{'solid' if bound.is_exact else 'dashed'} line: {bound.kind}"
    if not plots.holds(bound, comparison.rows):
        line = f"no line, since a policy left pods waiting: {bound.kind}"
    return f"{escape(metric)} <small>{line} {html.number(bound.value)}</small>"


def _series_part(runs: Sequence[Series], styles: Mapping[str, Style], limits: Limits, prefix: str) -> str:
    first: dict[str, Series] = {}
    for run in runs:
        first.setdefault(run.policy, run)
    drawn = list(first.values())
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(run.seed for run in drawn))
    text = f"<h3>All policies, seed {seeds}</h3>\n{page.legend(first, styles)}"
    text += f'<div class="pairs">{_overlays(drawn, runs, styles, limits, prefix)}</div>\n'
    scales = plots.shared_scales(drawn, limits)
    cards = [
        page.figure(
            plots.plot_run(run, styles[run.policy], limits, scales, f"{prefix}-run{number}"),
            f"{escape(run.policy)} <small>seed {run.seed}</small>",
        )
        for number, run in enumerate(drawn)
    ]
    text += "<h3>Policy by policy: pods per node, active nodes, latency</h3>\n"
    text += '<p class="note">Faint: every step and placement; strong: the moving average.</p>\n'
    return text + f'<div class="grid">{"".join(cards)}</div>\n'


def _overlays(
    drawn: Sequence[Series], runs: Sequence[Series], styles: Mapping[str, Style], limits: Limits, prefix: str
) -> str:
    """Return the plots that hold all policies: one run of each, but all of them for the distribution."""
    active, latency = plots.active_curves(drawn), plots.latency_curves(drawn)
    success, distribution = plots.success_curves(drawn), plots.distribution_curves(runs)
    seconds = html.number(max(plots.average_seconds(run) for run in drawn))
    figures = (
        (plots.plot_active(active, styles, f"{prefix}-active"), active, f"Active nodes, mean of the last {seconds} s"),
        (
            plots.plot_latency(latency, styles, limits, f"{prefix}-latency"),
            latency,
            f"Latency, mean of the last {plots.AVERAGE_PLACEMENTS} placements",
        ),
        (plots.plot_success(success, styles, f"{prefix}-success"), success, f"Success rate per {SUCCESS_PODS} pods"),
        (
            plots.plot_distribution(distribution, styles, limits, f"{prefix}-distribution"),
            distribution,
            "Share of placements with at most this latency",
        ),
    )
    return "".join(page.figure(svg, _overlay_caption(text, curves), is_wide=True) for svg, curves, text in figures)


def _overlay_caption(text: str, curves: plots.Curves) -> str:
    groups = "; ".join(" = ".join(group) for group in plots.same_curves(curves))
    return escape(text) + (f"<br><small>On one line: {escape(groups)}</small>" if groups else "")
