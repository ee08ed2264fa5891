"""`longshore models push|pull|promote|demote|delete|serve`: the registry of models, and its server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.interruption import stop_event
from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore.server.serving import Server
    from longshore.store.models import ModelRegistry, ModelVersion

DEFAULT_STORE = "default"
Store = Annotated[
    str,
    typer.Option(
        help="The registry: a file, a URL, or `default` (in your state folder).",
        metavar="STORE",
        envvar="LONGSHORE_STORE",
    ),
]
Name = Annotated[str, typer.Argument(help="Name of a model.", show_default=False)]
Which = Annotated[str, typer.Argument(help="A version, or an alias such as live.", show_default=False)]


def push(
    bundle: Annotated[Path, typer.Argument(help="The folder of a bundle.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(help="Name of the model; by default what the policy is called.", show_default=False)
    ] = None,
    alias: Annotated[
        str | None, typer.Option(help="Let this alias, such as live, stand for the version.", show_default=False)
    ] = None,
    store: Store = DEFAULT_STORE,
    json_mode: JsonOption = False,
) -> None:
    """Verify a bundle and keep it as the next version of a model; what is there already keeps its version."""
    from longshore.core.network.bundle_files import read_bundle
    from longshore.deciding.trial import try_bundle
    from longshore.policies.bundle_folder import read_files

    files = read_files(bundle)
    try_bundle(read_bundle(files))
    with _open(store) as registry:
        pushed = registry.push(files, name=name, alias=alias)
    address = _address(store)
    emit(json_mode, {**_facts(pushed), "store": address}, lambda: print(f"{_line(pushed)}: {address}"))


def pull(
    name: Name,
    which: Which,
    folder: Annotated[Path, typer.Argument(help="Where to put it; a bundle there is replaced.", show_default=False)],
    store: Store = DEFAULT_STORE,
    with_manifest: Annotated[
        bool, typer.Option("--with-manifest", help="Add manifest.json: a web server can then serve the folder.")
    ] = False,
    json_mode: JsonOption = False,
) -> None:
    """Write a version of a model to a folder, whole or not at all."""
    import msgspec

    from longshore.policies.bundle_folder import write_files
    from longshore.store.models import MANIFEST_FILE

    with _open(store, is_read_only=True) as registry:
        found, files = registry.pull(name, which)
    if with_manifest:
        files[MANIFEST_FILE] = msgspec.json.format(msgspec.json.encode(found.manifest), indent=2) + b"\n"
    write_files(folder, files, others=frozenset({MANIFEST_FILE}))
    emit(json_mode, {**_facts(found), "folder": str(folder)}, lambda: print(f"{_line(found)}: {folder}"))


def promote(
    name: Name,
    which: Which,
    alias: Annotated[str, typer.Option(help="The alias that is to stand for this version.")] = "live",
    store: Store = DEFAULT_STORE,
    json_mode: JsonOption = False,
) -> None:
    """Let an alias stand for a version; naming an older one takes a promotion back."""
    with _open(store, may_make=False) as registry:
        found, before = registry.promote(name, which, alias)

    def render() -> None:
        was = "new" if before is None else f"was {before}"
        print(f"{name} {alias}: {found.version} ({was})")

    emit(json_mode, {**_facts(found), "alias": alias, "before": before}, render)


def demote(
    name: Name,
    alias: Annotated[str, typer.Argument(help="The alias that is to stand for nothing.", show_default=False)],
    store: Store = DEFAULT_STORE,
    json_mode: JsonOption = False,
) -> None:
    """Take an alias away; the version that it stood for stays, and can then be deleted.

    A scheduler that follows the alias keeps the bundle that it has, also over a restart while its cache is there, and
    counts `refused` until the alias stands for a version again. One without a cache ranks by upstream's scores.
    """
    with _open(store, may_make=False) as registry:
        found = registry.demote(name, alias)

    def render() -> None:
        print(f"{name} {alias}: none (was {found.version})")
        note(f"schedulers that follow `{alias}` keep the bundle that they have; new ones get none")

    emit(json_mode, {**_facts(found), "alias": alias, "before": found.version}, render)


def delete(
    name: Name,
    which: Annotated[str, typer.Argument(help="A version that has no alias.", show_default=False)],
    store: Store = DEFAULT_STORE,
    json_mode: JsonOption = False,
) -> None:
    """Delete a version that has no alias, for good; its number is not given again.

    A scheduler whose address names this very version keeps the bundle that it has, and gets no other.
    """
    with _open(store, may_make=False) as registry:
        found = registry.delete(name, which)
    emit(json_mode, {**_facts(found), "is_deleted": True}, lambda: print(f"deleted: {_line(found)}"))


def serve(
    store: Store = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine can ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 = a free one.", min=0, max=65535)] = 8090,
    token_file: Annotated[
        Path | None, typer.Option(help="Who asks must know the word in this file (Authorization: Bearer).")
    ] = None,
    tls_certificate: Annotated[Path | None, typer.Option(help="Serve HTTPS with this certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
    make_store: Annotated[
        bool, typer.Option("--make-store", help="Make the registry where there is none: models may be pushed later.")
    ] = False,
) -> None:
    """Serve the models of a registry over HTTP, read-only, until SIGTERM or Ctrl-C.

    kube-scheduler's plugin takes a model from http(s)://HOST:PORT/models/NAME/live/ and follows its promotions.
    """
    import asyncio

    from longshore.server.rights import Access
    from longshore.server.routes import make_app
    from longshore.server.serving import MOST_CONNECTIONS, Server, tls_of

    tls = tls_of(tls_certificate, tls_key, "`--tls-certificate` and `--tls-key`")
    if make_store:
        _open(store).close()
    with _open(store, is_read_only=True) as registry:
        app = make_app({"health": {}, "models": registry}, Access(token_file))
        server = Server(app, "models", host=host, port=port, tls=tls, most_connections=MOST_CONNECTIONS)
        asyncio.run(_serve(server))


async def _serve(server: "Server") -> None:
    async with stop_event() as stop, server:
        if server.is_open_to_others and not server.has_tls:
            note("plain HTTP to other machines: whoever is between can change models, and reads a token")
        note(f"models at {server.address}/models/NAME/live/")
        await stop.wait()


COMMANDS = (push, pull, promote, demote, delete, serve)
"""Those of `longshore models` that are here."""


def list_versions(store: str, *, json_mode: bool) -> None:
    """Print the versions in a registry."""
    with _open(store, is_read_only=True) as registry:
        found = registry.versions()

    def render() -> None:
        rows = [
            (one.name, str(one.version), ", ".join(one.aliases), one.objective, _time(one.time_us), one.sha256[:12])
            for one in found
        ]
        if rows:
            write_table(("name", "version", "aliases", "objective", "pushed", "sha256"), rows)
        else:
            note("no models")

    emit(json_mode, {"models": [_facts(one) for one in found]}, render)


def _open(store: str, *, is_read_only: bool = False, may_make: bool = True) -> "ModelRegistry":
    from longshore.store.models import ModelRegistry

    return ModelRegistry(_address(store), is_read_only=is_read_only, may_make=may_make)


def _address(store: str) -> str:
    from longshore.store.location import default_store

    return str(default_store()) if store == DEFAULT_STORE else store


def _facts(one: "ModelVersion") -> dict[str, object]:
    return {
        "name": one.name,
        "version": one.version,
        "aliases": list(one.aliases),
        "objective": one.objective,
        "pushed": _time(one.time_us),
        "sha256": one.sha256,
    }


def _line(one: "ModelVersion") -> str:
    aliases = f" ({', '.join(one.aliases)})" if one.aliases else ""
    return f"{one.name} version {one.version}{aliases}, sha256 {one.sha256:.12}"


def _time(time_us: int) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(time_us // 1_000_000, UTC):%Y-%m-%dT%H:%M:%SZ}"
