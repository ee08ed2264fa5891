"""Pod lists that go further than those at hand (`openb.lists`)."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longshore_studies.openb.tables.openb import GPU_MILLI, POD_PREFIX, find_traces, read_nodes, read_pods
from studies.openb.tables.small_trace import TRACE, write_small_trace


def drawn(folder: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "longshore_studies.openb.lists",
        "--data",
        str(folder),
        "--out",
        str(out),
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_small_trace(tmp_path_factory.mktemp("trace"), num_pods=20_000)
    (folder / f"{POD_PREFIX}{TRACE}.csv").rename(folder / f"{POD_PREFIX}default.csv")
    return folder


@pytest.fixture(scope="module")
def lists(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lists")
    assert drawn(folder, out).returncode == 0
    return out


@pytest.mark.parametrize(
    ("trace", "cpu_pods", "partial", "several"),
    [
        ("drawn-default", 0.133, 0.285, 0.073),
        ("drawn-cpu250", 0.25, 0.285, 0.073),
        ("drawn-gpushare80", 0.133, 0.8, 0.015),
        ("drawn-gpushare100", 0.133, 1.0, 0.0),
        ("drawn-multigpu50", 0.133, 0.1535, 0.5),
        ("drawn-gpuspec33", 0.133, 0.285, 0.073),
    ],
)
def test_a_list_has_the_shares_that_its_name_says(
    lists: Path, trace: str, cpu_pods: float, partial: float, several: float
) -> None:
    milli = read_pods(lists, trace).total_gpu_milli
    assert np.mean(milli == 0) == pytest.approx(cpu_pods, abs=0.002)
    total = milli.sum()
    assert milli[(milli > 0) & (milli < GPU_MILLI)].sum() / total == pytest.approx(partial, abs=0.02)
    assert milli[milli > GPU_MILLI].sum() / total == pytest.approx(several, abs=0.01)


def test_a_third_of_the_pods_with_gpus_is_bound_to_models_that_others_are_bound_to(folder: Path, lists: Path) -> None:
    pods = read_pods(lists, "drawn-gpuspec33")
    has_gpu = pods.total_gpu_milli > 0
    is_bound = np.array([bool(models) for models in pods.models])
    assert np.mean(is_bound[has_gpu]) == pytest.approx(0.33, abs=0.02)
    assert not is_bound[~has_gpu].any()
    assert set(pods.models) == set(read_pods(folder, "default").models)


def test_lists_without_bound_pods_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "data")
    file = tmp_path / "data" / f"{POD_PREFIX}default.csv"
    rows = [row.split(",") for row in file.read_text().splitlines()]
    file.write_text(
        "\n".join(",".join([*row[:5], "" if at else row[5], *row[6:]]) for at, row in enumerate(rows)) + "\n"
    )
    found = drawn(tmp_path / "data", tmp_path / "out")
    assert found.returncode != 0
    assert "no pod is bound to GPU models" in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_list_asks_for_as_much_as_the_default_one(folder: Path, lists: Path) -> None:
    wanted = read_pods(folder, "default").total_gpu_milli.sum()
    for trace in find_traces(lists):
        assert read_pods(lists, trace).total_gpu_milli.sum() == pytest.approx(wanted, rel=0.05)
    assert read_nodes(lists).names == read_nodes(folder).names


def test_another_seed_draws_other_lists_and_the_same_one_the_same(folder: Path, lists: Path, tmp_path: Path) -> None:
    name = f"{POD_PREFIX}drawn-default.csv"
    for seed, is_same in (("0", True), ("1", False)):
        assert drawn(folder, tmp_path / seed, "--seed", seed).returncode == 0
        assert ((tmp_path / seed / name).read_text() == (lists / name).read_text()) == is_same


def test_a_list_without_one_kind_of_pods_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for file in folder.iterdir():
        rows = file.read_text().splitlines()
        # Without those that want no GPU.
        kept = [row for row in rows if file.name != f"{POD_PREFIX}default.csv" or row.split(",")[3] != "0"]
        (tmp_path / "data" / file.name).write_text("\n".join(kept) + "\n")
    found = drawn(tmp_path / "data", tmp_path / "out")
    assert found.returncode != 0
    assert "expected pods of each" in found.stderr
