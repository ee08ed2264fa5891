"""`longshore import`: dumps in, a checked summary or one merged dump out, nothing by halves."""

import gzip
import json
from pathlib import Path

import pytest

from longshore.cli.main import main
from longshore.core.words.trace import Create
from longshore.kube.trace_file import read_trace

EXAMPLE = Path(__file__).parents[2] / "examples" / "small-cluster.json"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["import", *arguments])
    return int(ended.value.code or 0)


def write(path: Path, *items: dict[str, object]) -> str:
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": list(items)}))
    return str(path)


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4"}}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}}


def test_import_counts_what_it_read(capsys: pytest.CaptureFixture[str]):
    assert run(str(EXAMPLE), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == 1
    assert report["nodes"] == 6
    assert report["pods"] == {"bound": 4, "pending": 11}
    assert report["unsupported"]["shop/files-1"][0]["plugin"] == "VolumeBinding"


def test_import_merges_dumps_and_leaves_out_what_scheduling_does_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    first, second = write(tmp_path / "nodes.json", NODE), write(tmp_path / "rest.json", CONFIG)
    out = tmp_path / "merged.json"
    assert run(first, second, "--out", str(out), "--json") == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == {"ConfigMap": 1}
    assert [item["kind"] for item in json.loads(out.read_text())["items"]] == ["Node"]
    assert run(str(out)) == 0


def test_import_refuses_a_bad_object_by_name_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = {**NODE, "metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "four"}}}
    out = tmp_path / "merged.json"
    assert run(write(tmp_path / "bad.json", NODE, bad), "--out", str(out)) == 2
    message = capsys.readouterr().err
    assert "Node `b`: field `status.allocatable.cpu`" in message
    assert not out.exists()


def test_import_writes_a_trace_that_can_be_played_back(tmp_path: Path):
    trace = tmp_path / "trace.jsonl"
    assert run(str(EXAMPLE), "--trace", str(trace)) == 0
    played = read_trace(trace.read_bytes().splitlines())
    assert len(played.nodes) == 6
    assert sum(isinstance(event, Create) for event in played.events) == 14  # the claim of files-1 is not bound


def pod(name: str, **spec: object) -> dict[str, object]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def test_import_names_the_pods_that_a_trace_cannot_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dump = write(tmp_path / "d.json", NODE, pod("web"), pod("gated", schedulingGates=[{"name": "wait"}]))
    trace = tmp_path / "trace.jsonl"
    assert run(dump, "--trace", str(trace), "--json") == 0
    told = capsys.readouterr()
    assert "without shop/gated (it is gated)" in told.err
    assert json.loads(told.out)["left_out"] == {"shop/gated": "it is gated"}


@pytest.mark.parametrize("items", [(), (NODE,), (pod("web"),)], ids=["nothing", "no pods", "no nodes"])
def test_import_makes_no_trace_of_an_empty_cluster(
    items: tuple[dict[str, object], ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    trace = tmp_path / "trace.jsonl"
    assert run(write(tmp_path / "d.json", *items), "--trace", str(trace)) == 2
    assert "pods for a trace, expected some of both" in capsys.readouterr().err
    assert not trace.exists()


def test_import_reads_what_gzip_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    packed = tmp_path / "dump.json.gz"
    packed.write_bytes(gzip.compress(EXAMPLE.read_bytes()))
    assert run(str(packed), "--json") == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 6


def test_import_refuses_one_object_in_two_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dump = write(tmp_path / "nodes.json", NODE)
    assert run(dump, dump) == 2
    assert "Node `a`" in capsys.readouterr().err


def test_import_says_what_is_wrong_with_an_unwritable_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(write(tmp_path / "nodes.json", NODE), "--out", str(tmp_path / "missing" / "x.json")) == 2
    assert "cannot write" in capsys.readouterr().err


def test_import_says_on_stderr_that_there_are_no_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(write(tmp_path / "pods.json", CONFIG), "--json") == 0
    captured = capsys.readouterr()
    assert "no nodes in the dump" in captured.err
    assert json.loads(captured.out)["nodes"] == 0


def test_import_writes_nothing_where_one_of_two_files_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "merged.json"
    assert run(write(tmp_path / "nodes.json", NODE), "--out", str(out), "--trace", str(tmp_path)) == 2
    assert "--trace: it is a folder" in capsys.readouterr().err
    assert not out.exists()
