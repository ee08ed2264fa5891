"""`longshore models`: trained policies as folders: which there are, what one is, whether it is sound, what differs.

The registry's commands are those of `models_registry`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longshore.cli import models_registry
from longshore.cli.groups import add_group
from longshore.cli.output import JsonOption, emit, note, write_table
from longshore.core.words.errors import InputError, LongshoreError

if TYPE_CHECKING:
    from longshore.core.network.bundle import Bundle

BundleFolder = Annotated[Path, typer.Argument(help="The folder of a bundle.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    about = "Trained policies as folders (bundles), and the registry of their versions."
    add_group(app, "models", about, show, verify, diff, *models_registry.COMMANDS, list=list_models)


def list_models(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to look, folders below included; by default here.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="List a registry instead: a file, a URL, or `default` (in your state folder).", metavar="STORE"
        ),
    ] = None,
    json_mode: JsonOption = False,
) -> None:
    """List the bundles in a folder and below it, or the versions in a registry."""
    from longshore.policies.bundle_folder import find_bundles

    if store is not None:
        if folder is not None:
            raise InputError(f"got the folder `{folder}` and `--store {store}`, expected one of them", "leave one out")
        models_registry.list_versions(store, json_mode=json_mode)
        return
    folder = folder or Path()
    models = [_model(path) for path in find_bundles(folder)]

    def render() -> None:
        columns = ("folder", "name", "objective", "learner", "network", "workload")
        if models:
            write_table(
                (*columns, "broken"), [tuple(model[name] or "" for name in (*columns, "broken")) for model in models]
            )
        else:
            note(f"no bundles in `{folder}` or below it")

    emit(json_mode, {"models": models}, render)


def show(bundle: BundleFolder, json_mode: JsonOption = False) -> None:
    """Show what a bundle is: what it optimises and reads, how it was trained, its results."""
    import msgspec

    from longshore.core.network.model_card import figure_text, plain
    from longshore.policies.bundle_folder import read_folder

    policy = read_folder(bundle)

    def render() -> None:
        rows = [(name, plain(value)) for name, value in _facts(policy).items()]
        rows += [(f"training: {name}", plain(value)) for name, value in policy.provenance.items()]
        rows += [(f"result: {name}", figure_text(figure)) for name, figure in policy.metrics.items()]
        write_table(("what", "value"), rows)

    details: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(policy, name))
        for name in ("features", "ops", "preference", "envelope", "provenance", "metrics")
    }
    emit(json_mode, {"folder": str(bundle), **_facts(policy), **details}, render)


def verify(bundle: BundleFolder, json_mode: JsonOption = False) -> None:
    """Check a bundle: files, limits, digest, features, network, and a trial on a small cluster. Exit 1 if it fails."""
    from dataclasses import asdict

    from longshore.deciding.trial import try_bundle
    from longshore.policies.bundle_folder import read_folder

    try:
        policy = read_folder(bundle)
        trial = try_bundle(policy)
    except LongshoreError as error:
        text = f"refused: {error}"
        refusal = {"folder": str(bundle), "is_sound": False, "reason": error.message, "hint": error.hint}
        emit(json_mode, refusal, lambda: note(text))
        raise typer.Exit(1) from error
    emit(
        json_mode,
        {"folder": str(bundle), "is_sound": True, "name": policy.name, "trial": asdict(trial)},
        lambda: print(
            f"sound: {policy.name}, {len(policy.tensors)} tensors; "
            f"it placed {trial.placed} of {trial.pods} pods on {trial.nodes} nodes"
        ),
    )


def diff(
    first: BundleFolder,
    second: Annotated[Path, typer.Argument(help="The folder of another bundle.", show_default=False)],
    json_mode: JsonOption = False,
) -> None:
    """Show what differs between two bundles: features, network, objective, training, results, weights."""
    from longshore.core.network.bundle_diff import diff_bundles
    from longshore.policies.bundle_folder import read_folder

    found = diff_bundles(read_folder(first), read_folder(second))

    def render() -> None:
        if found:
            write_table(("what", str(first), str(second)), found)
        else:
            note("no differences")

    emit(json_mode, {"differences": [one._asdict() for one in found]}, render)


def _model(folder: Path) -> dict[str, str | None]:
    """Describe a bundle in a line; one that is refused must not hide the others."""
    from longshore.core.network.model_card import plain
    from longshore.policies.bundle_folder import read_folder

    found: dict[str, str | None] = dict.fromkeys(("name", "objective", "learner", "network", "workload", "broken"))
    try:
        policy = read_folder(folder)
    except LongshoreError as error:
        return {"folder": str(folder), **found, "broken": error.message}
    told = {name: policy.provenance.get(name) for name in ("learner", "network", "workload")}
    words = {name: None if value is None else plain(value) for name, value in told.items()}
    return {"folder": str(folder), **found, "name": policy.name, "objective": policy.objective, **words}


def _facts(policy: "Bundle") -> dict[str, object]:
    return {
        "name": policy.name,
        "objective": policy.objective,
        "filters": policy.filters,
        "prior": policy.prior,
        "takes_weights": {one.term: one.weight for one in policy.preference},
        "num_nodes": policy.num_nodes,
        "num_features": len(policy.features),
        "num_operations": len(policy.ops),
        "num_weights": sum(tensor.size for tensor in policy.tensors.values()),
    }
