"""The chart on a real API server and a real kubelet: what it installs is accepted, runs, and may do no more."""

import json
import shlex
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.policies.bundle_folder import write_folder
from longshore.scheduling.rights import Right, missing_rights
from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.plugin_bundles import packing_bundle
from support.container_images import import_scheduler
from support.deploy import (
    ALL_ON,
    CHART,
    DEPLOY,
    NAMESPACE,
    REGISTRY,
    RELEASE,
    VALUES,
    built_helm,
    helm,
    named,
    objects,
    real_nodes,
    rendered,
    settings,
)
from support.local_cluster import namespace_in, running_cluster

__all__ = ["built_helm", "real_nodes"]

PROGRAM = "longshore-kube-scheduler"
IMAGE = "longshore.dev/kube-scheduler"
SECONDS = 60.0
CRDS = Path(__file__).parent / "support" / "deploy_crds.yaml"


@pytest.fixture(scope="module")
def cluster(
    built_programs: None, built_helm: None, real_nodes: None, require_component: Callable[[str, str, bool], None]
) -> Iterator[LocalCluster]:
    """Give a cluster with one real node for the scheduler's own pods, and KWOK nodes for what it places."""
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())
    with running_cluster(nodes=3, node_cpu="4", node_memory="16Gi", real_nodes=1) as made:
        made.kubectl("apply", "-f", str(DEPLOY / "namespace.yaml"), "-f", str(CRDS))
        made.kubectl("wait", "--for=condition=Established", "-f", str(CRDS), "--timeout=30s")
        yield made


@pytest.fixture(scope="module")
def deployed(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> LocalCluster:
    """Install the chart as its guide does, with the image and the model that there are here."""
    folder = tmp_path_factory.mktemp("deploy")
    import_scheduler(cluster, build.program_path(PROGRAM), f"{IMAGE}:1", folder)
    write_folder(folder / "bundle", packing_bundle())
    files = [f"--from-file={folder / 'bundle' / name}" for name in ("policy.json", "weights.safetensors")]
    cluster.kubectl("create", "configmap", "longshore-model", "-n", NAMESPACE, *files)
    address, _, port = cluster.server.removeprefix("https://").rpartition(":")
    values = settings(
        *("model.configMap=longshore-model", f"image.repository={IMAGE}", "image.pullPolicy=Never"),
        *("nodeSelector.type=real", "verbosity=3"),
        # There is no kube-proxy here: the service's address leads nowhere.
        *("extraEnv[0].name=KUBERNETES_SERVICE_HOST", f"extraEnv[0].value={address}"),
        "extraEnv[1].name=KUBERNETES_SERVICE_PORT",
    )
    text = ("--set-string=image.tag=1", f"--set-string=extraEnv[1].value={port}")
    where = (f"--namespace={NAMESPACE}", f"--kubeconfig={cluster.kubeconfig}")
    done = helm("install", RELEASE, str(CHART), *where, *values, *text)
    assert done.returncode == 0, done.stderr
    try:
        cluster.kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{RELEASE}", "--timeout=60s")
    except LongshoreError as error:
        raise AssertionError(
            f"{error}\n{cluster.kubectl('-n', NAMESPACE, 'describe', 'pods')}\n{logs(cluster)}"
        ) from None
    return cluster


@pytest.fixture
def namespace(deployed: LocalCluster) -> Iterator[str]:
    with namespace_in(deployed) as name:
        yield name
        deployed.kubectl("delete", "pods", "--all", "-n", name, "--grace-period=0", "--force")


def logs(cluster: LocalCluster) -> str:
    selector = f"--selector=app.kubernetes.io/instance={RELEASE}"
    return cluster.kubectl("-n", NAMESPACE, "logs", selector, "--tail=-1", "--prefix")


def until(condition: Callable[[], bool], cluster: LocalCluster) -> None:
    limit = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < limit, f"not within {SECONDS:g} s\n{logs(cluster)[-5000:]}"
        time.sleep(0.2)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": spec.pop("cpu", "100m"), "memory": "64Mi"}}
    container = {"name": "main", "image": "none", "resources": resources}
    tail = {"schedulerName": "longshore", "nodeSelector": {"type": "kwok"}, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": tail}


def create(cluster: LocalCluster, namespace: str, *contents: dict[str, Any]) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin="\n---\n".join(map(json.dumps, contents)))


def placed(cluster: LocalCluster, namespace: str) -> dict[str, str]:
    """Return the node of every pod that has one."""
    found = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if "nodeName" in one["spec"]}


