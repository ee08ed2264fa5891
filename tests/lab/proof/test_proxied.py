"""The schedulers behind the proxy: what they are started with; no process is started."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from longshore_lab.cluster import parts
from longshore_lab.cluster.access import rules_of
from longshore_lab.proof import proxied
from longshore_lab.proof.proxied import THROUGH

KUBECONFIG = {"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": []}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "config").mkdir()

    def kubeconfig_for(account: str) -> Path:
        path = tmp_path / "config" / f"{account}.kubeconfig"
        path.write_text(yaml.safe_dump({**KUBECONFIG, "users": [{"user": {"token": account}}]}))
        return path

    kubeconfig_for("scheduler")
    monkeypatch.setattr(parts, "require_program", lambda name: Path("/bin") / name)
    monkeypatch.setattr(proxied, "claim_ports", lambda record, names: record.ports.update(dict.fromkeys(names, 2)))
    record = SimpleNamespace(ports={})
    return SimpleNamespace(folder=tmp_path, record=record, kubeconfig_for=kubeconfig_for)


@pytest.mark.parametrize("through", THROUGH)
def test_it_speaks_to_the_proxy_with_its_own_credentials(cluster: Any, through: str, tmp_path: Path) -> None:
    proxy: Any = SimpleNamespace(url="https://127.0.0.1:3")
    process = THROUGH[through].make(cluster, proxy, tmp_path / "log")
    text = (tmp_path / "config" / "proxied.kubeconfig").read_text()
    owner = {"schedule": "longshore-scheduler", "plugin": "longshore-plugin", "stock": "scheduler"}[through]
    assert "https://127.0.0.1:3" in text
    assert f"token: {owner}" in text
    if through != "schedule":
        config = yaml.safe_load((tmp_path / "config" / "proxied.yaml").read_text())
        assert config["clientConnection"]["kubeconfig"].endswith("proxied.kubeconfig")
        assert config["leaderElection"]["leaderElect"]
        assert "longshore" in [profile["schedulerName"] for profile in config["profiles"]]
        assert (config["profiles"][-1].get("plugins") is not None) == (through == "plugin")
    else:
        assert "--no-leader-elect" not in process._command


@pytest.mark.parametrize("through", ["schedule", "plugin"])
def test_its_lease_is_the_one_to_which_the_chart_gives_a_right(through: str) -> None:
    account = {"schedule": "longshore-scheduler", "plugin": "longshore-plugin"}[through]
    roles = [content for _, content in rules_of(account) if content["kind"] == "Role"]
    allowed = {f"{role['metadata']['namespace']}/{name}" for role in roles for rule in role["rules"]
               for name in rule.get("resourceNames", ())}  # fmt: skip
    assert THROUGH[through].lease in allowed
    assert THROUGH[through].lease_path.endswith(f"/leases/{THROUGH[through].lease.partition('/')[2]}")
