"""A command that greets."""

from typing import Annotated

import typer


def register(app):
    """Add the command."""
    app.command(name="outside-command")(greet)


def greet(who: Annotated[str, typer.Argument(help="Whom to greet.")] = "world"):
    """Greet somebody."""
    typer.echo(f"hello, {who}")
