"""Tests of the command lines: what must never be missing or present in them."""

from pathlib import Path

import pytest
import yaml

from longshore_lab.cluster import parts
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ClusterRecord:
    for stage in ("node-initialize", "pod-ready"):
        (tmp_path / "stages").mkdir(exist_ok=True)
        (tmp_path / "stages" / f"{stage}.yaml").write_text("")
    (tmp_path / "config").mkdir()
    monkeypatch.setattr(parts, "require_program", lambda name: Path("/bin") / name)
    monkeypatch.setattr(parts, "stages_folder", lambda: tmp_path / "stages")
    ports = {name: number for number, name in enumerate(("etcd", "etcd-peer", *NAMES[1:3]), start=7000)}
    return ClusterRecord(options=ClusterOptions(), ports=ports)


@pytest.mark.parametrize("name", NAMES)
def test_no_part_listens_to_other_machines_or_skips_verification(
    record: ClusterRecord, tmp_path: Path, name: str
) -> None:
    command = " ".join(parts.part(record, tmp_path, name).command)
    assert "0.0.0.0" not in command
    assert "insecure" not in command
    assert "http://" not in command


def test_etcd_asks_for_certificates_of_its_own_authority(record: ClusterRecord, tmp_path: Path) -> None:
    command = parts.part(record, tmp_path, "etcd").command
    assert {"--client-cert-auth", "--peer-client-cert-auth"} <= set(command)
    assert f"--trusted-ca-file={tmp_path / 'pki' / 'etcd-ca.crt'}" in command


def test_the_api_server_knows_nodes_and_rules_and_nobody_unnamed(record: ClusterRecord, tmp_path: Path) -> None:
    command = parts.part(record, tmp_path, "kube-apiserver").command
    assert {"--authorization-mode=Node,RBAC", "--anonymous-auth=false", "--secure-port=7002"} <= set(command)
    assert f"--kubelet-certificate-authority={tmp_path / 'pki' / 'ca.crt'}" in command


@pytest.mark.parametrize(("real_nodes", "want"), [(0, True), (2, False)])
def test_new_nodes_are_tainted_only_where_they_come_up_slowly(
    record: ClusterRecord, tmp_path: Path, real_nodes: int, want: bool
) -> None:
    record.options = ClusterOptions(real_nodes=real_nodes)
    command = parts.part(record, tmp_path, "kube-apiserver").command
    assert ("--disable-admission-plugins=TaintNodesByCondition" in command) is want


def test_kwok_leaves_real_nodes_alone_and_has_its_stages(record: ClusterRecord, tmp_path: Path) -> None:
    command = parts.part(record, tmp_path, "kwok").command
    assert "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake" in command
    assert sum(argument.startswith("--config=") for argument in command) == 2


@pytest.mark.usefixtures("record")
def test_a_scheduler_takes_a_configuration_and_keeps_its_identity(tmp_path: Path) -> None:
    given = {"percentageOfNodesToScore": 100, "clientConnection": {"qps": 7, "kubeconfig": "/elsewhere"}}
    part = parts.scheduler_part(tmp_path, "second", 7009, given)
    assert part.port == 7009
    assert "--secure-port=7009" in part.command
    config = yaml.safe_load((tmp_path / "config" / "second.yaml").read_text())
    assert config["percentageOfNodesToScore"] == 100
    assert config["clientConnection"]["qps"] == 7
    assert config["clientConnection"]["kubeconfig"] == str(tmp_path / "config" / "scheduler.kubeconfig")
    assert config["leaderElection"] == {"leaderElect": False}
    parts.scheduler_part(tmp_path, "second", 7009, given, kubeconfig=tmp_path / "mine")
    config = yaml.safe_load((tmp_path / "config" / "second.yaml").read_text())
    assert config["clientConnection"]["kubeconfig"] == str(tmp_path / "mine")
