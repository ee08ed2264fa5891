"""The chart as files: it renders for every way of using it, refuses wrong values, and nothing in `deploy/` is stale."""

import json
import re
import subprocess
import sys
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
    helm,
    objects,
    only,
    rendered,
    settings,
)

__all__ = ["built_helm"]

pytestmark = pytest.mark.usefixtures("built_helm")
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "FlowSchema", "PriorityClass"}
MATRIX = [pytest.param(values, id=name) for name, values in VALUES.items()]


def scheduler_config(*values: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(only(rendered(*values), "ConfigMap")["data"]["config.yaml"])
    return config


def upstream_profile(file: str) -> dict[str, Any]:
    """Return the profile of scheduler/config that a release is to have."""
    config = yaml.safe_load((ROOT / "scheduler" / "config" / file).read_text(encoding="utf-8"))
    profile: dict[str, Any] = config["profiles"][-1]
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
    values = ("readingsFile=/readings/a.json", "pluginArguments.deadline=10ms", "pluginArguments.circuit.failures=3")
    (profile,) = scheduler_config(*values)["profiles"]
    assert profile["pluginConfig"][0]["args"] == {
        "modelPath": "/var/lib/longshore/model",
        "readingsFile": "/readings/a.json",
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
    }
    pod = only(text, "Deployment")["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["cache"] == "/var/cache/longshore"
    assert {"registry-token", "registry-ca"} <= {volume["name"] for volume in pod["volumes"]} & set(mounts)


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
    policy = only(rendered(f"model.registry.url={url}", "model.registry.allowPlainHTTP=true"), "NetworkPolicy")
    assert {"port": port} in policy["spec"]["egress"][1]["ports"]
    assert len(only(rendered(), "NetworkPolicy")["spec"]["egress"]) == 1


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


def test_standalone_is_started_with_options_that_there_are() -> None:
    """The command gets as far as looking for the cluster."""
    (container,) = only(rendered("mode=standalone"), "Deployment")["spec"]["template"]["spec"]["containers"]
    start = [sys.executable, "-c", "from longshore.cli.main import main; main()"]
    command = [*start, *container["args"], "--kubeconfig=nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "the kubeconfig `nowhere` is not there" in done.stderr) == (2, True), done.stderr


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
        (("pluginArguments.mixWeight=2",), "/pluginArguments/mixWeight.*maximum"),
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
