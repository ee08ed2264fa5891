"""The report's plots: runs over time, distributions, and means with intervals. Series and rows in, SVG out.

Every function draws one figure and returns None where there is nothing to draw.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.ticker import MaxNLocator, PercentFormatter

from longshore.core.arrays.ops import Array
from longshore.core.words.text import shorten
from longshore.core.words.trace import Create, Trace
from longshore.evaluation.base import Bound
from longshore.evaluation.colours import GRID, INK, MUTED
from longshore.evaluation.comparison import Comparison, Row
from longshore.evaluation.metrics import METRICS
from longshore.evaluation.report_svg import (
    FONT_SIZE,
    Style,
    dress,
    make_figure,
    render,
    settings,
)
from longshore.evaluation.series import SUCCESS_PODS, Series, moving_average

AVERAGE_PLACEMENTS = SUCCESS_PODS
"""Placements in the moving average of the latency."""
AVERAGE_SHARE = 1.0 / 20.0
"""The moving average of active nodes is over this share of the run."""
MAX_ROWS = 12
"""With more nodes than this, pods per node are shades instead of heights."""
# About the pixels of a plot: finer is not seen, and pages stay small however long a run is.
_POINTS = 600
_DOTS = 800
_CARD_WIDTH = 360.0
_WIDE = (590.0, 250.0)
_LINE = 1.5
# Of the dashes of lines that lie on one another, in line widths.
_STRIPE = 5.0
_THIN = 0.9
_FAINT = 0.45
_NAME_CHARACTERS, _NODE_CHARACTERS = 28, 14
_MAX_MARKERS = 40
_LIMIT_TEXT: dict[str, Any] = {"color": INK, "fontsize": FONT_SIZE - 1.0}

Curves = Mapping[str, tuple[Array, Array]]
"""By policy: x and y of a line."""


class Limits(NamedTuple):
    """The latency limits that the pods of a workload have, each value once."""

    soft_ms: tuple[float, ...] = ()
    hard_ms: tuple[float, ...] = ()


def latency_limits(trace: Trace) -> Limits:
    """Return the limits of a trace's pods."""
    specs = [event.pod.spec for event in trace.events if isinstance(event, Create)]
    soft = {spec.latency_soft_ms for spec in specs if spec.latency_soft_ms is not None}
    hard = {spec.latency_hard_ms for spec in specs if spec.latency_hard_ms is not None}
    return Limits(tuple(sorted(soft)), tuple(sorted(hard)))


class Scales(NamedTuple):
    """The largest values of several runs: drawn side by side, they must have the same scales."""

    pods: float
    active_nodes: float
    latency_ms: float | None
    """None = no run has a reading."""


def shared_scales(series: Sequence[Series], limits: Limits) -> Scales:
    """Return the scales that fit all runs."""
    latencies = [values.max() for values in (_placements(one)[1] for one in series) if len(values)]
    lines = [value for value, _, _ in _limit_lines(limits)]
    return Scales(
        pods=max([1.0, *(float(one.pods_per_node.max(initial=0)) for one in series)]),
        active_nodes=max([1.0, *(float(one.active_nodes.max(initial=0)) for one in series)]),
        latency_ms=float(max([1.0, *latencies, *lines])) if latencies else None,
    )


def plot_run(series: Series, style: Style, limits: Limits, scales: Scales, name: str) -> str | None:
    """Draw one run: pods per node, active nodes and latency, above one another over the same time."""
    if not len(series.times):
        return None
    unit, scale = _time_unit(series.end - series.start)
    has_latency = scales.latency_ms is not None
    with settings():
        figure = make_figure(_CARD_WIDTH, 400.0 if has_latency else 290.0)
        rows = figure.subplots(
            3 if has_latency else 2, 1, sharex=True, height_ratios=(1.5, 1.0, 1.0)[: 2 + has_latency]
        )
        _draw_pods(rows[0], series, style, scale, scales.pods)
        _draw_active(rows[1], series, style, scale, scales.active_nodes)
        if scales.latency_ms is not None:
            _draw_latency(rows[2], series, style, limits, scale, scales.latency_ms)
        rows[-1].set_xlabel(f"time ({unit})", color=MUTED)
        rows[-1].set_xlim(series.start / scale, max(series.end, series.start + 1e-9) / scale)
        figure.align_ylabels(rows)
        return render(figure, name, f"{series.policy}: pods per node, active nodes and latency over time")


