"""The sources that a user chose by `--readings NAME:ARGUMENT`: the one place that reads these words."""

from collections.abc import Iterable

from longshore.core.words.errors import InputError
from longshore.telemetry import REGISTRY
from longshore.telemetry.base import Source


def find_sources(choices: Iterable[str]) -> dict[str, Source]:
    """Return the sources in the order of the choices, each by a name of its own.

    A choice is `NAME:ARGUMENT`, such as `file:readings.json`, a file's path, or `path/to/file.py:Source:ARGUMENT` for a
    source of the user's own. The second source of a kind is called `file-2`: metrics and log show these names and no
    arguments, which may hold a password.

    Raises:
        InputError: there is no such source, or it does not take the argument.
    """
    sources: dict[str, Source] = {}
    kinds: list[str] = []
    for choice in choices:
        unit, argument = _split(choice)
        kind = unit.rpartition(":")[2]
        kinds.append(kind)
        number = kinds.count(kind)
        sources[kind if number == 1 else f"{kind}-{number}"] = REGISTRY.find(unit)(argument)
    return sources


def _split(choice: str) -> tuple[str, str]:
    name, colon, argument = choice.partition(":")
    if colon and name in REGISTRY.names() and argument:
        return name, argument
    path, is_code, rest = choice.partition(".py:")
    own, has_argument, argument_of_own = rest.partition(":")
    if is_code and own.isidentifier() and has_argument:
        return f"{path}.py:{own}", argument_of_own
    # A path may have a colon, too, but no source's name has a slash or a dot.
    if choice and (not colon or "/" in name or "." in name):
        return "file", choice
    known = ", ".join(f"`{one}:…`" for one in REGISTRY.names())
    raise InputError(
        f"got the readings `{choice}`, expected one of: {known}, or the path of a file",
        f"a file of this name is `file:{choice}`" if argument else "for instance `file:readings.json`",
    )
