"""A command of another package."""

import typer


def register(app: typer.Typer) -> None:
    """Add it."""
    app.command(name="greet")(lambda: typer.echo("hello"))
