"""The tables of `longshore table` as text: a line for each row, and the bound after the last row of its trace."""

import pytest

from longshore_studies.openb.commands.table_text import render_churn, render_fgd, render_pwr, render_speed
from longshore_studies.openb.tables.churn import MEASURES, ChurnRow
from longshore_studies.openb.tables.fgd import AllocationRow, Mean
from longshore_studies.openb.tables.pwr import PowerRow
from longshore_studies.openb.tables.speed import Speed


def allocation(trace: str, policy: str) -> AllocationRow:
    return AllocationRow(trace, policy, (1, 2), {80: Mean(79.5, 0.25), 130: Mean(95.0, 0.5)}, 0, 61_234.0, {})


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines() if line]


def test_bounds_stand_below_their_trace(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [allocation("a", "fgd"), allocation("a", "pwr"), allocation("b", "fgd")]
    bounds = {
        trace: {"allocation_percent": {130: 96.0}, "placed_percent": {130: 90}, "none_refused_percent": {130: 95.5}}
        for trace in "ab"
    }
    render_fgd(rows, {}, bounds)
    shown = lines(capsys)
    assert [line[:2] for line in shown[1:-1]] == [
        ["a", "fgd"],
        ["a", "pwr"],
        ["a", "(bound)"],
        ["a", "(bound,"],
        ["b", "fgd"],
        ["b", "(bound)"],
        ["b", "(bound,"],
    ]
    assert shown[1][2:] == ["79.50", "±", "0.25", "95.00", "±", "0.50", "0", "61,234"]


def test_published_values_have_columns_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    render_fgd([allocation("a", "fgd"), allocation("a", "new")], {("a", "fgd"): {80: [79.0, 81.0]}}, {})
    shown = lines(capsys)
    assert shown[0].count("published") == 4
    assert shown[1][2:8] == ["79.50", "±", "0.25", "80.00", "±", "1.41"]
    assert shown[2][2:5] == ["79.50", "±", "0.25"]


def test_power_has_a_line_for_every_measure(capsys: pytest.CaptureFixture[str]) -> None:
    measures = {"megawatts": {20: Mean(0.5, 0.0)}, "active_nodes": {20: Mean(270.0, 1.0)}}
    render_pwr([PowerRow("a", "fgd", (1, 2), measures, 0, 1.0)], {"a": {"active_nodes": {20: 167.0}}})
    shown = lines(capsys)
    assert shown[1] == ["a", "fgd", "megawatts", "0.5000", "±", "0.0000"]
    assert shown[2] == ["a", "fgd", "active", "nodes", "270.0", "±", "1.0"]
    assert shown[3] == ["a", "(bound)", "active", "nodes", "167.0"]


def test_departures_have_a_line_for_every_load(capsys: pytest.CaptureFixture[str]) -> None:
    measures = {name: Mean(float(number), 0.0) for number, name in enumerate(MEASURES)}
    render_churn([ChurnRow("a", "fgd", (1, 2), 20.04, 199.5, 4.0, measures, 0, 1.0)])
    shown = lines(capsys)
    assert shown[1][:5] == ["a", "20.0", "200", "4.00", "fgd"]
    assert len(shown[1]) == 5 + 3 * len(MEASURES)


def test_speeds_stand_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    render_speed([Speed("a", "fgd", 60_000.0, 3000.0, 20.0)])
    assert lines(capsys)[1] == ["a", "fgd", "60,000", "3,000", "20.0"]
