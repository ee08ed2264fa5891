"""The model registry of the chart: off by default, closed but to the scheduler, and started so that it answers."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from longshore.policies.bundle_folder import write_folder
from server.test_serving import trust, write_certificate
from support.bundle_samples import make_bundle
from support.deploy import NAMESPACE, REGISTRY, RELEASE, VALUES, built_helm, named, objects, rendered

__all__ = ["built_helm"]

pytestmark = pytest.mark.usefixtures("built_helm")
NAME = f"{RELEASE}-registry"
PLAIN = ("registryServer.enabled=true", "model.registry.allowPlainHTTP=true")
ON_DATABASE = VALUES["a registry on a database"]
START = [sys.executable, "-c", "from longshore.cli.main import main; main()"]


def pod_of(text: str, name: str = NAME) -> dict[str, Any]:
    spec: dict[str, Any] = named(text, "Deployment", name)["spec"]["template"]["spec"]
    return spec


def followed(text: str) -> dict[str, Any]:
    """Return the plugin's arguments about a registry; none where it has none."""
    config = yaml.safe_load(named(text, "ConfigMap", RELEASE)["data"]["config.yaml"])
    found: dict[str, Any] = config["profiles"][0]["pluginConfig"][0]["args"].get("registry", {})
    return found


def test_there_is_none_unless_asked_for() -> None:
    assert not [one for one in objects(rendered()) if one["metadata"]["name"] == NAME]
    assert followed(rendered()) == {}


def test_the_plugin_takes_its_model_from_there() -> None:
    assert followed(rendered(*REGISTRY, "registryServer.model=el-rl")) == {
        "url": f"https://{NAME}.{NAMESPACE}.svc:8090/models/el-rl/live/",
        "cacheFolder": "/var/cache/longshore",
        "pollInterval": "30s",
        "tokenFile": "/var/run/longshore/token/token",
        "caFile": "/var/run/longshore/ca/ca.crt",
    }
    plain = followed(rendered(*PLAIN))
    assert (plain["url"], plain["allowPlainHTTP"]) == (
        f"http://{NAME}.{NAMESPACE}.svc:8090/models/longshore/live/",
        True,
    )


def test_the_scheduler_may_go_there() -> None:
    ports = named(rendered(*REGISTRY), "NetworkPolicy", RELEASE)["spec"]["egress"][1]["ports"]
    service = named(rendered(*REGISTRY), "Service", NAME)["spec"]["ports"][0]
    assert ports[0]["port"] == service["port"] == 8090


def test_the_scheduler_is_given_the_authority_and_not_the_key() -> None:
    volumes = {volume["name"]: volume for volume in pod_of(rendered(*REGISTRY), RELEASE)["volumes"]}
    authority = volumes["registry-ca"]["secret"]
    assert (authority["secretName"], authority["items"]) == ("models-tls", [{"key": "ca.crt", "path": "ca.crt"}])
    assert volumes["registry-token"]["secret"]["secretName"] == "models-token"
    other = pod_of(rendered(*REGISTRY, "model.registry.caConfigMap=models-ca"), RELEASE)["volumes"]
    assert [one["configMap"]["name"] for one in other if one["name"] == "registry-ca"] == ["models-ca"]


def test_a_model_that_is_given_is_preferred() -> None:
    assert followed(rendered(*REGISTRY, "model.configMap=longshore-model")) == {}
    other = followed(rendered(*REGISTRY, "model.registry.url=https://models.example/models/a/live/"))
    assert other["url"] == "https://models.example/models/a/live/"
    assert not {"tokenFile", "caFile"} & set(other), "our registry's token is not for another one"


def test_only_the_scheduler_is_let_in() -> None:
    policy = named(rendered(*REGISTRY), "NetworkPolicy", NAME)["spec"]
    scheduler = named(rendered(*REGISTRY), "Deployment", RELEASE)["spec"]["selector"]
    assert policy["ingress"] == [{"ports": [{"port": "models"}], "from": [{"podSelector": scheduler}]}]
    assert policy["podSelector"] == named(rendered(*REGISTRY), "Deployment", NAME)["spec"]["selector"] != scheduler
    assert (policy["policyTypes"], policy["egress"]) == (["Ingress", "Egress"], [])


def test_others_are_let_in_by_name_and_a_database_may_be_gone_to() -> None:
    policy = named(rendered(*ON_DATABASE, "registryServer.database.port=6432"), "NetworkPolicy", NAME)["spec"]
    assert policy["ingress"][0]["from"][1:] == [{"namespaceSelector": {"matchLabels": {"team": "platform"}}}]
    assert [[one["port"] for one in rule["ports"]] for rule in policy["egress"]] == [[6432], [53, 53]]


