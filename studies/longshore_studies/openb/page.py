"""Write the outside tables into `docs/results`, from what `benchmarks/tables.sh` left: `python -m … DATA OUT`."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from longshore_studies.openb.tables.levels import published

RESULTS = Path(__file__).parents[3] / "docs" / "results"
PAGES = (RESULTS / "fgd.md", RESULTS / "pwr.md")
"""A table stands between `<!-- name -->` and `<!-- end -->`."""

Row = dict[str, Any]

POWER_MEASURES = {"megawatts": 4, "megawatts_idle_off": 4, "acceptance": 4, "active_nodes": 0}
"""Of the power table: how many decimals each is shown with."""
BOUNDS = {"allocation_percent": "bound", "none_refused_percent": "bound, none refused"}


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_trace(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each trace."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["trace"], []).append(row)
    return found


def allocation(rows: Sequence[Row], beside: dict[tuple[str, str], dict[int, list[float]]], level: int) -> str:
    """Return what is allocated at a level: ours, below it what was published, and the bound."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    bounds = [name for name in BOUNDS if any(str(level) in row.get("bound", {}).get(name, {}) for row in rows)]
    lines = []
    for trace, several in by_trace(rows).items():
        ours = {row["policy"]: row["allocation_percent"][str(level)] for row in several}
        most = [several[0].get("bound", {}).get(name, {}).get(str(level)) for name in bounds]
        cells = [f"{ours[policy]['mean']:.2f} ± {ours[policy]['sd']:.2f}" for policy in policies]
        lines.append([trace, "ours", *cells, *["" if one is None else f"{one:.2f}" for one in most]])
        theirs = [beside.get((trace, policy), {}).get(level) for policy in policies]
        if any(theirs):
            cells = [f"{mean(values):.2f} ± {stdev(values):.2f}" if values else "" for values in theirs]
            lines.append(["", "published", *cells, *[""] * len(bounds)])
    return markdown(["trace", "", *[f"`{policy}`" for policy in policies], *[BOUNDS[name] for name in bounds]], lines)


def power(rows: Sequence[Row], measure: str, decimals: int) -> str:
    """Return one measure at all levels."""
    levels = list(rows[0][measure])
    lines = []
    for trace, several in by_trace(rows).items():
        for row in several:
            cells = [f"{row[measure][level]['mean']:.{decimals}f}" for level in levels]
            lines.append([trace, f"`{row['policy']}`", *cells])
        bound = several[0].get("bound", {}).get(measure)
        if bound:
            lines.append(
                [trace, "bound", *[f"{bound[level]:.{decimals}f}" if level in bound else "" for level in levels]]
            )
    return markdown(["trace", "policy", *[f"{level} %" for level in levels]], lines)


def departures(rows: Sequence[Row]) -> str:
    """Return what clusters cost while pods come and go."""
    names = ("node_hours", "kwh", "kwh_idle_off", "pods_without_room")
    lines = [
        [
            row["trace"],
            f"{row['peak_percent']:.0f}",
            f"{row['time_factor']:,.0f}",
            f"`{row['policy']}`",
            *[f"{row[name]['mean']:,.1f} ± {row[name]['sd']:.1f}" for name in names],
        ]
        for row in rows
    ]
    return markdown(["trace", "peak %", "time factor", "policy", *[name.replace("_", " ") for name in names]], lines)


def sections(data: Path, out: Path) -> dict[str, str]:
    """Return all tables by the name that the pages call them by."""
    expected = data.resolve().parent / "fgd_expected"
    beside = published(expected) if expected.is_dir() else {}
    rows = {name: json.loads((out / f"{name}.json").read_text())["rows"] for name in ("fgd", "pwr", "churn", "speed")}
    speeds = [
        [row["trace"], f"`{row['policy']}`", f"{row['pods_per_second']:,.0f}", f"{row['plain_pods_per_second']:,.0f}"]
        for row in rows["speed"]
    ]
    return {
        **{f"allocation {level}": allocation(rows["fgd"], beside, level) for level in (80, 90, 100, 130)},
        **{
            measure.replace("_", " "): power(rows["pwr"], measure, decimals)
            for measure, decimals in POWER_MEASURES.items()
        },
        "departures": departures(rows["churn"]),
        "speed": markdown(["trace", "policy", "pods/s", "pods/s without cache"], speeds),
    }


def main(data: Path, out: Path) -> None:
    """Put the tables between their marks in the pages."""
    found = sections(data, out)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, table in found.items():
            text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>\n{table}\n\n\g<2>", text, flags=re.DOTALL)
        page.write_text(text, encoding="utf-8")
        print(f"wrote {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
