"""The chart as files: it renders for every way of using it, refuses wrong values, and nothing in `deploy/` is stale."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore import __version__
from longshore.kube.scheduler_config import findings
from longshore_lab.build import require_program
from support.deploy import (
    CHART,
    DEPLOY,
    NAMESPACE,
    REGISTRY,
    RELEASE,
    ROOT,
    VALUES,
    built_helm,
    built_scheduler,
    helm,
    named,
    objects,
    only,
    rendered,
    settings,
)

__all__ = ["built_helm", "built_scheduler"]

pytestmark = pytest.mark.usefixtures("built_helm")
STATE = "/var/run/longshore/state"
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "FlowSchema", "PriorityClass"}
MATRIX = [pytest.param(values, id=name) for name, values in VALUES.items()]


def scheduler_config(*values: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(only(rendered(*values), "ConfigMap")["data"]["config.yaml"])
    return config


def upstream_profile(file: str) -> dict[str, Any]:
    """Return the profile of scheduler/config that a release is to have, with the folder that the pod has for it."""
    config = yaml.safe_load((ROOT / "scheduler" / "config" / file).read_text(encoding="utf-8"))
    profile: dict[str, Any] = config["profiles"][-1]
    profile["pluginConfig"][0]["args"]["stateFolder"] = STATE
    return profile


@pytest.mark.parametrize("values", MATRIX)
def test_helm_finds_nothing_to_say_about_the_chart(values: tuple[str, ...]) -> None:
    done = helm("lint", "--strict", str(CHART), *settings(*values))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values", MATRIX)
def test_every_object_has_the_usual_labels_and_its_namespace(values: tuple[str, ...]) -> None:
    for content in objects(rendered(*values)):
        labels = content["metadata"]["labels"]
        component = "registry" if content["metadata"]["name"].endswith("-registry") else "scheduler"
        expected = {"name": "longshore", "instance": RELEASE, "component": component, "version": __version__}
        assert expected.items() <= {key.rpartition("/")[2]: value for key, value in labels.items()}.items()
        assert labels["app.kubernetes.io/part-of"] == "longshore"
        is_namespaced = content["kind"] not in CLUSTER_WIDE
        assert content["metadata"].get("namespace") == (NAMESPACE if is_namespaced else None), content["kind"]


@pytest.mark.parametrize("values", MATRIX)
def test_no_object_is_rendered_twice(values: tuple[str, ...]) -> None:
    names = [(content["kind"], content["metadata"]["name"]) for content in objects(rendered(*values))]
    assert len(names) == len(set(names))


def test_monitoring_objects_come_only_when_asked_for() -> None:
    kinds = {"ServiceMonitor", "PrometheusRule"}
    assert not kinds & {content["kind"] for content in objects(rendered())}
    on = rendered("serviceMonitor.enabled=true", "prometheusRule.enabled=true")
    assert kinds <= {content["kind"] for content in objects(on)}


def test_the_rules_of_the_operator_are_the_rules_of_the_file() -> None:
    rule = only(rendered("prometheusRule.enabled=true"), "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))


def test_the_profile_is_that_of_the_scheduler() -> None:
    assert scheduler_config()["profiles"] == [upstream_profile("profile-plugin.yaml")]


def test_the_profile_of_a_shadow_is_that_of_the_scheduler() -> None:
    (profile,) = scheduler_config("shadow=true", "decisionLog=http://a.example/d")["profiles"]
    expected = {**upstream_profile("profile-shadow.yaml"), "schedulerName": "longshore"}
    expected["pluginConfig"][0]["args"]["decisionLog"] = "http://a.example/d"
    assert profile == expected


def test_arguments_of_the_plugin_come_from_the_values() -> None:
    values = (
        "readingsFile=/readings/a.json",
        "onMissingReadings=wait",
        "pluginArguments.deadline=10ms",
        "pluginArguments.circuit.failures=3",
    )
    (profile,) = scheduler_config(*values)["profiles"]
    assert profile["pluginConfig"][0]["args"] == {
        "modelPath": "/var/lib/longshore/model",
        "stateFolder": STATE,
        "readingsFile": "/readings/a.json",
        "onMissingReadings": "wait",
        "deadline": "10ms",
        "circuit": {"failures": 3},
    }


def test_a_registry_takes_the_place_of_the_folder() -> None:
    text = rendered(*VALUES["model from a registry"])
    config = yaml.safe_load(only(text, "ConfigMap")["data"]["config.yaml"])
    assert config["profiles"][0]["pluginConfig"][0]["args"] == {
        "registry": {
            "url": "https://models.example:8443/models/el-rl/live/",
            "cacheFolder": "/var/cache/longshore",
            "pollInterval": "30s",
            "tokenFile": "/var/run/longshore/token/token",
            "caFile": "/var/run/longshore/ca/ca.crt",
        },
        "preference": {"watts": 1},
        "stateFolder": STATE,
    }
    pod = only(text, "Deployment")["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["cache"] == "/var/cache/longshore"
    assert mounts["state"] == STATE
    assert {"registry-token", "registry-ca"} <= {volume["name"] for volume in pod["volumes"]} & set(mounts)


def egress(*values: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = named(rendered(*values), "NetworkPolicy", RELEASE)["spec"]["egress"]
    return found


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("https://m/live/", 443),
        ("http://m.example/live/", 80),
        ("https://[fd00::1]:8443/live", 8443),
        ("http://m:81", 81),
    ],
)
def test_the_registry_may_be_gone_to(url: str, port: int) -> None:
    given = (f"model.registry.url={url}", "model.registry.allowPlainHTTP=true")
    _, registry, _ = egress(*given)
    assert registry == {"ports": [{"port": port}]}
    _, registry, _ = egress(*given, "networkPolicy.registryTo[0].ipBlock.cidr=192.0.2.1/32")
    assert registry["to"] == [{"ipBlock": {"cidr": "192.0.2.1/32"}}]


def test_without_a_registry_nothing_but_the_api_server_may_be_gone_to() -> None:
    (server,) = egress("networkPolicy.apiServerCIDRs={10.96.0.1/32,fd00::1/128}")
    assert server["ports"] == [{"port": 443}, {"port": 6443}]
    assert server["to"] == [{"ipBlock": {"cidr": "10.96.0.1/32"}}, {"ipBlock": {"cidr": "fd00::1/128"}}]


def test_of_the_releases_own_registry_only_its_pods_may_be_gone_to() -> None:
    text = rendered(*REGISTRY)
    _, registry, _ = egress(*REGISTRY)
    assert registry["ports"] == [{"port": 8090}]
    (peer,) = registry["to"]
    labels = named(text, "Deployment", f"{RELEASE}-registry")["spec"]["template"]["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()
    assert named(text, "NetworkPolicy", f"{RELEASE}-registry")["spec"]["egress"] == []


def test_a_database_is_the_only_place_that_the_registry_may_go_to() -> None:
    policy = named(rendered(*VALUES["a registry on a database"]), "NetworkPolicy", f"{RELEASE}-registry")
    database, names = policy["spec"]["egress"]
    assert database == {"ports": [{"port": 5432}], "to": [{"ipBlock": {"cidr": "192.0.2.20/32"}}]}
    assert {port["port"] for port in names["ports"]} == {53}


@pytest.mark.parametrize("values", [REGISTRY, ("model.registry.url=https://m/",)], ids=["own", "outside"])
def test_names_are_asked_of_the_cluster_alone(values: tuple[str, ...]) -> None:
    names = egress(*values)[-1]
    assert {port["port"] for port in names["ports"]} == {53}
    cluster, on_the_node = names["to"]
    assert cluster == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    assert on_the_node == {"ipBlock": {"cidr": "169.254.20.10/32"}}


def test_metrics_are_for_one_namespace_and_nothing_else_comes_in() -> None:
    (rule,) = only(rendered(), "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": "metrics"}]
    (peer,) = rule["from"]
    assert peer == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}


def test_replicas_are_spread_over_zones_and_then_over_nodes() -> None:
    spec = only(rendered(), "Deployment")["spec"]["template"]["spec"]
    spread = spec["topologySpreadConstraints"]
    assert [one["topologyKey"] for one in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    labels = only(rendered(), "Deployment")["spec"]["template"]["metadata"]["labels"]
    for one in spread:
        assert one["labelSelector"]["matchLabels"].items() <= labels.items()
        assert (one["whenUnsatisfiable"], one["matchLabelKeys"]) == ("ScheduleAnyway", ["pod-template-hash"])


def environment(*values: str) -> dict[str, str]:
    (container,) = only(rendered(*values), "Deployment")["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container.get("env", ())}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1Gi", 966367641), ("512Mi", 483183820), ("1.5G", 1350000000), ("1000000000", 900000000)],
)
def test_go_collects_garbage_before_the_memory_limit(limit: str, expected: int) -> None:
    assert environment(f"resources.limits.memory={limit}") == {"GOMEMLIMIT": str(expected)}


@pytest.mark.parametrize(
    "values", [(), ("mode=standalone", "resources.limits.memory=1Gi")], ids=["no limit", "standalone"]
)
def test_without_a_limit_go_has_none(values: tuple[str, ...]) -> None:
    assert environment(*values) == {}


def test_the_users_memory_limit_of_go_comes_first() -> None:
    own = ("extraEnv[0].name=GOMEMLIMIT", "extraEnv[0].value=1GiB", "resources.limits.memory=2Gi")
    assert environment(*own) == {"GOMEMLIMIT": "1GiB"}


def rules(*values: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = named(rendered(*values), "ClusterRole", RELEASE)["rules"]
    return found


def test_gates_bring_the_rights_that_upstreams_scheduler_has_with_them() -> None:
    """As `system:kube-scheduler` of 1.36 is made, less `get`, which informers do not ask for."""
    assert "podgroups" not in rendered()
    gang = ("featureGates.GenericWorkload=true", "featureGates.GangScheduling=true")
    group = {"apiGroups": ["scheduling.k8s.io"]}
    assert [rule for rule in rules(*gang) if rule not in rules()] == [
        {**group, "resources": ["podgroups"], "verbs": ["list", "watch"]},
        {**group, "resources": ["podgroups/status"], "verbs": ["patch", "update"]},
    ]
    assert [rule for rule in rules("featureGates.DRADeviceTaintRules=true") if rule not in rules()] == [
        {"apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"], "verbs": ["list", "watch"]}
    ]
    assert rules("featureGates.GenericWorkload=false") == rules()


@pytest.mark.usefixtures("built_scheduler")
def test_the_plugin_is_started_with_options_that_there_are(tmp_path: Path) -> None:
    """The program reads its configuration, and gets as far as looking for the cluster."""
    values = (
        "featureGates.GenericWorkload=true",
        "featureGates.GangScheduling=true",
        "extraArgs={--http2-max-streams-per-connection=9}",
    )
    text = rendered(*values)
    (container,) = only(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][-2:] == ["--feature-gates=GangScheduling=true,GenericWorkload=true", values[-1][11:-1]]
    (tmp_path / "config.yaml").write_text(only(text, "ConfigMap")["data"]["config.yaml"])
    given = [one.replace("/etc/longshore/", f"{tmp_path}/").replace("10259", "0") for one in container["args"]]
    program = str(require_program("longshore-kube-scheduler"))
    done = subprocess.run([program, *given], env={}, capture_output=True, text=True, check=False, timeout=60)
    assert "no configuration has been provided" in done.stderr, done.stderr
    wrong = [*given, "--feature-gates=NoSuchGate=true"]
    done = subprocess.run([program, *wrong], env={}, capture_output=True, text=True, check=False, timeout=60)
    assert "unrecognized feature gate: NoSuchGate" in done.stderr


def test_a_decision_log_is_told_who_posts_and_the_plugin_which_bundles_are_right() -> None:
    text = rendered(*VALUES["everything on"])
    config = yaml.safe_load(only(text, "ConfigMap")["data"]["config.yaml"])
    arguments = config["profiles"][0]["pluginConfig"][0]["args"]
    assert arguments["modelDigests"] == [f"sha256:{'0' * 64}"]
    pod = only(text, "Deployment")["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert arguments["decisionLogTokenFile"] == f"{mounts['decisions-token']}/token"
    assert arguments["decisionLogCAFile"] == f"{mounts['decisions-ca']}/ca.crt"
    assert volumes["decisions-token"]["secret"]["secretName"] == "decisions-token"
    assert volumes["decisions-ca"]["configMap"]["name"] == "decisions-ca"


@pytest.mark.parametrize("mode", ["plugin", "standalone"])
def test_further_options_come_last(mode: str) -> None:
    text = rendered(f"mode={mode}", "extraArgs={--one=1,--two}")
    (container,) = only(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][-2:] == ["--one=1", "--two"]


def test_an_image_may_be_named_by_its_digest() -> None:
    text = rendered(*VALUES["by digest"])
    (container,) = only(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.example/longshore-kube-scheduler@sha256:{'a' * 64}"


@pytest.mark.parametrize("name", [name for name, values in VALUES.items() if "mode=standalone" not in values])
def test_longshore_finds_no_error_in_the_configuration(name: str) -> None:
    text = only(rendered(*VALUES[name]), "ConfigMap")["data"]["config.yaml"]
    assert [one for one in findings(text.encode()) if one.level == "error"] == []


def test_the_lease_and_the_scheduler_name_are_not_those_of_the_cluster() -> None:
    config = scheduler_config("schedulerName=packer", "fullnameOverride=packer")
    assert config["profiles"][0]["schedulerName"] == "packer"
    election = {"leaderElect": True, "resourceName": "packer", "resourceNamespace": NAMESPACE}
    assert config["leaderElection"] == election


def test_without_preemption_nobody_tries_and_nobody_may() -> None:
    text = rendered("preemption=false")
    assert yaml.safe_load(only(text, "ConfigMap")["data"]["config.yaml"])["profiles"][0]["plugins"]["postFilter"] == {
        "disabled": [{"name": "*"}]
    }
    rules = [rule for content in objects(text) if content["kind"] == "ClusterRole" for rule in content["rules"]]
    assert not [rule for rule in rules if "pods" in rule.get("resources", ()) and "delete" in rule["verbs"]]


STANDALONE = {"plain": (), "https": ("metrics.tlsSecret=metrics-tls",), "readings": ("readingsFile=/today:a.json",)}


@pytest.mark.parametrize("given", STANDALONE.values(), ids=STANDALONE)
def test_standalone_is_started_with_options_that_there_are(given: tuple[str, ...]) -> None:
    """The command gets as far as looking for the cluster."""
    text = rendered("mode=standalone", *given)
    (container,) = only(text, "Deployment")["spec"]["template"]["spec"]["containers"]
    start = [sys.executable, "-c", "from longshore.cli.main import main; main()"]
    command = [*start, *container["args"], "--kubeconfig=nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "the kubeconfig `nowhere` is not there" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("mode", ["plugin", "standalone"])
def test_with_a_certificate_metrics_are_for_those_who_may(mode: str) -> None:
    text = rendered(f"mode={mode}", "metrics.tlsSecret=metrics-tls", "serviceMonitor.enabled=true")
    pod = only(text, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "metrics-tls")
    files = {argument.partition("=")[2] for argument in container["args"] if mount["mountPath"] in argument}
    assert files == {f"{mount['mountPath']}/tls.crt", f"{mount['mountPath']}/tls.key"}
    probes = [container[f"{name}Probe"]["httpGet"]["scheme"] for name in ("startup", "liveness", "readiness")]
    assert probes == ["HTTPS"] * 3
    assert named(text, "ClusterRole", f"{RELEASE}-metrics-reader")["rules"][0]["nonResourceURLs"] == ["/metrics"]
    asked = [rule["resources"] for rule in named(text, "ClusterRole", RELEASE)["rules"] if rule["verbs"] == ["create"]]
    assert {"tokenreviews", "subjectaccessreviews"} <= {name for names in asked for name in names}
    (endpoint,) = only(text, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"]["serverName"] == f"{RELEASE}.{NAMESPACE}.svc"


def test_standalone_without_a_certificate_is_plain_and_asks_nobody() -> None:
    text = rendered("mode=standalone", "serviceMonitor.enabled=true")
    assert "reviews" not in text
    assert "scheme" not in only(text, "ServiceMonitor")["spec"]["endpoints"][0]


def test_a_changed_configuration_starts_new_pods() -> None:
    def checksum(*values: str) -> str:
        template = only(rendered(*values), "Deployment")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum() == checksum("replicas=3")
    assert checksum() != checksum("pluginArguments.deadline=10ms")


def test_two_releases_do_not_share_a_name() -> None:
    texts = [helm("template", name, str(CHART), f"--namespace={NAMESPACE}").stdout for name in ("first", "second")]
    first, second = ({(o["kind"], o["metadata"]["name"]) for o in objects(text)} for text in texts)
    assert not first & second


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("mode=sidecar",), "/mode.*plugin.*standalone"),
        (("replicas=two",), "/replicas.*got string, want integer"),
        (("replica=3",), "'replica' not allowed"),
        (("schedulerName=default-scheduler",), "schedulerName: got default-scheduler, expected another name"),
        (("schedulerName=Big Name",), "/schedulerName.*does not match pattern"),
        (("image.digest=md5:1",), "/image/digest.*does not match pattern"),
        (("pluginArguments.deadline=20",), "/pluginArguments/deadline"),
        (("pluginArguments.envelopeTolerance=2",), "/pluginArguments/envelopeTolerance.*maximum"),
        (("pluginArguments.modelpath=/a",), "'modelpath' not allowed"),
        (("priorityClass.value=2000000000",), "/priorityClass/value.*maximum"),
        (("podDisruptionBudget.maxUnavailable=0",), "/podDisruptionBudget/maxUnavailable"),
        (("model.configMap=a", "model.image=b"), "model: got configMap and image, expected one of them"),
        (("model.configMap=a", "model.registry.url=https://m/"), "model: got configMap and registry, expected one"),
        (("model.registry.url=m/live",), "/model/registry/url.*does not match pattern"),
        (("model.registry.url=https://m/", "mode=standalone"), "model.registry: got an address with mode standalone"),
        (
            ("model.registry.url=http://m/",),
            "model.registry.url: got http://m/, expected https, or allowPlainHTTP: true",
        ),
        (
            ("registryServer.enabled=true",),
            "registryServer.tlsSecret: got none, expected one, or .*allowPlainHTTP: true",
        ),
        ((*REGISTRY, "registryServer.replicas=2"), "registryServer.replicas: got several without database.secret"),
        (("registryServer.model=My Model",), "/registryServer/model.*does not match pattern"),
        (("registryServer.volume.size=much",), "/registryServer/volume/size.*does not match pattern"),
        (("registryServer.tls=a",), "'tls' not allowed"),
        (("pluginArguments.preference.watts=-1",), "/pluginArguments/preference/watts.*minimum"),
        (("extraArgs={profiling}",), "/extraArgs/0.*does not match pattern"),
        (("featureGates.GenericWorkload=on",), "/featureGates/GenericWorkload.*want boolean"),
        (("featureGates.A=true", "mode=standalone"), "featureGates: got some with mode standalone"),
        (("networkPolicy.apiServerCIDRs={10.96.0.1}",), "/networkPolicy/apiServerCIDRs/0.*does not match pattern"),
        (("pluginArguments.modelDigests={md5:1}",), "/pluginArguments/modelDigests/0.*does not match pattern"),
        (
            ("decisionLogTokenSecret=a", "decisionLog=/log/a"),
            "decisionLogTokenSecret: .* a decisionLog with an address",
        ),
        (("shadow=true",), "shadow: got true without decisionLog"),
        (("shadow=true", "mode=standalone"), "shadow: got true with mode standalone"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_values_are_refused_with_their_name(values: tuple[str, ...], message: str) -> None:
    done = helm("template", RELEASE, str(CHART), *settings(*values))
    assert done.returncode != 0
    assert re.search(message, done.stderr.replace("\n", " ")), done.stderr


def test_every_value_is_in_the_schema_and_explained() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))["properties"]
    assert set(values) == set(schema) - {"global"}
    for name, part in values.items():
        if isinstance(part, dict) and part and "properties" in schema[name]:
            assert set(part) <= set(schema[name]["properties"]), name


def test_the_chart_is_of_the_release_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__


def test_what_is_rendered_is_up_to_date() -> None:
    command = [sys.executable, str(DEPLOY / "render.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("built_programs")
def test_kustomize_builds_the_same_objects() -> None:
    kubectl = str(require_program("kubectl"))
    built = subprocess.run([kubectl, "kustomize", str(DEPLOY)], capture_output=True, text=True, check=True).stdout
    flat = objects((DEPLOY / "longshore.yaml").read_text(encoding="utf-8"))

    def by_name(contents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
        return {(content["kind"], content["metadata"]["name"]): content for content in contents}

    assert by_name(objects(built)) == by_name(flat)


@pytest.mark.parametrize(("mode", "is_taken"), [("plugin", False), ("standalone", True)])
def test_the_image_of_one_release_is_not_installed_on_an_older_one(mode: str, is_taken: bool) -> None:
    done = helm("template", RELEASE, str(CHART), "--kube-version=1.35.2", f"--set=mode={mode}")
    assert (done.returncode == 0) is is_taken
    assert is_taken or "expected 1.36 or newer" in done.stderr
