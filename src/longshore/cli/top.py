"""`longshore top`: look at a cluster while pods are placed."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="top")(top)


def top(
    kubeconfig: Annotated[
        Path | None, typer.Option(help="By default $KUBECONFIG, ~/.kube/config, or the pod's own account.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="A context of the kubeconfig; by default its current one.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="A decision log (file or URL): placements get their scores and reasons.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="A scheduler's /metrics (URL): shows its policy, fallbacks and queues.")
    ] = None,
    readings: Annotated[
        str | None, typer.Option(help="A file of readings (JSON or YAML), as `schedule` takes it.")
    ] = None,
) -> None:
    """Look at a cluster: how full its nodes are, and every placement as it happens. `?` shows the keys."""
    from longshore.core.words.errors import InputError
    from longshore.dashboard.top.app import TopApp
    from longshore.dashboard.top.feed import Feed, Sources
    from longshore.kube.config import load_identity

    if not _has_terminal():
        raise InputError("`longshore top` needs a terminal to draw on", "with ssh, add -t")
    feed = Feed(load_identity(kubeconfig, context), Sources(store, metrics, readings))
    failure = TopApp(feed).run()
    if failure is not None:
        raise failure


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
