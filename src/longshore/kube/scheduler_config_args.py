"""The arguments of the plugin Longshore in a KubeSchedulerConfiguration, checked as the plugin itself does.

The plugin (`scheduler/longshore/arguments.go`) refuses what is wrong when kube-scheduler starts; this finds it before.
`tests/kube/test_scheduler_config_args.py` reads the fields of the Go struct, so that the two cannot drift apart.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from longshore.core.errors import nearest_name

MOST_DEADLINE_SECONDS = 5
_UNITS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_DURATION = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+|[-+]?0")
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


class ArgumentProblem(NamedTuple):
    """What is wrong with one argument."""

    field: str
    """Below `args`, such as `circuit.failures`."""
    message: str
    hint: str | None = None


def argument_problems(arguments: Any) -> list[ArgumentProblem]:
    """Return what the plugin would refuse."""
    if not isinstance(arguments, dict):
        return [ArgumentProblem("", f"got {_shown(arguments)}, expected a mapping")]
    problems = list(_check_fields(arguments, FIELDS, ""))
    if not arguments.get("modelPath"):
        message = "missing: the folder of the bundle that is to rank nodes"
        problems.append(ArgumentProblem("modelPath", message, "such as `modelPath: /var/lib/longshore/model`"))
    return problems


def duration_seconds(text: object) -> Fraction | None:
    """Return the length of a duration as Go writes it, such as `1m30s`; None = it is none."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        return None
    seconds = sum((Fraction(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(text)), Fraction(0))
    return -seconds if text.startswith("-") else seconds


def _check_fields(given: Mapping[str, Any], fields: Mapping[str, Any], above: str) -> Iterator[ArgumentProblem]:
    for name, value in given.items():
        field = f"{above}{name}"
        check = fields.get(name)
        if check is None:
            nearest = nearest_name(str(name), fields)
            known = f"did you mean `{above}{nearest}`?" if nearest else f"known are: {', '.join(fields)}"
            yield ArgumentProblem(field, "no such field", known)
        elif isinstance(check, dict):
            if isinstance(value, dict):
                yield from _check_fields(value, check, f"{field}.")
            else:
                yield ArgumentProblem(field, f"got {_shown(value)}, expected a mapping")
        elif (expected := check(value)) is not None:
            hint = "durations have a unit, such as `20ms`" if expected.startswith("a duration") else None
            yield ArgumentProblem(field, f"got {_shown(value)}, expected {expected}", hint)


Check = Callable[[Any], str | None]
"""Returns what is expected where a value is not that."""


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "a string"


def _absolute_path(value: Any) -> str | None:
    return None if isinstance(value, str) and (not value or value.startswith("/")) else "an absolute path"


def _bool(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _number(least: float, most: float) -> Check:
    def check(value: Any) -> str | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and least <= value <= most else f"a number from {least:g} to {most:g}"

    return check


def _count(value: Any) -> str | None:
    return None if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else "1 or more"


def _duration(least_seconds: float = 0, most_seconds: float | None = None) -> Check:
    """Return a check; a least of 0 is itself too short."""

    def check(value: Any) -> str | None:
        seconds = duration_seconds(value)
        is_short = seconds is None or seconds <= 0 or seconds < least_seconds
        if not is_short and (most_seconds is None or (seconds is not None and seconds <= most_seconds)):
            return None
        least = f"of at least {least_seconds:g}s" if least_seconds else "above 0"
        return f"a duration {least}" + (f" and at most {most_seconds:g}s" if most_seconds is not None else "")

    return check


def _destination(value: Any) -> str | None:
    if isinstance(value, str) and not re.match(r"https?://(?![^/])|https?://$", value):
        return None
    return "the path of a file, unix:PATH or an address such as http://host:8000/decisions"


def _plugin_config(value: Any) -> str | None:
    """Check the shape alone: what upstream's plugins take is upstream's to say."""
    is_list = isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and one.keys() <= {"name", "args"} for one in value
    )
    return None if is_list else "a list of `name` and `args`, as `pluginConfig`"


FIELDS: dict[str, Any] = {
    "apiVersion": _text,
    "kind": _text,
    "modelPath": _absolute_path,
    "deadline": _duration(most_seconds=MOST_DEADLINE_SECONDS),
    "mixWeight": _number(0, 1),
    "shadow": _bool,
    "readingsFile": _text,
    "readingsMaxAge": _duration(),
    "envelopeTolerance": _number(0, 1),
    "decisionLog": _destination,
    "circuit": {"failures": _count, "openFor": _duration()},
    "eventInterval": _duration(least_seconds=1),
    "stockPluginConfig": _plugin_config,
}
"""Every argument with its check, as in the Go struct."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
