"""Find out which API server to speak to and as whom: a kubeconfig, or the service account of the pod that we run in.

Looked for in this order: the file that the caller names, `$KUBECONFIG` (several files, the first that says something
wins), `~/.kube/config`, the pod's service account.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import yaml

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.kube.identity import (
    Certificate,
    Credentials,
    CredentialSource,
    FileCredentials,
    FixedCredentials,
    Identity,
)
from longshore.kube.identity_exec import VERSIONS, ExecCommand, ExecCredentials

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class _Entry(msgspec.Struct, rename="kebab"):
    """Base: names with hyphens, as kubeconfigs have them; `folder` is where relative paths start."""


class _Cluster(_Entry):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _ExecVariable(msgspec.Struct):
    name: str
    value: str


class _Exec(msgspec.Struct, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[_ExecVariable] | None = None
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class _User(_Entry):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: _Exec | None = None
    username: str = ""
    auth_provider: Any = None
    impersonated: str = msgspec.field(default="", name="as")


class _Context(_Entry):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Entry):
    name: str
    cluster: _Cluster


class _NamedUser(_Entry):
    name: str
    user: _User | None = None


class _NamedContext(_Entry):
    name: str
    context: _Context


class _Config(_Entry):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


def load_identity(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = _SERVICE_ACCOUNT,
) -> Identity:
    """Return the identity to speak to a cluster with; the arguments behind the star are for tests.

    Raises:
        InputError: nothing that names a cluster was found, or what was found cannot be used.
    """
    paths = _paths(kubeconfig, environment, home)
    if paths:
        return _from_kubeconfigs(paths, context)
    in_cluster = _from_service_account(environment, service_account)
    if in_cluster is not None and context is None:
        return in_cluster
    raise InputError(
        "no cluster to speak to: no kubeconfig was named, `$KUBECONFIG` is not set, `~/.kube/config` is not there, "
        "and this is no pod with a service account",
        "name a kubeconfig, or bring up a cluster of your own with `longshore cluster up`",
    )


def _paths(kubeconfig: Path | None, environment: Mapping[str, str], home: Path | None) -> list[Path]:
    if kubeconfig is not None:
        if not kubeconfig.is_file():
            raise InputError(f"the kubeconfig `{kubeconfig}` is not there")
        return [kubeconfig]
    named = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    if named:
        found = [path for path in named if path.is_file()]
        if not found:
            raise InputError(f"`$KUBECONFIG` names `{named[0]}`, which is not there")
        return found
    usual = (home or Path.home()) / ".kube" / "config"
    return [usual] if usual.is_file() else []


def _from_service_account(environment: Mapping[str, str], folder: Path) -> Identity | None:
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
    token = folder / "token"
    if not host or not token.is_file():
        return None
    authority, namespace = folder / "ca.crt", folder / "namespace"
    return Identity(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        credentials=FileCredentials(token),
        ca=_file(authority, "the service account's certificate authority"),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else "default",
        source="the pod's service account",
    )


def _from_kubeconfigs(paths: list[Path], wanted: str | None) -> Identity:
    clusters: dict[str, tuple[_Cluster, Path]] = {}
    users: dict[str, tuple[_User, Path]] = {}
    contexts: dict[str, tuple[_Context, Path]] = {}
    chosen = wanted or ""
    for path in paths:
        config = _read(path)
        chosen = chosen or config.current_context
        for cluster in config.clusters or ():
            clusters.setdefault(cluster.name, (cluster.cluster, path))
        for user in config.users or ():
            users.setdefault(user.name, (user.user or _User(), path))
        for context in config.contexts or ():
            contexts.setdefault(context.name, (context.context, path))
    if not chosen:
        raise InputError(f"the kubeconfig `{paths[0]}` has no current context", "choose one by its name")
    if chosen not in contexts:
        raise UnknownNameError("context", chosen, contexts)
    context_entry, path = contexts[chosen]
    source = f"context `{chosen}` of `{path}`"
    if context_entry.cluster not in clusters:
        raise InputError(f"{source} names the cluster `{context_entry.cluster}`, which is not in the file")
    if context_entry.user and context_entry.user not in users:
        raise InputError(f"{source} names the user `{context_entry.user}`, which is not in the file")
    user_entry = users.get(context_entry.user, (_User(), path))
    return _identity(clusters[context_entry.cluster], user_entry, context_entry.namespace, source)


def _read(path: Path) -> _Config:
    try:
        # The C loader reads the files of large companies in a tenth of the time; libyaml is not everywhere.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return msgspec.convert(yaml.load(path.read_bytes(), loader), _Config)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"the kubeconfig `{path}` cannot be read: {error}") from error


def _identity(cluster: tuple[_Cluster, Path], user: tuple[_User, Path], namespace: str, source: str) -> Identity:
    entry, folder = cluster[0], cluster[1].parent
    address = urlsplit(entry.server)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise InputError(f"{source}: the server is `{entry.server}`, expected an address such as `https://host:6443`")
    if entry.insecure_skip_tls_verify:
        raise InputError(
            f"{source} asks to skip the verification of the server (insecure-skip-tls-verify), which longshore does "
            "not do: whoever answers would be handed the credentials",
            "put the cluster's authority into certificate-authority-data instead",
        )
    if entry.proxy_url:
        raise InputError(f"{source} asks for the proxy `{entry.proxy_url}`, which longshore cannot use")
    credentials = _credentials(*user, entry, source)
    has_credentials = user[0] != _User()
    if address.scheme == "http" and has_credentials and address.hostname not in _LOOPBACK:
        raise InputError(f"{source}: credentials for `{entry.server}` would travel in the open", "use https")
    return Identity(
        server=entry.server.rstrip("/"),
        credentials=credentials,
        ca=_bytes(entry.certificate_authority_data, entry.certificate_authority, folder, f"{source}: the authority"),
        tls_server_name=entry.tls_server_name or None,
        namespace=namespace or "default",
        source=source,
    )


def _credentials(user: _User, path: Path, cluster: _Cluster, source: str) -> CredentialSource:
    folder = path.parent
    for field, value, instead in (
        ("username", user.username, "Kubernetes has no passwords since 1.19"),
        ("auth-provider", user.auth_provider, "use the provider's exec plugin"),
        ("as", user.impersonated, "use an identity that has the rights itself"),
    ):
        if value:
            raise InputError(f"{source}: the user's field `{field}` is not supported", instead)
    certificate = _bytes(user.client_certificate_data, user.client_certificate, folder, f"{source}: client-certificate")
    key = _bytes(user.client_key_data, user.client_key, folder, f"{source}: client-key")
    if (certificate is None) != (key is None):
        missing = "client-key" if key is None else "client-certificate"
        raise InputError(f"{source}: `{missing}` is missing, expected a certificate and its key")
    pair = None if certificate is None or key is None else Certificate(certificate, key)
    # Data come before a file that stands beside them, a token file before a token, as in client-go.
    files = [
        folder / name if name and not data else None
        for data, name in (
            (user.client_certificate_data, user.client_certificate),
            (user.client_key_data, user.client_key),
        )
    ]
    if user.token_file or any(files):
        token = folder / user.token_file if user.token_file else user.token or None
        return FileCredentials(token, files[0] or certificate, files[1] or key)
    if user.token or pair is not None or user.exec is None:
        return FixedCredentials(Credentials(user.token or None, pair))
    return ExecCredentials(_exec_command(user.exec, folder, cluster, source))


def _exec_command(plugin: _Exec, folder: Path, cluster: _Cluster, source: str) -> ExecCommand:
    if plugin.api_version not in VERSIONS:
        expected = " or ".join(f"`{version}`" for version in VERSIONS)
        raise InputError(f"{source}: the exec plugin speaks `{plugin.api_version}`, expected {expected}")
    if plugin.interactive_mode == "Always":
        raise InputError(
            f"{source}: the exec plugin `{plugin.command}` wants a person at a terminal (interactiveMode: Always)",
            "use an identity that a program can use alone, such as a service account's token",
        )
    info: dict[str, object] | None = None
    if plugin.provide_cluster_info:
        info = {"server": cluster.server}
        authority = _bytes(cluster.certificate_authority_data, cluster.certificate_authority, folder, source)
        if authority is not None:
            info["certificate-authority-data"] = base64.b64encode(authority).decode()
        if cluster.tls_server_name:
            info["tls-server-name"] = cluster.tls_server_name
    return ExecCommand(
        command=plugin.command,
        api_version=plugin.api_version,
        arguments=tuple(plugin.args or ()),
        environment={variable.name: variable.value for variable in plugin.env or ()},
        install_hint=plugin.install_hint or None,
        folder=folder,
        cluster=info,
    )


def _bytes(data: str, name: str, folder: Path, what: str) -> bytes | None:
    """Read what stands in the kubeconfig itself in base64, or else in the file that it names."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{what}: the data is not base64: {error}") from error
    return _file(folder / name, what) if name else None


def _file(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{what}: `{path}` cannot be read: {error.strerror or error}") from error
