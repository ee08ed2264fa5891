"""`longshore table` on a small trace: shapes, options and refusals; the numbers are the evaluation's."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.core.words.errors import InputError
from longshore_studies.openb.commands.table import parse_loads, parse_seeds
from longshore_studies.openb.tables.openb import POD_PREFIX
from studies.openb.tables.small_trace import TRACE, write_small_trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_trace(tmp_path_factory.mktemp("data") / "openb")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["table", *arguments])
    return int(ended.value.code or 0)


def test_fgd_answers_in_the_promised_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = "gpu-packing,random"
    assert run("fgd", "--data", str(folder), "--policies", policies, "--seeds", "42-43", "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert list(payload) == ["schema", "rows"]
    assert [row["policy"] for row in payload["rows"]] == policies.split(",")
    for row in payload["rows"]:
        assert list(row) == ["trace", "policy", "seeds", "allocation_percent", "refusals", "pods_per_second"]
        assert (row["trace"], row["seeds"], row["refusals"]) == (TRACE, [42, 43], 0)
        assert set(row["allocation_percent"]) == {"80", "90", "100", "130"}
        assert set(row["allocation_percent"]["130"]) == {"mean", "sd"}


def test_fgd_shows_what_was_published_and_the_bound(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = ",".join(map(str, range(131)))
    values = ",".join(["12.34"] * 131)
    text = f"workload,sc_policy,tune,seed,total_gpus,{levels}\n{POD_PREFIX}{TRACE},04-GpuPacking,1.3,42,1,{values}\n"
    (tmp_path / "allocation_percent.csv").write_text(text)
    options = "--policies", "gpu-packing", "--seeds", "42-43", "--published", str(tmp_path), "--bounds"
    assert run("fgd", "--data", str(folder), *options) == 0
    shown = capsys.readouterr()
    assert "12.34 ± 0.00" in shown.out
    assert "(bound)" in shown.out
    assert "mean ± sd of 2 seeds" in shown.out
    assert "runs (1)" in shown.err


def test_pwr_has_a_bound_beside_every_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--policies", "gpu-packing", "--seeds", "42-43", "--json"
    assert run("pwr", "--data", str(folder), *options) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    for measure in ("megawatts", "megawatts_idle_off", "acceptance", "active_nodes"):
        assert set(row[measure]) == {"20", "50", "80", "90", "100"}
    assert row["bound"]["megawatts"]["20"] <= row["megawatts"]["20"]["mean"]
    assert row["bound"]["active_nodes"]["20"] <= row["active_nodes"]["20"]["mean"]
    assert run("pwr", "--data", str(folder), *options, "--no-bounds") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert "bound" not in row


def test_churn_has_a_row_for_every_load(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--policies", "gpu-packing", "--seeds", "42-43", "--loads", "40,80"
    assert run("churn", "--data", str(folder), *options, "--json") == 0
    low, high = json.loads(capsys.readouterr().out)["rows"]
    assert low["peak_percent"] < high["peak_percent"]
    assert low["time_factor"] < high["time_factor"]


def test_a_cluster_may_be_played_at_another_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--policies", "gpu-packing", "--seeds", "42-43", "--nodes-scale", "0.5", "--ratio", "1.1", "--json"
    assert run("fgd", "--data", str(folder), *options) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert set(row["allocation_percent"]) == {"80", "90", "100"}


def test_speed_has_both_ways_beside_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--traces", TRACE, "--policies", "gpu-packing", "--seeds", "42-43", "--pods", "20"
    assert run("speed", "--data", str(folder), *options, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert list(row) == ["trace", "policy", "pods_per_second", "plain_pods_per_second", "ratio"]


REFUSED = {
    "no folder": (["--data", "nowhere"], "got `nowhere` for the trace, expected a folder"),
    "unknown trace": (["--traces", "smal"], "did you mean `small`"),
    "no trace": (["--traces", ","], "got no traces, expected at least one"),
    "unknown policy": (["--policies", "fdg"], "did you mean `fgd`"),
    "no policy": (["--policies", ","], "got no policies, expected at least one"),
    "bad seeds": (["--seeds", "42-"], "got the seeds `42-`"),
    "bad ratio": (["--ratio", "-1"], "got the ratio -1.0"),
    "a ratio that would never end": (["--ratio", "1e9"], "at most 100"),
    "a seed that is too large": (["--seeds", "4294967296"], "expected a number below 4294967296"),
    "bad scale": (["--nodes-scale", "0"], "got the scale 0.0"),
    "nothing published": (["--published", "nowhere"], "nowhere/allocation_percent.csv"),
}


@pytest.mark.parametrize(("arguments", "want"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_told(folder: Path, arguments: list[str], want: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = [] if "--data" in arguments else ["--data", str(folder)]
    assert run("fgd", *data, "--seeds", "42-43", "--policies", "gpu-packing", *arguments) == 2
    assert want in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "want"), [("42-45", (42, 43, 44, 45)), ("7", (7,)), ("3, 1-2,2", (3, 1, 2)), ("0-0", (0,))]
)
def test_seeds_are_numbers_and_ranges(text: str, want: tuple[int, ...]) -> None:
    assert parse_seeds(text) == want


@pytest.mark.parametrize("text", ["", "a", "5-3", "1,,2", "-1", "1-2-3", "0-5000", "1.5"])
def test_seeds_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="got the seeds"):
        parse_seeds(text)


def test_loads_are_percents() -> None:
    assert parse_loads("20, 50.5,20") == (20.0, 50.5)
    for text in ("", "a", "0", "-5", "nan"):
        with pytest.raises(InputError, match="got the load"):
            parse_loads(text)
