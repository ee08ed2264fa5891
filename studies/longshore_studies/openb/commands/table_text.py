"""How `longshore table` shows its tables as text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longshore.cli.output import write_table

if TYPE_CHECKING:
    from longshore_studies.openb.tables.batch_bounds import Bounds
    from longshore_studies.openb.tables.churn import ChurnRow
    from longshore_studies.openb.tables.fgd import AllocationRow, Mean
    from longshore_studies.openb.tables.pwr import PowerRow
    from longshore_studies.openb.tables.speed import Speed

BOUND, CLOSER_BOUND = "(bound)", "(bound, none refused)"
"""Stand in the place of a policy."""


def render_fgd(
    rows: "Sequence[AllocationRow]",
    published: Mapping[tuple[str, str], Mapping[int, Sequence[float]]],
    bounds: "Mapping[str, Bounds]",
) -> None:
    """Print allocation by level, what was published beside it, and the bound below each trace."""
    from longshore_studies.openb.tables.fgd import LEVELS, published_mean

    lines: list[tuple[str, ...]] = []
    for row, is_last in zip(rows, _is_last([row.trace for row in rows]), strict=True):
        cells = [row.trace, row.policy]
        for level in LEVELS:
            cells.append(_mean(row.allocation_percent.get(level), 2))
            if published:
                cells.append(_mean(published_mean(published.get((row.trace, row.policy), {}), level), 2))
        lines.append((*cells, str(row.refusals), f"{row.pods_per_second:,.0f}"))
        if is_last and row.trace in bounds:
            for name, measure in ((BOUND, "allocation_percent"), (CLOSER_BOUND, "none_refused_percent")):
                most = bounds[row.trace][measure]
                if not most:
                    continue
                beside = [""] if published else []
                cells = [cell for level in LEVELS for cell in (_number(most.get(level), 2), *beside)]
                lines.append((row.trace, name, *cells, "", ""))
    columns = [name for level in LEVELS for name in (f"{level} %", *(["published"] if published else []))]
    write_table(("trace", "policy", *columns, "refusals", "pods/s"), lines)
    print(
        f"\nGPUs allocated in percent, by percent of them that were asked for: mean ± sd of {len(rows[0].seeds)} seeds."
        " Refusals: pods without a node while one had room. Blank: some seed's demand ends below the level (`--ratio`)"
    )


def render_pwr(rows: "Sequence[PowerRow]", bounds: "Mapping[str, Bounds]") -> None:
    """Print a line for each measure."""
    from longshore_studies.openb.tables.pwr import LEVELS

    lines: list[tuple[str, ...]] = []
    for row, is_last in zip(rows, _is_last([row.trace for row in rows]), strict=True):
        for name, by_level in row.measures.items():
            decimals = 1 if name == "active_nodes" else 4
            values = [_mean(by_level.get(level), decimals) for level in LEVELS]
            lines.append((row.trace, row.policy, name.replace("_", " "), *values))
        if is_last:
            for name, least in bounds.get(row.trace, {}).items():
                decimals = 1 if name == "active_nodes" else 4
                values = [_number(least.get(level), decimals) for level in LEVELS]
                lines.append((row.trace, BOUND, name.replace("_", " "), *values))
    write_table(("trace", "policy", "measure", *(f"{level} %" for level in LEVELS)), lines)
    print(f"\nBy percent of the cluster's GPUs that were asked for: mean ± sd of {len(rows[0].seeds)} seeds")


def render_churn(rows: "Sequence[ChurnRow]") -> None:
    """Print a line for each load."""
    from longshore_studies.openb.tables.churn import MEASURES

    lines = [
        (
            row.trace,
            f"{row.peak_percent:.1f}",
            f"{row.time_factor:,.0f}",
            f"{row.hours:.2f}",
            row.policy,
            *(_mean(row.measures[name], 1) for name in MEASURES),
        )
        for row in rows
    ]
    names = [name.replace("_", " ") for name in MEASURES]
    write_table(("trace", "peak %", "time factor", "hours", "policy", *names), lines)
    print(f"\nWhile pods arrive, of which a hundredth is there at the start: mean ± sd of {len(rows[0].seeds)} seeds")


def render_speed(rows: "Sequence[Speed]") -> None:
    """Print both speeds and their ratio."""
    lines = [
        (row.trace, row.policy, f"{row.pods_per_second:,.0f}", f"{row.plain_pods_per_second:,.0f}", f"{row.ratio:.1f}")
        for row in rows
    ]
    write_table(("trace", "policy", "pods/s", "pods/s without cache", "ratio"), lines)


def _is_last(traces: Sequence[str]) -> list[bool]:
    """Say of every row whether it is the last of its trace."""
    return [trace != following for trace, following in zip(traces, [*traces[1:], None], strict=True)]


def _mean(value: "Mean | None", decimals: int) -> str:
    return "" if value is None else f"{value.mean:.{decimals}f} ± {value.sd:.{decimals}f}"


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"
