"""kube-scheduler with our plugin on a real control plane: a bundle ranks, upstream's scores take over, nobody waits."""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.bundle_files import write_bundle
from longshore.core.network.forward import Op
from longshore.policies.bundle_folder import write_folder
from longshore.store.models import ModelRegistry
from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.plugin_process import PROGRAM, delivered_config, read_series
from longshore_lab.speed.cluster_run import counted_page
from support.local_cluster import namespace_in, running_cluster

NODES = 4
SECONDS = 60.0


@pytest.fixture(scope="module")
def plugin_cluster(built_programs: None, require_component: Callable[[str, str, bool], None]) -> Iterator[LocalCluster]:
    """Give a cluster without a scheduler."""
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())
    with running_cluster(nodes=NODES, node_cpu="16", node_memory="64Gi", has_scheduler=False) as cluster:
        yield cluster


@pytest.fixture
def namespace(plugin_cluster: LocalCluster) -> Iterator[str]:
    with namespace_in(plugin_cluster) as name:
        yield name


class Plugin:
    """Our kube-scheduler with the extra profile `longshore`, a bundle and a decision log."""

    def __init__(self, cluster: LocalCluster, namespace: str, folder: Path) -> None:
        self.cluster, self.namespace, self.folder = cluster, namespace, folder
        self.bundle = folder / "model"
        self.decisions = folder / "decisions.jsonl"

    def start(self, **arguments: Any) -> None:
        """Start it with the profile as it is delivered, but for the paths."""
        config = delivered_config("profile-plugin")
        given = {"modelPath": str(self.bundle), "decisionLog": str(self.decisions), **arguments}
        config["profiles"][1]["pluginConfig"] = [{"name": "Longshore", "args": given}]
        self.cluster.start_scheduler("plugin", config, verbosity=2, program=PROGRAM)

    def stop(self) -> None:
        self.cluster.stop_part("plugin")

    def place(self, prefix: str, count: int, scheduler: str = "longshore") -> list[str]:
        """Create pods and return the nodes that they are bound to."""
        pods = [_pod(f"{prefix}-{number}", scheduler) for number in range(count)]
        self.cluster.kubectl("apply", "-n", self.namespace, "-f", "-", stdin="\n---\n".join(map(json.dumps, pods)))
        names = {pod["metadata"]["name"] for pod in pods}
        limit = time.monotonic() + SECONDS
        while time.monotonic() < limit:
            found = json.loads(self.cluster.kubectl("get", "pods", "-n", self.namespace, "-o", "json"))["items"]
            nodes = [
                pod["spec"]["nodeName"]
                for pod in found
                if pod["metadata"]["name"] in names and "nodeName" in pod["spec"]
            ]
            if len(nodes) == count:
                return sorted(nodes)
            self.cluster.check_alive(["plugin"])
            time.sleep(0.2)
        raise AssertionError(f"{count - len(nodes)} of {count} pods are not bound: {self.cluster.log('plugin')}")

    def metric(self, start: str) -> float:
        """Return the sum of all series that start so, such as `name` or `name{label="value"`."""
        page = asyncio.run(counted_page(self.cluster, self.cluster.record.parts["plugin"], 0))
        return sum(value for series, value in read_series(page).items() if series.startswith(start))

    def until(self, is_over: Callable[[], bool]) -> None:
        limit = time.monotonic() + SECONDS
        while not is_over():
            assert time.monotonic() < limit, f"not within {SECONDS:g} s: {self.cluster.log('plugin')}"
            time.sleep(0.2)

    def events(self, reason: str) -> list[str]:
        """Return the messages of the namespace's events with that reason."""
        arguments = ("get", "events", "-n", self.namespace, f"--field-selector=reason={reason}", "-o", "json")
        return [event["message"] for event in json.loads(self.cluster.kubectl(*arguments))["items"]]

    def logged(self) -> list[dict[str, Any]]:
        """Return the decisions in the log."""
        lines = self.decisions.read_text().splitlines() if self.decisions.exists() else []
        return [decision for decision in map(json.loads, lines) if decision["pod_namespace"] == self.namespace]


@pytest.fixture
def plugin(plugin_cluster: LocalCluster, namespace: str, tmp_path: Path) -> Iterator[Plugin]:
    made = Plugin(plugin_cluster, namespace, tmp_path)
    write_folder(made.bundle, _packing_policy())
    try:
        yield made
    finally:
        made.stop()
        # Waits: the next test looks at where pods go, and these would be in the way.
        plugin_cluster.kubectl("delete", "pods", "--all", "-n", namespace, "--grace-period=0", "--force")


def _packing_policy(weight: float = 1.0) -> Bundle:
    """Return a policy that fills the fullest node, as upstream's scores never do; of empty ones, the lowest name."""
    return Bundle(
        name="packing",
        features=feature_specs(("after_cpu_used",)),
        ops=(Op("linear", ("rows",), "score", ("w", "b")),),
        tensors={"w": np.array([[weight]], np.float32), "b": np.zeros(1, np.float32)},
        objective="ee",
        envelope=Envelope((0.0,), (1.0,)),
        provenance={},
        metrics={},
    )


def _pod(name: str, scheduler: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }


def test_the_bundle_ranks_for_its_profile_and_upstream_for_the_other(plugin: Plugin) -> None:
    plugin.start()
    stock = plugin.place("stock", 8, scheduler="default-scheduler")
    assert len(set(stock)) == NODES, "upstream's scores spread"
    learned = plugin.place("learned", 8)
    assert len(set(learned)) == 1, "the policy packs"
    assert plugin.metric("longshore_fallback_total") == 0
    assert plugin.metric('longshore_model_info{name="packing"') == 1
    assert plugin.metric("longshore_decision_duration_seconds_count") == 8
    plugin.until(lambda: len(plugin.logged()) == 8)
    assert {(one["mode"], one["policy"], one["node"]) for one in plugin.logged()} == {("plugin", "packing", learned[0])}


def test_a_bundle_that_is_deleted_or_damaged_half_way_is_kept(plugin: Plugin) -> None:
    plugin.start()
    (node,) = set(plugin.place("before", 4))
    shutil.rmtree(plugin.bundle)
    plugin.until(lambda: plugin.metric("longshore_model_update_failures_total") == 1)
    assert set(plugin.place("deleted", 4)) == {node}
    plugin.until(lambda: bool(plugin.events("LongshoreModelKept")))
    assert "policy.json" in plugin.events("LongshoreModelKept")[0]
    write_folder(plugin.bundle, _packing_policy(1.5))
    weights = plugin.bundle / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    plugin.until(lambda: plugin.metric("longshore_model_update_failures_total") == 2)
    assert set(plugin.place("damaged", 4)) == {node}
    assert plugin.metric("longshore_fallback_total") == 0


def test_without_a_bundle_upstreams_scores_are_used_until_there_is_one(plugin: Plugin) -> None:
    shutil.rmtree(plugin.bundle)
    plugin.start()
    assert len(set(plugin.place("without", 8))) == NODES
    assert plugin.metric('longshore_fallback_total{reason="model-missing"') == 8
    plugin.until(lambda: bool(plugin.events("LongshoreFallback")))
    assert len(plugin.events("LongshoreFallback")) == 1, "at most one a minute"
    assert "model-missing" in plugin.events("LongshoreFallback")[0]
    write_folder(plugin.bundle, _packing_policy())
    plugin.until(lambda: plugin.metric('longshore_model_info{name="packing"') == 1)
    assert len(set(plugin.place("with", 4))) == 1


def test_a_bundle_without_numbers_is_taken_back(plugin: Plugin) -> None:
    plugin.start()
    (node,) = set(plugin.place("before", 4))
    shutil.rmtree(plugin.bundle)
    # Finite weights whose scores are not: a check of the weights alone does not find it.
    write_folder(plugin.bundle, _overflowing_policy())
    plugin.until(lambda: plugin.metric('longshore_model_info{name="overflowing"') == 1)
    plugin.place("first", 1)
    plugin.until(lambda: plugin.metric('longshore_model_info{name="packing"') == 1)
    assert set(plugin.place("after", 4)) == {node}
    assert plugin.metric('longshore_fallback_total{reason="nan"') == 1


def _overflowing_policy() -> Bundle:
    large = np.full((1, 1), 3e38, np.float32)
    ops = (Op("linear", ("rows",), "first", ("w", "b")), Op("linear", ("first",), "score", ("w", "b")))
    tensors = {"w": large, "b": np.full(1, 3e38, np.float32)}
    return msgspec.structs.replace(_packing_policy(), name="overflowing", ops=ops, tensors=tensors)


@contextlib.contextmanager
def _served(store: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `longshore models serve`; give its address and the process, which a test may end before."""
    start = "from longshore.cli.main import main; main()"
    command = [sys.executable, "-c", start, "models", "serve", "--store", store, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        try:
            yield said.split()[2].partition("/models/")[0], process
        finally:
            process.kill()


def test_a_model_is_taken_by_address_followed_and_kept_when_the_registry_is_gone(
    plugin: Plugin, tmp_path: Path
) -> None:
    store = str(tmp_path / "models.db")
    registry = ModelRegistry(store)
    registry.push(write_bundle(_packing_policy()), name="placing", alias="live")
    with _served(store) as (address, server):
        url = f"{address}/models/placing/live/"
        fetched = {"url": url, "cacheFolder": str(tmp_path / "cache"), "pollInterval": "2s"}
        plugin.start(modelPath="", registry=fetched)
        assert len(set(plugin.place("packed", 8))) == 1
        process = plugin.cluster.record.parts["plugin"].process

        spreading = msgspec.structs.replace(_packing_policy(-1.0), name="spreading")
        assert registry.push(write_bundle(spreading), name="placing").version == 2
        registry.promote("placing", "2", "live")
        plugin.until(lambda: plugin.metric('longshore_model_info{name="spreading"') == 1)
        assert plugin.metric('longshore_model_info{name="packing"') == 0
        assert len(set(plugin.place("spread", 8))) > 1
        assert plugin.cluster.record.parts["plugin"].process == process, "nothing was restarted"

        server.kill()
        plugin.until(lambda: plugin.metric('longshore_model_registry_polls_total{result="unreachable"') > 0)
        plugin.place("alone", 8)
        plugin.until(lambda: bool(plugin.events("LongshoreModelKept")))
        assert url in plugin.events("LongshoreModelKept")[0]
        assert plugin.metric("longshore_fallback_total") == 0

    plugin.stop()
    plugin.start(modelPath="", registry=fetched)
    plugin.place("restarted", 4)
    assert plugin.metric('longshore_model_info{name="spreading"') == 1, "the cache has it"
    assert plugin.metric("longshore_fallback_total") == 0