def dry_run(cluster: LocalCluster, *arguments: str, stdin: str | None = None) -> str:
    """Let the API server check objects as if they were to be made; a warning is an error."""
    command = ("apply", "--dry-run=server", "--warnings-as-errors", "--validate=strict", *arguments)
    return cluster.kubectl(*command, stdin=stdin)


def test_the_api_server_takes_what_the_chart_renders(cluster: LocalCluster) -> None:
    """Every set of values in one call, each under a name of its own, so that nothing is compared with what runs."""
    texts = [rendered(*values).replace(RELEASE, f"dry-{number}") for number, values in enumerate(VALUES.values())]
    output = dry_run(cluster, "-f", "-", stdin="\n---\n".join(texts))
    assert output.count("created (server dry run)") == sum(len(objects(text)) for text in texts)


def test_the_api_server_finds_a_wrong_field(cluster: LocalCluster) -> None:
    text = (
        rendered("serviceMonitor.enabled=true").replace(RELEASE, "another").replace("interval: 30s", "intervall: 30s")
    )
    with pytest.raises(LongshoreError, match="intervall"):
        dry_run(cluster, "-f", "-", stdin=text)


@pytest.mark.parametrize(
    "arguments", [("-f", str(DEPLOY / "longshore.yaml")), ("-k", str(DEPLOY))], ids=["flat", "kustomize"]
)
def test_the_api_server_takes_the_other_forms(cluster: LocalCluster, arguments: tuple[str, str]) -> None:
    assert "deployment.apps/longshore-scheduler" in dry_run(cluster, "--server-side", "--force-conflicts", *arguments)


@pytest.mark.parametrize(
    ("values", "name"),
    [((), RELEASE), (("mode=standalone",), RELEASE), (REGISTRY, f"{RELEASE}-registry")],
    ids=["plugin", "standalone", "registry"],
)
def test_restricted_pod_security_takes_the_pods(deployed: LocalCluster, values: tuple[str, ...], name: str) -> None:
    spec = named(rendered(*values), "Deployment", name)["spec"]["template"]["spec"]
    spec["serviceAccountName"] = RELEASE  # one that is there
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "dry"}, "spec": spec}
    dry_run(deployed, "-n", NAMESPACE, "-f", "-", stdin=json.dumps(content))
    content["spec"]["containers"][0]["securityContext"].pop("capabilities")
    with pytest.raises(LongshoreError, match="violates PodSecurity"):
        dry_run(deployed, "-n", NAMESPACE, "-f", "-", stdin=json.dumps(content))


def test_two_replicas_are_ready_and_one_has_the_lease(deployed: LocalCluster) -> None:
    ready = deployed.kubectl("-n", NAMESPACE, "get", "deployment", RELEASE, "-o", "jsonpath={.status.readyReplicas}")
    assert ready == "2"
    holder = deployed.kubectl("-n", NAMESPACE, "get", "lease", RELEASE, "-o", "jsonpath={.spec.holderIdentity}")
    pods = deployed.kubectl("-n", NAMESPACE, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}").split()
    assert holder.partition("_")[0] in pods


def test_the_model_places_pods(deployed: LocalCluster, namespace: str) -> None:
    create(deployed, namespace, *(pod(f"p-{number}") for number in range(6)))
    until(lambda: len(placed(deployed, namespace)) == 6, deployed)
    assert len(set(placed(deployed, namespace).values())) == 1, "the policy packs; upstream's scores spread"