def active_curves(series: Sequence[Series]) -> Curves:
    """Return the moving average of active nodes over seconds."""
    drawn = [one for one in series if len(one.times)]
    return {one.policy: _active_average(one) for one in drawn}


def latency_curves(series: Sequence[Series]) -> Curves:
    """Return the moving average of the latency of placements over seconds."""
    curves = {}
    for one in series:
        times, values = _placements(one)
        if len(times):
            kept = _thin(len(times), _POINTS)
            curves[one.policy] = (times[kept], moving_average(values, AVERAGE_PLACEMENTS)[kept])
    return curves


def success_curves(series: Sequence[Series]) -> Curves:
    """Return the share of successes in every 30 placements, each block at its last placement."""
    curves = {}
    for one in series:
        values = one.success_per_block()
        if len(values):
            # The last block may be of fewer.
            ends = np.minimum(SUCCESS_PODS * np.arange(1, len(values) + 1), int(one.is_placed.sum()))
            kept = _thin(len(values), _POINTS)
            curves[one.policy] = (ends[kept], values[kept])
    return curves


def distribution_curves(series: Sequence[Series]) -> Curves:
    """Return which share of placements has at most a latency; all runs of a policy together."""
    pooled: dict[str, list[Array]] = {}
    for one in series:
        pooled.setdefault(one.policy, []).append(_placements(one)[1])
    joined = {policy: np.concatenate(parts) for policy, parts in pooled.items()}
    return {policy: _cumulative(values) for policy, values in joined.items() if len(values)}


def same_curves(curves: Curves) -> list[list[str]]:
    """Return the policies that draw one and the same line, so that a reader looks for none of them in vain."""
    groups: list[list[str]] = []
    for policy, curve in curves.items():
        for group in groups:
            if _is_same(curves[group[0]], curve):
                group.append(policy)
                break
        else:
            groups.append([policy])
    return [group for group in groups if len(group) > 1]


def plot_active(curves: Curves, styles: Mapping[str, Style], name: str) -> str | None:
    """Draw `active_curves`."""
    if not curves:
        return None
    with settings():
        figure = make_figure(*_WIDE)
        axes = figure.subplots()
        unit = _draw_over_time(axes, curves, styles)
        dress(axes, x_label=f"time ({unit})", y_label="active nodes")
        axes.set_ylim(bottom=0.0)
        return render(figure, name, "Active nodes over time, moving average of each policy")


def plot_latency(curves: Curves, styles: Mapping[str, Style], limits: Limits, name: str) -> str | None:
    """Draw `latency_curves` with the limits."""
    if not curves:
        return None
    with settings():
        figure = make_figure(*_WIDE)
        axes = figure.subplots()
        unit = _draw_over_time(axes, curves, styles)
        dress(axes, x_label=f"time ({unit})", y_label="latency (ms)")
        _draw_limits(axes, limits)
        axes.set_ylim(bottom=0.0)
        return render(figure, name, "Latency of placements over time, moving average of each policy")


def plot_success(curves: Curves, styles: Mapping[str, Style], name: str) -> str | None:
    """Draw `success_curves`."""
    if not curves:
        return None
    with settings():
        figure = make_figure(*_WIDE)
        axes = figure.subplots()
        dress(axes, x_label="placements", y_label="successes")
        own = _striped(curves, styles)
        for policy, (ends, share) in curves.items():
            _line(axes, ends, share, own[policy], marker=own[policy].marker if len(ends) <= _MAX_MARKERS else "")
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        return render(figure, name, f"Success rate of every {SUCCESS_PODS} placements, by policy")


