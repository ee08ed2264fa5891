"""`longshore place`: the demo's command, end to end on the example cluster."""

import json
from pathlib import Path

import pytest

from longshore.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "small-cluster.json"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["place", *arguments])
    return int(ended.value.code or 0)


def test_place_puts_every_placeable_pod_somewhere_under_every_policy(capsys: pytest.CaptureFixture[str]):
    from longshore.policies import REGISTRY

    assert run(str(EXAMPLE), "--policies", ",".join(REGISTRY.names()), "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["schema"] == 1
    assert [entry["policy"] for entry in payload["runs"]] == list(REGISTRY.names())
    for entry in payload["runs"]:
        # report-1 is too large for every node, files-1 waits for its volume: no policy may place either.
        pending = {decision["pod"] for decision in entry["decisions"] if decision["node"] is None}
        assert pending >= {"shop/report-1", "shop/files-1"}, entry["policy"]
        assert entry["outcome"]["placed"] + entry["outcome"]["pending"] == 11


def test_place_shows_that_the_default_breaks_the_hard_limit_and_energy_latency_does_not(
    capsys: pytest.CaptureFixture[str],
):
    run(str(EXAMPLE), "--policies", "kube-default,energy-latency", "--json")
    runs = {entry["policy"]: entry["outcome"] for entry in json.loads(capsys.readouterr().out)["runs"]}
    assert runs["kube-default"]["beyond_hard_limit"] > 0
    assert runs["energy-latency"]["beyond_hard_limit"] == 0


def test_place_explains_one_pod_on_every_node(capsys: pytest.CaptureFixture[str]):
    assert run(str(EXAMPLE), "--policies", "kube-default", "--explain", "shop/api-1") == 0
    text = capsys.readouterr().out
    explained = text[text.index("shop/api-1 under kube-default") :]
    for node in ("worker-1", "worker-2", "worker-3", "worker-4", "gpu-1", "old-1"):
        assert node in explained
    assert "TaintToleration: node(s) had untolerated taint(s)" in explained
    assert "NodeUnschedulable: node(s) were unschedulable" in explained


def test_place_in_json_gives_only_the_pod_that_is_explained(capsys: pytest.CaptureFixture[str]):
    assert run(str(EXAMPLE), "--policies", "kube-default,random", "--explain", "shop/api-1", "--json") == 0
    for entry in json.loads(capsys.readouterr().out)["runs"]:
        assert [decision["pod"] for decision in entry["decisions"]] == ["shop/api-1"]
        assert entry["outcome"]["placed"] + entry["outcome"]["pending"] == 11


def test_place_checks_the_pod_to_explain_before_it_places_any(monkeypatch: pytest.MonkeyPatch):
    from longshore.deciding import decide

    monkeypatch.setattr(decide, "decide_all", lambda *_: pytest.fail("must not run"))
    assert run(str(EXAMPLE), "--explain", "shop/nobody") == 2


def test_place_repeats_itself_for_a_seed_and_not_for_another(capsys: pytest.CaptureFixture[str]):
    def nodes(seed: str) -> list[str]:
        run(str(EXAMPLE), "--policies", "random", "--seed", seed, "--json")
        return [decision["node"] for decision in json.loads(capsys.readouterr().out)["runs"][0]["decisions"]]

    assert nodes("1") == nodes("1")
    assert len({tuple(nodes(str(seed))) for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([str(EXAMPLE), "--policies", "kube-defalt"], "did you mean `kube-default`", id="misspelt policy"),
        pytest.param([str(EXAMPLE), "--filters", "upstrem"], "did you mean `upstream`", id="misspelt filter set"),
        pytest.param([str(EXAMPLE), "--objective", "wats"], "did you mean `watts`", id="misspelt objective"),
        pytest.param([str(EXAMPLE), "--explain", "shop/web-33"], "did you mean `shop/web-3`", id="misspelt pod"),
        pytest.param(["no-such-file.json"], "cannot read `no-such-file.json`", id="missing file"),
        pytest.param([str(EXAMPLE.parent)], "cannot read", id="a folder"),
        pytest.param([str(EXAMPLE), "--policies", ","], "no policy", id="no policy"),
    ],
)
def test_place_answers_bad_input_with_a_sentence_and_exit_2(
    arguments: list[str], want: str, capsys: pytest.CaptureFixture[str]
):
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert want in captured.err
    assert captured.out == ""


def test_place_says_that_no_pod_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4"}}}
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node]}))
    assert run(str(dump)) == 0
    told = capsys.readouterr()
    assert "no pod waits for a node: there is nothing to place" in told.err
    assert "waiting pod" not in told.out


def test_place_takes_an_objective_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine.yaml").write_text("terms:\n  - {name: ee, weight: 2.0}\n")
    arguments = ("--objective", str(tmp_path / "mine.yaml"), "--policies", "best-fit", "--explain", "shop/api-1")
    assert run(str(EXAMPLE), *arguments) == 0
    assert "reward: ee " in capsys.readouterr().out


def test_place_says_on_stderr_that_there_are_no_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dump = tmp_path / "empty.json"
    dump.write_text('{"kind": "List"}')
    assert run(str(dump), "--policies", "first-fit", "--json") == 0
    assert "no nodes in the dump" in capsys.readouterr().err


def dump_without_figures(folder: Path) -> str:
    amounts = {"cpu": "2", "memory": "8Gi", "pods": "110"}
    labels = {"node.kubernetes.io/instance-type": "m5.large"}
    node = {"metadata": {"name": "a", "labels": labels}, "status": {"allocatable": amounts, "capacity": amounts}}
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    items = [node | {"apiVersion": "v1", "kind": "Node"}, pod | {"apiVersion": "v1", "kind": "Pod"}]
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def test_place_says_what_it_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dump = dump_without_figures(tmp_path)
    assert run(dump, "--policies", "kube-default") == 0
    out, err = capsys.readouterr()
    assert "watts_idle_off (assumed)" in out
    assert "assumed: 1 of 1 nodes have no watts: assumed 0.75 W idle and 3.75 W full for each CPU" in err
    run(dump, "--policies", "kube-default", "--objective", "cost", "--json")
    payload = json.loads(capsys.readouterr().out)
    assert payload["assumed"] == ["watts_idle_on", "watts_idle_off", "terms"]
    assert len(payload["assumptions"]) == 2


def test_place_takes_watts_by_instance_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dump, power = dump_without_figures(tmp_path), tmp_path / "power.yaml"
    power.write_text("types: {m5.large: {idle: 6, full: 20}}")
    assert run(dump, "--policies", "kube-default", "--power-models", str(power), "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["assumed"] == []
    assert payload["runs"][0]["outcome"]["watts_idle_off"] == 13.0


def test_place_names_the_command_for_clusters_where_nothing_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    assert run(str(tmp_path / "empty.json")) == 0
    assert "`longshore savings`" in capsys.readouterr().err
