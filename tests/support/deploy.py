"""What the tests of `deploy/` share: helm as built by us, and the sets of values that the chart must serve."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.core.words.errors import LongshoreError
from longshore_lab import build
from longshore_lab.cluster.real import host

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart" / "longshore"
RELEASE, NAMESPACE = "longshore-scheduler", "longshore-system"
ALL_ON = ("serviceMonitor.enabled=true", "prometheusRule.enabled=true", "serviceMonitor.labels.team=platform")
REGISTRY = (
    "registryServer.enabled=true",
    "registryServer.tlsSecret=models-tls",
    "registryServer.tokenSecret=models-token",
)
VALUES: dict[str, tuple[str, ...]] = {
    "default": (),
    "model in a ConfigMap": ("model.configMap=longshore-model",),
    "model in a claim": ("model.persistentVolumeClaim=models",),
    "model in an image": ("model.image=models/packing:3",),
    "model from a registry": (
        "model.registry.url=https://models.example:8443/models/el-rl/live/",
        "model.registry.tokenSecret=models-token",
        "model.registry.caConfigMap=models-ca",
        "pluginArguments.preference.watts=1",
    ),
    "a registry of its own": REGISTRY,
    "a registry on a database": (
        *REGISTRY,
        "registryServer.database.secret=models-database",
        "registryServer.database.to[0].ipBlock.cidr=192.0.2.20/32",
        "registryServer.replicas=2",
        "registryServer.extraFrom[0].namespaceSelector.matchLabels.team=platform",
        "registryServer.nodeSelector.disk=fast",
        "registryServer.tolerations[0].operator=Exists",
        "imagePullSecrets[0].name=registry",
    ),
    "a registry that others use": (
        "mode=standalone",
        "registryServer.enabled=true",
        "registryServer.volume.storageClass=fast",
        "networkPolicy.enabled=false",
    ),
    "everything on": (
        *ALL_ON,
        "model.configMap=longshore-model",
        "decisionLog=https://decisions.example:8000/decisions",
        "decisionLogTokenSecret=decisions-token",
        "decisionLogCAConfigMap=decisions-ca",
        f"pluginArguments.modelDigests={{sha256:{'0' * 64}}}",
        "readingsFile=/readings/nodes.json",
        "extraVolumes[0].name=readings",
        "extraVolumes[0].configMap.name=readings",
        "extraVolumeMounts[0].name=readings",
        "extraVolumeMounts[0].mountPath=/readings",
        "pluginArguments.deadline=10ms",
        "pluginArguments.circuit.failures=3",
        "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.team=platform",
        "networkPolicy.extraEgress[0].ports[0].port=8000",
        "networkPolicy.apiServerCIDRs={10.96.0.1/32,192.0.2.10/32}",
        "featureGates.GenericWorkload=true",
        "featureGates.GangScheduling=true",
        "extraArgs={--profiling=false}",
        "serviceAccount.annotations.example=identity",
        "metrics.tlsSecret=metrics-tls",
        "podLabels.team=platform",
        "podAnnotations.note=here",
        "tolerations[0].key=node-role.kubernetes.io/control-plane",
        "tolerations[0].effect=NoSchedule",
        "resources.limits.memory=2Gi",
        "imagePullSecrets[0].name=registry",
    ),
    "everything off": (
        "replicas=1",
        "preemption=false",
        "priorityClass.create=false",
        "podDisruptionBudget.enabled=false",
        "networkPolicy.enabled=false",
        "flowSchema.enabled=false",
    ),
    "nobody reads metrics": ("networkPolicy.metricsFrom=null",),
    "shadow": ("shadow=true", "decisionLog=http://decisions.example:8000/decisions"),
    "by digest": (f"image.digest=sha256:{'a' * 64}", "image.repository=registry.example/longshore-kube-scheduler"),
    "a class that is there": ("priorityClass.create=false", "priorityClass.name=system-cluster-critical"),
    "standalone": ("mode=standalone",),
    "standalone, everything on": (
        *ALL_ON,
        "metrics.tlsSecret=metrics-tls",
        "mode=standalone",
        "onMissingReadings=wait",
        "model.configMap=longshore-model",
        "preemption=false",
    ),
}
"""Names of sets of values, with what `--set` is given."""


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm; whether it failed is for the caller to look at."""
    command = [str(build.require_program("helm")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def settings(*values: str) -> list[str]:
    """Return helm's arguments for some values."""
    return [f"--set={value}" for value in values]


def rendered(*values: str) -> str:
    """Return the chart's objects as YAML."""
    done = helm("template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", *settings(*values))
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(text: str) -> list[dict[str, Any]]:
    """Return the objects of a YAML stream."""
    return [content for content in yaml.safe_load_all(text) if content]


def only(text: str, kind: str) -> dict[str, Any]:
    """Return the one object of a kind."""
    (found,) = (content for content in objects(text) if content["kind"] == kind)
    return found


def named(text: str, kind: str, name: str) -> dict[str, Any]:
    """Return the object of a kind and a name."""
    (found,) = (one for one in objects(text) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


@pytest.fixture(scope="session")
def built_helm(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a missing helm as any missing component: skip, or fail in CI."""
    require_component("helm", build.TOOLS_COMMAND, build.program_path("helm").is_file())


@pytest.fixture(scope="session")
def built_promtool(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a missing promtool in the same way."""
    require_component("promtool", build.TOOLS_COMMAND, build.program_path("promtool").is_file())


@pytest.fixture(scope="session")
def built_kubeadm(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a missing kubeadm in the same way."""
    require_component("kubeadm", build.TOOLS_COMMAND, build.program_path("kubeadm").is_file())


@pytest.fixture(scope="session")
def built_scheduler(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a missing kube-scheduler with the plugin in the same way."""
    name = "longshore-kube-scheduler"
    require_component(name, build.BUILD_COMMAND, build.program_path(name).is_file())


@pytest.fixture(scope="session")
def real_nodes(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a machine that cannot have real nodes in the same way."""
    packages = " ".join(dict.fromkeys((*host.PACKAGES.values(), host.CNI_PACKAGE)))
    try:
        host.check_host()
    except LongshoreError:
        require_component("a container runtime, and root", f"apt-get install {packages}", False)