def test_a_file_is_on_a_volume_that_stays_and_one_pod_has() -> None:
    text = rendered(*REGISTRY, "registryServer.volume.size=3Gi")
    claim = named(text, "PersistentVolumeClaim", NAME)
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Gi"
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert named(text, "Deployment", NAME)["spec"]["strategy"] == {"type": "Recreate"}
    pod = pod_of(text)
    (container,) = pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert str(Path(container["env"][0]["value"]).parent) == mounts["models"]
    assert {"name": "models", "persistentVolumeClaim": {"claimName": NAME}} in pod["volumes"]


def test_a_claim_that_is_there_is_taken() -> None:
    text = rendered(*REGISTRY, "registryServer.volume.existingClaim=mine")
    assert "PersistentVolumeClaim" not in {one["kind"] for one in objects(text)}
    assert {"name": "models", "persistentVolumeClaim": {"claimName": "mine"}} in pod_of(text)["volumes"]


def test_the_address_of_a_database_comes_from_a_secret() -> None:
    text = rendered(*ON_DATABASE)
    pod = pod_of(text)
    reference = {"secretKeyRef": {"name": "models-database", "key": "url"}}
    assert pod["containers"][0]["env"] == [{"name": "LONGSHORE_STORE", "valueFrom": reference}]
    assert "models" not in {volume["name"] for volume in pod["volumes"]}
    assert "PersistentVolumeClaim" not in {one["kind"] for one in objects(text)}
    assert "strategy" not in named(text, "Deployment", NAME)["spec"]


def test_the_server_has_no_rights_and_nothing_to_write_to_but_its_volumes() -> None:
    text = rendered(*REGISTRY)
    pod = pod_of(text)
    account = named(text, "ServiceAccount", NAME)
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == (NAME, False)
    assert account["automountServiceAccountToken"] is False
    bound = [subject["name"] for one in objects(text) for subject in one.get("subjects", ())]
    assert bound
    assert NAME not in bound
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 65532)
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    assert set(pod["containers"][0]["resources"]["requests"]) == {"cpu", "memory"}


@contextmanager
def started(values: tuple[str, ...], folder: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Run the container's program with folders in the place of its volumes; give the container, and the address."""
    (container,) = pod_of(rendered(*values))["containers"]
    for mount in container["volumeMounts"]:
        (folder / mount["mountPath"].lstrip("/")).mkdir(parents=True)
    shutil.copytree(folder / "secrets", folder / "var/run/longshore", dirs_exist_ok=True)
    arguments = [re.sub("=/", f"={folder}/", argument) for argument in container["args"]]
    arguments[arguments.index("--port=8090")] = "--port=0"
    variables = {one["name"]: f"{folder}{one['value']}" for one in container["env"]}
    with subprocess.Popen(
        [*START, *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}
    ) as server:
        assert server.stderr is not None
        try:
            line = next(line for line in server.stderr if line.startswith("models at "))
            push = ["models", "push", str(folder / "bundle"), "--name", "longshore", "--alias", "live"]
            subprocess.run([*START, *push], check=True, env={**os.environ, **variables}, capture_output=True)
            yield container, line.split()[2].partition("/models/")[0].replace("0.0.0.0", "localhost")
        finally:
            server.send_signal(signal.SIGTERM)


def status(address: str, context: ssl.SSLContext | None = None, token: str | None = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        request = urllib.request.Request(address, headers=headers)
        with urllib.request.urlopen(request, timeout=30, context=context) as it:
            return int(it.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.parametrize("values", [REGISTRY, PLAIN], ids=["closed", "plain"])
def test_the_server_answers_its_probes_and_the_plugin(values: tuple[str, ...], tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    for name in ("tls", "token"):
        (secrets / name).mkdir(parents=True)
    write_certificate(secrets / "tls")
    (secrets / "token" / "token").write_text("word\n")
    write_folder(tmp_path / "bundle", make_bundle())
    with started(values, tmp_path) as (container, address):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            assert asked["scheme"].lower() == urlsplit(address).scheme
            assert status(f"{address}{asked['path']}", trust()) == 200
        wanted = f"{address}{urlsplit(followed(rendered(*values))['url']).path}manifest.json"
        assert status(wanted, trust(), "word") == 200
        assert status(wanted, trust()) == (401 if values == REGISTRY else 200)
