"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

KubeconfigOption = Annotated[
    Path | None, typer.Option(help="By default $KUBECONFIG, ~/.kube/config, or the pod's own identity.")
]
ContextOption = Annotated[str | None, typer.Option(help="Context of the kubeconfig; by default the current one.")]
ReadingsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A source of readings, such as `file:PATH`; of several the first that knows a value counts.",
        metavar="NAME:ARGUMENT",
        show_default=False,
    ),
]
