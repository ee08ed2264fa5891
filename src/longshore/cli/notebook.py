"""`longshore notebook`: a tour in JupyterLab, as a notebook of the user's own that is paired with a Python file."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from longshore.cli.output import JsonOption, emit, note
from longshore.core.words.errors import ExtraMissingError, InputError

_NEEDED = ("jupytext", "jupyterlab")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="notebook")(notebook)


def notebook(
    folder: Annotated[Path, typer.Option(help="Where the notebook goes; one that is there is kept.")] = Path("tour"),
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Start JupyterLab, or only write the notebook.")
    ] = True,
    browser: Annotated[bool, typer.Option(help="Let JupyterLab open a browser.")] = True,
    port: Annotated[int, typer.Option(help="JupyterLab's first choice.", min=1, max=65535)] = 8888,
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="As root: start all the same; JupyterLab refuses otherwise.")
    ] = False,
    json_mode: JsonOption = False,
) -> None:
    """Open a tour in JupyterLab: train a policy, look at it, compare it."""
    missing = [name for name in _NEEDED if (open_it or name == "jupytext") and not importlib.util.find_spec(name)]
    if missing:
        raise ExtraMissingError(missing[0], "notebook")
    written = write_tour(folder)
    told = f"the notebook is `{written}`; `{written.with_suffix('.py').name}` beside it is the same as plain Python"
    emit(json_mode, {"notebook": str(written)}, lambda: note(told))
    if not open_it:
        return
    options = [f"--port={port}", *(["--allow-root"] * allow_root), *(["--no-browser"] * (not browser))]
    done = subprocess.run([sys.executable, "-m", "jupyterlab", *options, str(written)], check=False)
    raise typer.Exit(done.returncode)


def tour_source() -> Path:
    """Return the tour as it is delivered.

    Raises:
        InputError: it is not there.
    """
    # In a checkout it is an example; in a wheel it lies beside the package's modules.
    package = Path(__file__).parents[1]
    for path in (package.parents[1] / "examples" / "tour.py", package / "tour.py"):
        if path.is_file():
            return path
    raise InputError("the tour is not part of this installation", "take `examples/tour.py` from longshore's repository")


def write_tour(folder: Path) -> Path:
    """Write the tour as a notebook with its paired Python file; what is there already is kept.

    Raises:
        InputError: the folder cannot be made.
    """
    import jupytext

    written = folder / "tour.ipynb"
    if written.exists():
        return written
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = jupytext.read(tour_source())
        jupytext.write(found, folder / "tour.py", fmt="py:percent")
        jupytext.write(found, written)
    except OSError as error:
        raise InputError(
            f"cannot write the notebook to `{folder}`: {error.strerror}", "give another `--folder`"
        ) from error
    return written
