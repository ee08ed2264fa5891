"""The outside tables as Markdown: each between its marks in the pages."""

import json
from pathlib import Path

import pytest

from longshore_studies.openb import page

MEAN = {"mean": 1.0, "sd": 0.5}
LEVELS = {str(level): MEAN for level in (80, 90, 100, 130)}
ROWS = {
    "fgd": [
        {
            "trace": "small",
            "policy": policy,
            "allocation_percent": LEVELS,
            "bound": {"allocation_percent": {"100": 97.125}},
        }
        for policy in ("fgd", "random")
    ],
    "pwr": [
        {"trace": "small", "policy": "pwr", **{key: {"20": MEAN, "50": MEAN} for key in page.POWER_MEASURES}},
    ],
    "churn": [
        {
            "trace": "small",
            "policy": "fgd",
            "peak_percent": 80,
            "time_factor": 1000,
            **dict.fromkeys(("node_hours", "kwh", "kwh_idle_off", "pods_without_room"), MEAN),
        }
    ],
    "speed": [{"trace": "small", "policy": "fgd", "pods_per_second": 1234.5, "plain_pods_per_second": 99.6}],
}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    for name, rows in ROWS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": rows}))
    return tmp_path


def test_tables_go_between_their_marks(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "page.md"
    written.write_text("before\n<!-- speed -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(page, "PAGES", (written,))
    page.main(tmp_path / "no-data", tables)
    assert written.read_text() == (
        "before\n<!-- speed -->\n\n| trace | policy | pods/s | pods/s without cache |\n| --- | --- | --- | --- |\n"
        "| small | `fgd` | 1,234 | 100 |\n\n<!-- end -->\nafter\n"
    )


def test_allocation_shows_bounds_and_published_figures_where_there_are_any() -> None:
    published = {("small", "fgd"): {100: [2.0, 4.0]}}
    table = page.allocation(ROWS["fgd"], published, 100)
    assert table.splitlines()[0] == "| trace |  | `fgd` | `random` | bound |"
    assert table.splitlines()[2:] == [
        "| small | ours | 1.00 ± 0.50 | 1.00 ± 0.50 | 97.12 |",
        "|  | published | 3.00 ± 1.41 |  |  |",
    ]


def test_power_has_a_line_per_policy_and_one_for_the_bound() -> None:
    rows = [{"trace": "small", "policy": "pwr", "megawatts": {"20": MEAN}, "bound": {"megawatts": {"20": 0.25}}}]
    assert page.power(rows, "megawatts", 2).splitlines()[2:] == ["| small | `pwr` | 1.00 |", "| small | bound | 0.25 |"]