def plot_distribution(curves: Curves, styles: Mapping[str, Style], limits: Limits, name: str) -> str | None:
    """Draw `distribution_curves` with the limits."""
    if not curves:
        return None
    with settings():
        figure = make_figure(*_WIDE)
        axes = figure.subplots()
        dress(axes, x_label="latency of a placement (ms)", y_label="share of placements", grid="both")
        own = _striped(curves, styles)
        for policy, (latency, share) in curves.items():
            _line(axes, latency, share, own[policy], is_step=True)
        for value, word, dashes in _limit_lines(limits):
            axes.axvline(value, color=INK, linewidth=_THIN, dashes=dashes)
            axes.text(value, 1.0, word, transform=axes.get_xaxis_transform(), **_LIMIT_TEXT, ha="center", va="bottom")
        axes.set_ylim(0.0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlim(left=0.0)
        return render(figure, name, "Cumulative distribution of the latency of placements, by policy")


def plot_intervals(comparison: Comparison, metric: str, styles: Mapping[str, Style], name: str) -> str | None:
    """Draw a metric's mean and interval for each policy, with the bound as a line."""
    rows = [row for row in comparison.rows if metric in row.metrics and math.isfinite(row.metrics[metric].mean)]
    if not rows:
        return None
    with settings():
        figure = make_figure(_CARD_WIDTH, 62.0 + 19.0 * len(rows))
        axes = figure.subplots()
        unit = METRICS[metric].unit
        dress(axes, x_label=metric if unit == "1" else f"{metric} ({unit})", grid="x")
        short = shorten([row.policy for row in rows], _NAME_CHARACTERS)
        axes.set_yticks(range(len(rows)), [short[row.policy] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        for number, row in enumerate(rows):
            _draw_interval(axes, number, row, metric, styles[row.policy])
        bound = comparison.bounds.get(metric)
        if bound is not None and bound.value is not None and holds(bound, rows):
            dashes = (None, None) if bound.is_exact else (4.0, 2.0)
            axes.axvline(bound.value, color=INK, linewidth=1.2, dashes=dashes, zorder=1.5)
        low, high = axes.dataLim.intervalx
        # Where all are alike, the width means nothing; without this it would be a hair's.
        spare = 0.08 * (high - low) if high > low else max(0.1 * abs(high), 0.5)
        axes.set_xlim(-0.05 if low == high == 0.0 else low - spare, high + spare)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        return render(figure, name, f"Mean and interval of {metric} by policy")


def holds(bound: Bound, rows: Sequence[Row]) -> bool:
    """Say whether a bound is one for all of these policies: most speak of runs in which no pod waits."""
    return not bound.condition or not any(row.has_waiting for row in rows)


def time_average(series: Series, values: Array, at: Array) -> Array:
    """Return the mean of `values` [steps] over the last part of the run before each moment of `at`.

    Weighted by time: a step counts for as long as it lasts. Near the start the mean is over less.
    """
    edges = np.concatenate([[series.start], np.clip(series.times, series.start, series.end), [series.end]])
    held = np.concatenate([[0.0], values])
    integral = np.concatenate([[0.0], np.cumsum(held * np.diff(edges))])
    since = np.maximum(at - average_seconds(series), series.start)
    seconds = at - since
    area = np.interp(at, edges, integral) - np.interp(since, edges, integral)
    return np.where(seconds > 0, area / np.where(seconds > 0, seconds, 1.0), np.nan)


def average_seconds(series: Series) -> float:
    """Return how long the moving average of active nodes looks back."""
    return (series.end - series.start) * AVERAGE_SHARE


def _draw_pods(axes: Axes, series: Series, style: Style, scale: float, largest: float) -> None:
    dress(axes, grid="x")
    grid = _grid(series)
    pods = _hold(series, series.pods_per_node, grid)
    num_nodes = pods.shape[1]
    if num_nodes > MAX_ROWS:
        _draw_shades(axes, series, style, scale, pods, largest)
        return
    # Each node is a row of its own height: lines of several nodes in one would hide each other.
    height = largest * 1.12
    for node in range(num_nodes):
        base = (num_nodes - 1 - node) * height
        axes.axhline(base, color=GRID, linewidth=0.7)
        axes.fill_between(
            grid / scale, base, base + pods[:, node], step="post", color=style.colour, alpha=0.75, linewidth=0.0
        )
    centres = [(num_nodes - 1 - node) * height + largest / 2.0 for node in range(num_nodes)]
    axes.set_yticks(centres, [*shorten(series.node_names, _NODE_CHARACTERS).values()])
    axes.tick_params(axis="y", length=0.0, labelsize=FONT_SIZE - (0.5 if num_nodes <= 8 else 2.0))
    axes.set_ylim(0.0, num_nodes * height)
    axes.set_ylabel("pods per node", color=MUTED)
    axes.set_title(f"row height = {largest:g} pods", fontsize=FONT_SIZE - 1.0, color=MUTED, loc="right", pad=3.0)


def _draw_shades(axes: Axes, series: Series, style: Style, scale: float, pods: Array, largest: float) -> None:
    """Draw nodes as rows of pixels; no pods is the page's own colour, light or dark."""
    red, green, blue = to_rgb(style.colour)
    shades = LinearSegmentedColormap.from_list("pods", [(red, green, blue, 0.0), (red, green, blue, 1.0)])
    extent = (series.start / scale, max(series.end, series.start + 1e-9) / scale, pods.shape[1] - 0.5, -0.5)
    axes.imshow(pods.T, cmap=shades, vmin=0.0, vmax=largest, aspect="auto", extent=extent, interpolation="nearest")
    axes.grid(visible=False)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylabel("node number", color=MUTED)
    axes.set_title(f"full colour = {largest:g} pods", fontsize=FONT_SIZE - 1.0, color=MUTED, loc="right", pad=3.0)


def _draw_active(axes: Axes, series: Series, style: Style, scale: float, largest: float) -> None:
    dress(axes, y_label="active nodes")
    grid = _grid(series)
    raw = _hold(series, series.active_nodes, grid)
    axes.plot(grid / scale, raw, drawstyle="steps-post", color=style.colour, linewidth=0.8, alpha=_FAINT)
    at, average = _active_average(series)
    axes.plot(at / scale, average, color=style.colour, linewidth=_LINE)
    axes.set_ylim(0.0, largest * 1.08)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def _draw_latency(axes: Axes, series: Series, style: Style, limits: Limits, scale: float, largest_ms: float) -> None:
    dress(axes, y_label="latency (ms)")
    times, values = _placements(series)
    dots = _thin(len(times), _DOTS)
    axes.plot(
        times[dots] / scale, values[dots], ".", color=style.colour, markersize=3.0, alpha=_FAINT, markeredgewidth=0.0
    )
    kept = _thin(len(times), _POINTS)
    average = moving_average(values, AVERAGE_PLACEMENTS)
    axes.plot(times[kept] / scale, average[kept], color=style.colour, linewidth=_LINE)
    _draw_limits(axes, limits)
    axes.set_ylim(0.0, largest_ms * 1.1)
    axes.yaxis.set_major_locator(MaxNLocator(4))


def _draw_limits(axes: Axes, limits: Limits) -> None:
    for value, word, dashes in _limit_lines(limits):
        axes.axhline(value, color=INK, linewidth=_THIN, dashes=dashes)
        axes.text(1.01, value, word, transform=axes.get_yaxis_transform(), **_LIMIT_TEXT, ha="left", va="center")


def _limit_lines(limits: Limits) -> list[tuple[float, str, tuple[float, ...] | tuple[None, None]]]:
    """Return soft limits dashed and hard ones solid, up to three of each: more would be a pattern, not a limit."""
    soft = [(value, "soft", (4.0, 2.0)) for value in limits.soft_ms[:3]]
    hard = [(value, "hard", (None, None)) for value in limits.hard_ms[:3]]
    return [*soft, *hard]


def _draw_over_time(axes: Axes, curves: Curves, styles: Mapping[str, Style]) -> str:
    """Draw curves over seconds in a unit of few digits, and return the unit."""
    start = min(float(times[0]) for times, _ in curves.values())
    end = max(float(times[-1]) for times, _ in curves.values())
    unit, scale = _time_unit(end - start)
    own = _striped(curves, styles)
    for policy, (times, values) in curves.items():
        _line(axes, times / scale, values, own[policy])
    axes.margins(x=0.0)
    return unit


def _striped(curves: Curves, styles: Mapping[str, Style]) -> dict[str, Style]:
    """Return the styles, but of lines that lie on one another each shows its colour where the others leave a gap."""
    own = {policy: styles[policy] for policy in curves}
    for group in same_curves(curves):
        for number, policy in enumerate(group):
            gap = _STRIPE * (len(group) - 1)
            own[policy] = replace(own[policy], dashes=(_STRIPE, gap), offset=_STRIPE * number)
    return own


def _is_same(one: tuple[Array, Array], other: tuple[Array, Array]) -> bool:
    return all(
        len(a) == len(b) and np.allclose(a, b, rtol=0.0, atol=1e-9, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def _draw_interval(axes: Axes, number: int, row: Row, metric: str, style: Style) -> None:
    found = row.metrics[metric]
    if math.isfinite(found.low) and math.isfinite(found.high):
        axes.plot([found.low, found.high], [number, number], color=style.colour, linewidth=2.0, solid_capstyle="butt")
    axes.plot([found.mean], [number], marker=style.marker, color=style.colour, markersize=6.0, linestyle="none")


def _line(axes: Axes, x: Array, y: Array, style: Style, *, is_step: bool = False, marker: str = "") -> None:
    axes.plot(
        x,
        y,
        color=style.colour,
        linewidth=_LINE,
        linestyle=(style.offset, style.dashes) if style.dashes else "solid",
        # A line with more gaps lies on top: what it covers shows in them.
        zorder=3.0 - style.covered,
        dash_capstyle="butt",
        drawstyle="steps-post" if is_step else "default",
        marker=marker,
        markersize=3.5,
    )


def _time_unit(seconds: float) -> tuple[str, float]:
    """Return the unit in which so long a time has few digits, and its seconds."""
    return next(
        (unit, size) for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)) if seconds >= 3 * size or size == 1.0
    )


def _grid(series: Series) -> Array:
    """Return the moments at which a run is drawn: its own where they are few."""
    own = np.unique(np.concatenate([[series.start], series.times, [series.end]]))
    own = own[(own >= series.start) & (own <= series.end)]
    return own if len(own) <= _POINTS else np.linspace(series.start, series.end, _POINTS)


def _hold(series: Series, values: Array, at: Array) -> Array:
    """Return what `values` [steps, ...] are at each moment; before the first step nothing is."""
    step = np.searchsorted(series.times, at, side="right") - 1
    found = np.asarray(values[np.maximum(step, 0)], np.float64)
    found[step < 0] = 0.0
    return found


def _active_average(series: Series) -> tuple[Array, Array]:
    at = np.linspace(series.start, series.end, _POINTS // 2)[1:]
    return at, time_average(series, series.active_nodes, at)


def _placements(series: Series) -> tuple[Array, Array]:
    """Return when pods were placed on nodes with a reading, and at which latency."""
    known = series.is_placed & ~np.isnan(series.latency_ms)
    return series.times[known], series.latency_ms[known]


def _thin(number: int, most: int) -> Array:
    """Return which of `number` points to draw, evenly chosen, the last one among them."""
    return np.unique(np.linspace(0, max(number - 1, 0), min(number, most)).round().astype(np.int64))


def _cumulative(values: Array) -> tuple[Array, Array]:
    """Return latencies and the share of placements that do not exceed them, starting at zero."""
    ordered = np.sort(values)
    latency, last = np.unique(ordered[::-1], return_index=True)
    share = (len(ordered) - last) / len(ordered)
    kept = _thin(len(latency), _POINTS)
    return np.concatenate([[latency[0]], latency[kept]]), np.concatenate([[0.0], share[kept]])