def test_room_is_made_for_a_pod_of_higher_priority(deployed: LocalCluster, namespace: str) -> None:
    for name, value in (("low", 1), ("high", 1000)):
        content = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
        create(deployed, namespace, {**content, "metadata": {"name": f"{namespace}-{name}"}})
    where = {"nodeSelector": {"kubernetes.io/hostname": "node-0"}, "cpu": "3500m"}
    create(deployed, namespace, pod("low", priorityClassName=f"{namespace}-low", **where))
    until(lambda: "low" in placed(deployed, namespace), deployed)
    create(deployed, namespace, pod("high", priorityClassName=f"{namespace}-high", **where))
    until(lambda: placed(deployed, namespace) == {"high": "node-0"}, deployed)


def test_a_volume_is_chosen_with_the_node(deployed: LocalCluster, namespace: str) -> None:
    create(deployed, namespace, *_local_volume(namespace))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    create(deployed, namespace, pod("p", volumes=volumes))
    until(lambda: placed(deployed, namespace) == {"p": "node-1"}, deployed)


def _local_volume(name: str) -> list[dict[str, Any]]:
    """Return a class whose claims wait for their pod, a claim, and the one volume for it, on node-1."""
    host_name = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [host_name]}]}
    common = {"storageClassName": name, "accessModes": ["ReadWriteOnce"]}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                **common,
                "capacity": {"storage": "1Gi"},
                "local": {"path": "/data"},
                "nodeAffinity": {"required": terms},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {**common, "resources": {"requests": {"storage": "1Gi"}}},
        },
    ]


def test_a_device_is_allocated_with_the_node(deployed: LocalCluster, namespace: str) -> None:
    create(deployed, namespace, *_device(namespace))
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]
    create(deployed, namespace, pod("p", resourceClaims=claims))
    until(lambda: placed(deployed, namespace) == {"p": "node-2"}, deployed)


def test_a_claim_is_made_for_an_extended_resource(deployed: LocalCluster, namespace: str) -> None:
    device_class, device, _ = _device(namespace)
    create(deployed, namespace, device_class, device)
    asking = pod("p")
    asking["spec"]["containers"][0]["resources"]["limits"] = {f"{namespace}.example/gpu": "1"}
    create(deployed, namespace, asking)
    until(lambda: placed(deployed, namespace) == {"p": "node-2"}, deployed)
    path = "jsonpath={.status.extendedResourceClaimStatus.resourceClaimName}"
    claim = deployed.kubectl("get", "pod", "p", "-n", namespace, "-o", path)
    assert claim in deployed.kubectl("get", "resourceclaims", "-n", namespace, "-o", "name")


def _device(name: str) -> list[dict[str, Any]]:
    """Return a class of devices, one device, on node-2, and a claim for it."""
    request = {"name": "gpu", "exactly": {"deviceClassName": name}}
    driver = f"{name}.example"
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    pool = {"name": "node-2", "generation": 1, "resourceSliceCount": 1}
    slice_ = {"driver": driver, "nodeName": "node-2", "pool": pool, "devices": [{"name": "gpu-0"}]}
    contents = {
        "DeviceClass": {
            "metadata": {"name": name},
            "spec": {"selectors": [selector], "extendedResourceName": f"{driver}/gpu"},
        },
        "ResourceSlice": {"metadata": {"name": name}, "spec": slice_},
        "ResourceClaim": {"metadata": {"name": "gpu"}, "spec": {"devices": {"requests": [request]}}},
    }
    return [{"apiVersion": "resource.k8s.io/v1", "kind": kind, **content} for kind, content in contents.items()]


def test_nothing_that_it_tries_is_forbidden(deployed: LocalCluster, namespace: str) -> None:
    """After all of the above; a pod that fits nowhere adds the condition and the event."""
    create(deployed, namespace, pod("large", cpu="64"))
    path = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}"
    until(lambda: deployed.kubectl("get", "pod", "large", "-n", namespace, "-o", path) == "Unschedulable", deployed)
    until(lambda: "FailedScheduling" in deployed.kubectl("get", "events", "-n", namespace), deployed)
    lines = logs(deployed).splitlines()
    assert [line for line in lines if "Handlers synced" in line], "this is a scheduler's log"
    assert [line for line in lines if "forbidden" in line.lower()] == []


