"""`longshore top`: look at a cluster while pods are placed."""

import sys
from typing import Annotated

import typer

from longshore.cli.options import ContextOption, KubeconfigOption, ReadingsOption


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="top")(top)


def top(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    store: Annotated[
        str | None, typer.Option(help="A decision log (file or URL): placements get their scores and reasons.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="A scheduler's /metrics (URL): shows its policy, fallbacks and queues.")
    ] = None,
    readings: ReadingsOption = None,
) -> None:
    """Look at a cluster: how full its nodes are, and every placement as it happens. `?` shows the keys."""
    from longshore.core.words.errors import InputError
    from longshore.dashboard.top.app import TopApp
    from longshore.dashboard.top.feed import Feed, Sources
    from longshore.kube.config import load_identity
    from longshore.telemetry.sources import find_sources

    if not _has_terminal():
        raise InputError("`longshore top` needs a terminal to draw on", "with ssh, add -t")
    sources = Sources(store, metrics, find_sources(readings or ()))
    feed = Feed(load_identity(kubeconfig, context), sources)
    failure = TopApp(feed).run()
    if failure is not None:
        raise failure


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
