"""Groups of commands, whose help has them by task and each with a whole sentence."""

from typing import Any

import typer
from typer.core import TyperGroup

_LONGEST_SENTENCE = 1_000


class Group(TyperGroup):
    """Typer's group; its plain help cuts sentences off and knows no tasks."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by their `rich_help_panel`, in the order in which these first come."""
        tasks: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                task = getattr(command, "rich_help_panel", None) or "Commands"
                tasks.setdefault(task, []).append((name, command.get_short_help_str(_LONGEST_SENTENCE)))
        for task, rows in tasks.items():
            with formatter.section(task):
                formatter.write_dl(rows, col_max=24)


def add_group(app: typer.Typer, name: str, about: str, *commands: Any, **named: Any) -> None:
    """Add a group with these commands, each under its function's name or under the one given."""
    # Plain help: rich's would cost its import on every call, and a log file shows boxes badly.
    group = typer.Typer(cls=Group, help=about, no_args_is_help=True, rich_markup_mode=None)
    group.callback()(lambda: None)  # with one command alone, typer would leave its name out
    for label, command in (named | {one.__name__.replace("_", "-"): one for one in commands}).items():
        group.command(name=label)(command)
    app.add_typer(group, name=name)
