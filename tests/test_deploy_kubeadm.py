"""deploy/kubeadm: kubeadm renders the manifest, and a real kubelet runs it in the place of the cluster's scheduler."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore import __version__
from longshore.core.words.errors import LongshoreError
from longshore.kube.scheduler_config import findings
from longshore.policies.bundle_folder import write_folder
from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.plugin_bundles import packing_bundle
from support.container_images import CONTAINERFILE, import_scheduler, last_stage
from support.deploy import DEPLOY, built_kubeadm, real_nodes
from support.local_cluster import namespace_in, running_cluster

__all__ = ["built_kubeadm", "real_nodes"]

KUBEADM = DEPLOY / "kubeadm"
PROGRAM = "longshore-kube-scheduler"
IMAGE = "longshore-kube-scheduler"
POD = "kube-scheduler-real-0"
SECONDS = 60.0
PROFILES = sorted(KUBEADM.glob("profile-*.yaml"))
EACH_PROFILE = pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def manifest(built_kubeadm: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give the manifest that kubeadm makes of the two files; its folder of patches is that of the repository."""
    folder = tmp_path_factory.mktemp("kubeadm")
    config = folder / "kubeadm.yaml"
    text = (KUBEADM / "kubeadm.yaml").read_text(encoding="utf-8")
    config.write_text(text.replace("/etc/kubernetes/longshore/patches", str(KUBEADM / "patches")), encoding="utf-8")
    command = [str(build.require_program("kubeadm")), "init", "phase", "control-plane", "scheduler", "--dry-run"]
    environment = os.environ | {"KUBEADM_INIT_DRYRUN_DIR": str(folder)}
    done = subprocess.run(
        [*command, f"--config={config}"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = yaml.safe_load((folder / "kube-scheduler.yaml").read_text(encoding="utf-8"))
    return found


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    (found,) = manifest["spec"]["containers"]
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("built_kubeadm")
def test_kubeadm_takes_the_configuration() -> None:
    command = [str(build.require_program("kubeadm")), "config", "validate", f"--config={KUBEADM / 'kubeadm.yaml'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr


def test_the_program_is_found_in_the_image_by_its_name(manifest: dict[str, Any]) -> None:
    stage = last_stage(CONTAINERFILE)
    (path,) = (rest.removeprefix("PATH=") for word, rest in stage if word == "ENV" and rest.startswith("PATH="))
    (place,) = (rest.split()[-1] for word, rest in stage if word == "COPY" and rest.endswith("kube-scheduler"))
    assert any(f"{folder}/{container(manifest)['command'][0]}" == place for folder in path.split(":"))


def test_the_image_is_that_of_the_release(manifest: dict[str, Any]) -> None:
    assert container(manifest)["image"] == f"{IMAGE}:{__version__}"


def test_it_runs_as_the_owner_of_its_kubeconfig_and_with_nothing_else_of_root(manifest: dict[str, Any]) -> None:
    assert manifest["spec"]["securityContext"]["runAsUser"] == 0
    assert container(manifest)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@EACH_PROFILE
def test_every_path_of_a_profile_is_mounted(path: Path, manifest: dict[str, Any]) -> None:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container(manifest)["volumeMounts"]}
    arguments = config["profiles"][-1]["pluginConfig"][0]["args"]

    def read_only(file: str) -> bool:
        above = [str(one) for one in (Path(file), *Path(file).parents) if str(one) in mounts]
        assert above, f"{file} is on no mount"
        return mounts[above[0]]

    assert read_only(config["clientConnection"]["kubeconfig"])
    assert read_only(arguments["modelPath"])
    assert not read_only(arguments["stateFolder"])
    assert not read_only(arguments.get("decisionLog", arguments["stateFolder"]))
    (given,) = (one for one in container(manifest)["command"] if one.startswith("--config="))
    assert read_only(given.removeprefix("--config="))


@EACH_PROFILE
def test_longshore_finds_no_error_in_the_profiles(path: Path) -> None:
    assert [one for one in findings(path.read_bytes()) if one.level == "error"] == []


def test_there_is_one_for_each_profile() -> None:
    sources = (DEPLOY.parent / "scheduler" / "config").glob("profile-*.yaml")
    assert [path.name for path in PROFILES] == sorted(path.name for path in sources)


@pytest.fixture(scope="module")
def cluster(
    built_programs: None, real_nodes: None, require_component: Callable[[str, str, bool], None]
) -> Iterator[LocalCluster]:
    """Give a cluster without a scheduler: one real node, which is the control plane's, and KWOK nodes for pods."""
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())
    with running_cluster(nodes=3, node_cpu="4", node_memory="16Gi", real_nodes=1, has_scheduler=False) as made:
        yield made


@pytest.fixture(scope="module")
def deployed(cluster: LocalCluster, manifest: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> LocalCluster:
    """Do on the node what the guide says; its folders are below another root, as several tests share this machine."""
    root = tmp_path_factory.mktemp("node")
    import_scheduler(cluster, build.program_path(PROGRAM), f"docker.io/library/{IMAGE}:{__version__}", root)
    kubernetes = root / "etc" / "kubernetes"
    (kubernetes / "longshore").mkdir(parents=True)
    shutil.copy(KUBEADM / "profile-plugin.yaml", kubernetes / "longshore" / "scheduler.yaml")
    shutil.copy(cluster.folder / "config" / "scheduler.kubeconfig", kubernetes / "scheduler.conf")
    assert (kubernetes / "scheduler.conf").stat().st_mode & 0o777 == 0o600, "as kubeadm writes it"
    write_folder(root / "var" / "lib" / "longshore" / "model", packing_bundle())
    for volume in manifest["spec"]["volumes"]:
        volume["hostPath"]["path"] = f"{root}{volume['hostPath']['path']}"
    folder = cluster.folder / "real" / "0" / "manifests"
    (folder / ".new").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / ".new").rename(folder / "kube-scheduler.yaml")
    until(lambda: "True" in ready(cluster), cluster)
    return cluster


def ready(cluster: LocalCluster) -> str:
    path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    return cluster.kubectl("-n", "kube-system", "get", "pod", POD, "--ignore-not-found", "-o", path)


def until(condition: Callable[[], bool], cluster: LocalCluster) -> None:
    limit = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < limit, f"not within {SECONDS:g} s\n{state(cluster)}"
        time.sleep(0.2)


def state(cluster: LocalCluster) -> str:
    """Return what kubelet and container say, for the message of a test that failed."""
    try:
        return cluster.kubectl("-n", "kube-system", "describe", "pod", POD) + logs(cluster)[-5000:]
    except LongshoreError as error:
        return str(error)


def logs(cluster: LocalCluster) -> str:
    return cluster.kubectl("-n", "kube-system", "logs", POD, "--tail=-1")


def placed(cluster: LocalCluster, namespace: str) -> dict[str, str]:
    found = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if "nodeName" in one["spec"]}