FORBIDDEN = [
    Right("get", "secrets"),
    Right("list", "secrets"),
    Right("get", "configmaps", namespace="kube-system"),
    Right("update", "pods"),
    Right("patch", "pods"),
    Right("create", "pods"),
    Right("create", "pods", subresource="exec"),
    Right("create", "pods", subresource="eviction"),
    Right("deletecollection", "pods"),
    Right("update", "pods", subresource="status"),
    Right("patch", "nodes"),
    Right("update", "nodes"),
    Right("delete", "nodes"),
    Right("patch", "nodes", subresource="status"),
    Right("patch", "persistentvolumes"),
    Right("delete", "persistentvolumes"),
    Right("list", "leases", "coordination.k8s.io", namespace=NAMESPACE),
    Right("update", "leases", "coordination.k8s.io", namespace=NAMESPACE, name="other"),
    Right("update", "leases", "coordination.k8s.io", namespace="kube-system", name="kube-scheduler"),
    Right("create", "leases", "coordination.k8s.io", namespace="kube-system"),
    Right("create", "serviceaccounts", subresource="token"),
    Right("impersonate", "users"),
    Right("escalate", "clusterroles", "rbac.authorization.k8s.io"),
    Right("*", "*", "*"),
]
ALLOWED = [
    Right("list", "pods"),
    Right("get", "pods"),  # after a binding whose answer was lost
    Right("delete", "pods"),
    Right("create", "pods", subresource="binding"),
    Right("update", "leases", "coordination.k8s.io", namespace=NAMESPACE, name=RELEASE),
]


async def test_the_scheduler_may_do_this_and_not_that(deployed: LocalCluster, tmp_path: Path) -> None:
    config = json.loads(deployed.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"][0]["user"] = {"token": deployed.kubectl("-n", NAMESPACE, "create", "token", RELEASE).strip()}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    async with Client(load_identity(file)) as client:
        assert await missing_rights(client, [*ALLOWED, *FORBIDDEN]) == FORBIDDEN


def test_the_rights_are_fewer_than_those_of_upstreams_scheduler(deployed: LocalCluster) -> None:
    names = ("system:kube-scheduler", "system:volume-scheduler")
    upstreams = {right for name in names for right in rights(deployed, name)}
    ours = {right for name in (RELEASE, f"{RELEASE}-preemption") for right in rights(deployed, name)}
    assert ours <= upstreams
    assert ours < upstreams


def rights(cluster: LocalCluster, role: str) -> set[tuple[str, str, str]]:
    rules = json.loads(cluster.kubectl("get", "clusterrole", role, "-o", "json"))["rules"]
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_metrics_are_for_those_who_may_and_health_is_for_all(deployed: LocalCluster) -> None:
    address = deployed.kubectl("-n", NAMESPACE, "get", "pods", "-o", "jsonpath={.items[0].status.podIP}")
    account, role = f"--serviceaccount={NAMESPACE}:prometheus", f"--clusterrole={RELEASE}-metrics-reader"
    deployed.kubectl("create", "clusterrolebinding", "prometheus", role, account)
    tokens = {}
    for name in ("prometheus", "somebody"):
        deployed.kubectl("-n", NAMESPACE, "create", "serviceaccount", name)
        tokens[name] = deployed.kubectl("-n", NAMESPACE, "create", "token", name).strip()
    for path in ("/healthz", "/livez", "/readyz"):
        assert get(address, path) == (200, "ok")
    assert get(address, "/metrics")[0] == 403
    assert get(address, "/metrics", tokens["somebody"])[0] == 403
    until(lambda: get(address, "/metrics", tokens["prometheus"])[0] == 200, deployed)
    assert "longshore_model_info{" in get(address, "/metrics", tokens["prometheus"])[1]
    assert get(address, "/debug/pprof/", tokens["prometheus"])[0] in (403, 404)


def get(address: str, path: str, token: str | None = None) -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"https://{address}:10259{path}", headers=headers)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_when_the_leader_ends_the_other_replica_goes_on(deployed: LocalCluster, namespace: str) -> None:
    def leader() -> str:
        path = "jsonpath={.spec.holderIdentity}"
        return deployed.kubectl("-n", NAMESPACE, "get", "lease", RELEASE, "-o", path).partition("_")[0]

    first = leader()
    deployed.kubectl("-n", NAMESPACE, "delete", "pod", first, "--wait=false")
    until(lambda: leader() not in ("", first), deployed)
    create(deployed, namespace, pod("p"))
    until(lambda: "p" in placed(deployed, namespace), deployed)


