"""Kubeconfigs and service accounts to identities."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.kube.config import load_identity
from longshore.kube.identity import Certificate, Credentials, Identity
from longshore_lab.cluster.certificates import issue, make_authority

SERVER = "https://cluster.example:6443"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write(path: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, **fields: Any) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config | fields))
    return path


def load(path: Path | None = None, context: str | None = None, **options: Any) -> Identity:
    return load_identity(path, context, **({"environment": {}, "home": Path("/nowhere")} | options))


async def test_certificates_may_stand_in_the_kubeconfig(tmp_path: Path) -> None:
    user = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")}
    found = load(write(tmp_path / "config", user, {"certificate-authority-data": encoded("CA")}))
    assert (found.server, found.ca, found.namespace) == (SERVER, b"CA", "team")
    assert await found.credentials.current() == Credentials(None, Certificate(b"CERT", b"KEY"))


async def test_certificates_may_stand_in_files_beside_it(tmp_path: Path) -> None:
    pair = issue(make_authority("a"), "one", is_client=True)
    for name, content in (("a.crt", pair.certificate), ("a.key", pair.key), ("ca.crt", b"ca.crt")):
        (tmp_path / name).write_bytes(content)
    user = {"client-certificate": "a.crt", "client-key": "a.key"}
    found = load(write(tmp_path / "config", user, {"certificate-authority": "ca.crt"}))
    assert found.ca == b"ca.crt"
    assert await found.credentials.current() == Credentials(None, Certificate(pair.certificate, pair.key))


async def test_token_may_stand_in_the_kubeconfig_or_in_a_file(tmp_path: Path) -> None:
    assert await load(write(tmp_path / "one", {"token": "t"})).credentials.current() == Credentials("t")
    (tmp_path / "token").write_text("from the file")
    found = load(write(tmp_path / "two", {"tokenFile": "token"}))
    assert await found.credentials.current() == Credentials("from the file")
    both = load(write(tmp_path / "three", {"token": "t", "tokenFile": "token"}))
    assert await both.credentials.current() == Credentials("from the file")  # as client-go


async def test_credentials_may_come_from_a_program(tmp_path: Path) -> None:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "made"}}
    (tmp_path / "login").write_text(
        f"#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" > {tmp_path}/info\necho '{json.dumps(answer)}'\n"
    )
    (tmp_path / "login").chmod(0o755)
    plugin = {"apiVersion": answer["apiVersion"], "command": "./login", "provideClusterInfo": True}
    plugin |= {"env": [{"name": "A", "value": "b"}], "args": ["x"]}
    found = load(write(tmp_path / "config", {"exec": plugin}, {"certificate-authority-data": encoded("CA")}))
    assert await found.credentials.current() == Credentials("made")
    told = json.loads((tmp_path / "info").read_text())["spec"]["cluster"]
    assert told == {"server": SERVER, "certificate-authority-data": encoded("CA")}


def test_named_file_comes_first_then_the_environment_then_the_home(tmp_path: Path) -> None:
    named, listed = write(tmp_path / "named", {}), write(tmp_path / "listed", {})
    write(tmp_path / ".kube" / "config", {})
    options = {"environment": {"KUBECONFIG": str(listed)}, "home": tmp_path}
    assert "named" in load(named, **options).source
    assert "listed" in load(**options).source
    assert ".kube" in load(home=tmp_path).source


def test_several_kubeconfigs_are_one_of_which_the_first_word_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "first", {}, {"server": "https://first:1"}, users=[])
    second = write(tmp_path / "second", {"token": "t"}, {"server": "https://second:2"}, **{"current-context": "x"})
    found = load(environment={"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"})
    assert found.server == "https://first:1"


def test_context_is_chosen_by_its_name(tmp_path: Path) -> None:
    contexts = [{"name": name, "context": {"cluster": name, "user": ""}} for name in ("main", "other")]
    clusters = [{"name": name, "cluster": {"server": f"https://{name}"}} for name in ("main", "other")]
    path = write(tmp_path / "config", {}, contexts=contexts, clusters=clusters)
    assert load(path).server == "https://main"
    assert load(path, "other").server == "https://other"
    with pytest.raises(UnknownNameError, match="unknown context `othr`"):
        load(path, "othr")


async def test_pod_has_the_identity_of_its_service_account(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    found = load(environment=environment, service_account=tmp_path)
    assert (found.server, found.ca, found.namespace) == ("https://10.0.0.1:443", b"CA", "team")
    assert await found.credentials.current() == Credentials("t")
    six = load(environment={"KUBERNETES_SERVICE_HOST": "fd00::1"}, service_account=tmp_path)
    assert six.server == "https://[fd00::1]:443"


def test_no_cluster_at_all_is_said_with_what_to_do() -> None:
    with pytest.raises(InputError, match="no cluster to speak to") as caught:
        load()
    assert "longshore cluster up" in (caught.value.hint or "")


@pytest.mark.parametrize("environment", [{}, {"KUBECONFIG": "/nowhere/config"}])
def test_kubeconfig_that_is_not_there_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(InputError, match="`/nowhere/config`"):
        load(None if environment else Path("/nowhere/config"), environment=environment)


@pytest.mark.parametrize(
    ("user", "cluster", "fields", "says"),
    [
        ({}, {"insecure-skip-tls-verify": True}, {}, "skip the verification"),
        ({}, {"proxy-url": "http://proxy"}, {}, "proxy `http://proxy`"),
        ({}, {"server": "cluster:6443"}, {}, "expected an address"),
        ({"token": "t"}, {"server": "http://cluster:6443"}, {}, "in the open"),
        ({}, {"certificate-authority": "missing.crt"}, {}, "missing.crt` cannot be read"),
        ({}, {"certificate-authority-data": "%%%"}, {}, "not base64"),
        ({"client-certificate-data": encoded("C")}, {}, {}, "`client-key` is missing"),
        ({"client-key-data": encoded("K")}, {}, {}, "`client-certificate` is missing"),
        ({"username": "me", "password": "x"}, {}, {}, "`username` is not supported"),
        ({"auth-provider": {"name": "gcp"}}, {}, {}, "`auth-provider` is not supported"),
        ({"as": "root"}, {}, {}, "`as` is not supported"),
        ({"exec": {"command": "x", "apiVersion": "v0"}}, {}, {}, "speaks `v0`"),
        ({}, {}, {"users": []}, "names the user `u`"),
        ({}, {}, {"clusters": []}, "names the cluster `c`"),
        ({}, {}, {"current-context": ""}, "no current context"),
        ({}, {}, {"contexts": "none"}, "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        load(write(tmp_path / "config", user, cluster, **fields))


def test_program_that_wants_a_person_is_refused(tmp_path: Path) -> None:
    plugin = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Always"}
    with pytest.raises(InputError, match="wants a person"):
        load(write(tmp_path / "config", {"exec": plugin}))


def test_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{ not: [yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "config")


def test_plain_http_is_allowed_to_a_proxy_on_this_machine(tmp_path: Path) -> None:
    found = load(write(tmp_path / "config", {"token": "t"}, {"server": "http://127.0.0.1:8001/"}))
    assert found.server == "http://127.0.0.1:8001"