def pods(scheduler: str, count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
        spec = {
            "schedulerName": scheduler,
            "nodeSelector": {"type": "kwok"},
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        }
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{scheduler}-{number}"}, "spec": spec}


def test_it_places_the_pods_of_both_profiles(deployed: LocalCluster) -> None:
    with namespace_in(deployed) as namespace:
        contents = [*pods("longshore", 6), *pods("default-scheduler", 6)]
        deployed.kubectl("apply", "-n", namespace, "-f", "-", stdin="\n---\n".join(map(json.dumps, contents)))
        until(lambda: len(placed(deployed, namespace)) == 12, deployed)
        nodes = placed(deployed, namespace)
        assert len({node for name, node in nodes.items() if name.startswith("longshore")}) == 1, "the policy packs"
        assert len({node for name, node in nodes.items() if name.startswith("default")}) > 1, "upstream's scores spread"
        deployed.kubectl("delete", "pods", "--all", "-n", namespace, "--grace-period=0", "--force")


def test_it_has_the_lease_of_the_clusters_scheduler_and_the_rights_that_it_needs(deployed: LocalCluster) -> None:
    """Upstream's own role for kube-scheduler, and nothing added to it."""
    path = "jsonpath={.spec.holderIdentity}"
    holder = deployed.kubectl("-n", "kube-system", "get", "lease", "kube-scheduler", "-o", path)
    assert holder.startswith(socket.gethostname()), "on the host's network the pod has the host's name"
    text = logs(deployed).lower()
    assert "acquired lease" in text, "this is a scheduler's log"
    assert "forbidden" not in text, text
    note = "jsonpath={.metadata.annotations}"
    on_lease = deployed.kubectl("-n", "kube-system", "get", "lease", "kube-scheduler", "-o", note)
    assert "longshore.dev/trial-longshore" in on_lease, "the bundle's trial is noted"