def test_an_upgrade_can_be_rolled_back(deployed: LocalCluster) -> None:
    """The objects alone, in a release without pods."""
    name = "rolled"
    where = (f"--namespace={NAMESPACE}", f"--kubeconfig={deployed.kubeconfig}")
    for change in ((), ("pluginArguments.deadline=10ms",)):
        done = helm("upgrade", "--install", name, str(CHART), *where, *settings("replicas=0", *change))
        assert done.returncode == 0, done.stderr
    assert "deadline" in _config(deployed, name)
    done = helm("rollback", name, "1", *where)
    assert done.returncode == 0, done.stderr
    assert "deadline" not in _config(deployed, name)
    assert helm("uninstall", name, *where).returncode == 0


def test_what_stays_after_the_removal_is_what_the_guide_says(deployed: LocalCluster) -> None:
    name = "gone"
    where = (f"--namespace={NAMESPACE}", f"--kubeconfig={deployed.kubeconfig}")
    values = settings("replicas=0", *REGISTRY, "registryServer.replicas=0", *ALL_ON)
    done = helm("install", name, str(CHART), *where, *values)
    assert done.returncode == 0, done.stderr
    kinds = sorted({content["kind"] for content in objects(rendered(*REGISTRY, *ALL_ON))})
    asked = ("get", ",".join(kinds), "-A", f"--selector=app.kubernetes.io/instance={name}", "-o", "name")
    assert len(deployed.kubectl(*asked).split()) > len(kinds)
    done = helm("uninstall", name, "--wait", *where)
    assert done.returncode == 0, done.stderr
    assert deployed.kubectl(*asked).split() == [f"persistentvolumeclaim/{name}-registry"]


def test_the_guide_finds_who_asks_for_the_scheduler(deployed: LocalCluster, namespace: str) -> None:
    section = (DEPLOY.parent / "docs/guides/deploy.md").read_text(encoding="utf-8").partition("## Removal")[2]
    of_templates, of_pods = (
        shlex.split(line, comments=True)[1:] for line in section.splitlines() if line.startswith("kubectl get")
    )
    (patch,) = (shlex.split(line)[1:] for line in section.splitlines() if "patch deployment" in line)
    waiting = pod("p", cpu="64")
    template = {"metadata": {"labels": {"app": "p"}}, "spec": waiting["spec"]}
    spec = {"selector": {"matchLabels": {"app": "p"}}, "template": template}
    create(
        deployed, namespace, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "p"}, "spec": spec}
    )
    until(lambda: namespace in deployed.kubectl(*of_pods), deployed)
    assert f"Deployment {namespace}/p\n" in deployed.kubectl(*of_templates)
    filled = [{"NAMESPACE": namespace, "NAME": "p"}.get(word, word) for word in patch]
    deployed.kubectl(*filled)
    assert namespace not in deployed.kubectl(*of_templates)
    given_back = [word.replace("=longshore", "=default-scheduler") for word in of_pods]
    until(lambda: namespace in deployed.kubectl(*given_back), deployed)


def _config(cluster: LocalCluster, name: str) -> dict[str, Any]:
    text = cluster.kubectl("-n", NAMESPACE, "get", "configmap", name, "-o", r"jsonpath={.data.config\.yaml}")
    arguments: dict[str, Any] = yaml.safe_load(text)["profiles"][0]["pluginConfig"][0]["args"]
    return arguments
