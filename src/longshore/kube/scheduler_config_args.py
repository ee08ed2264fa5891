"""The arguments of the plugin Longshore in a KubeSchedulerConfiguration, checked as the plugin itself does.

The plugin (`scheduler/longshore/arguments.go`) refuses what is wrong when kube-scheduler starts; this finds it before.
`tests/kube/test_scheduler_config_args.py` reads the fields of the Go struct, so that the two cannot drift apart.
"""

import contextlib
import ipaddress
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from longshore.core.words.errors import QuantityError, nearest_name
from longshore.core.words.quantity import parse_nanos

MOST_DEADLINE_SECONDS = 5
_URL_EXAMPLE = "https://models.example/models/el-rl/live/"
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
    registry = arguments.get("registry")
    registry = registry if isinstance(registry, dict) else {}
    if not arguments.get("modelPath") and not registry:
        message = "missing: the folder of the bundle that is to rank nodes, or `registry` with its address"
        problems.append(ArgumentProblem("modelPath", message, "such as `modelPath: /var/lib/longshore/model`"))
    return [*problems, *_check_registry(registry, arguments), *_check_decision_log(arguments)]


def _check_decision_log(arguments: Mapping[str, Any]) -> Iterator[ArgumentProblem]:
    address = str(arguments.get("decisionLog") or "")
    for field in ("decisionLogTokenFile", "decisionLogCAFile"):
        if arguments.get(field) and not address.startswith(("http://", "https://")):
            yield ArgumentProblem(field, f"got {_shown(arguments[field])}, expected nothing: decisionLog is no address")
    if arguments.get("decisionLogTokenFile") and _is_plain_to_others(address):
        message = "expected nothing with http to another machine: anybody between could read the token"
        yield ArgumentProblem("decisionLogTokenFile", message, "give decisionLog an https address")


def _check_registry(registry: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[ArgumentProblem]:
    """Check what one field alone does not say."""
    url, cache = registry.get("url"), registry.get("cacheFolder")
    if registry and not url:
        yield ArgumentProblem("registry.url", "missing: the address of a bundle", f"such as `{_URL_EXAMPLE}`")
    if url and arguments.get("modelPath"):
        yield ArgumentProblem("registry.url", f"got {_shown(url)}, expected nothing beside modelPath", "leave one out")
    if url and not cache:
        message = "missing: where the last good bundle is kept for the next start"
        yield ArgumentProblem("registry.cacheFolder", message, "such as `cacheFolder: /var/lib/longshore/cache`")
    is_plain = _registry_url(url) is None and _is_plain_to_others(str(url))
    if is_plain and not registry.get("allowPlainHTTP"):
        message = f"got {_shown(url)}, expected https, or allowPlainHTTP: true"
        hint = "http to another machine lets anybody between change the bundle"
        yield ArgumentProblem("registry.url", message, hint)


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
        if field in GONE:
            yield ArgumentProblem(field, "no such argument any more", GONE[field])
        elif check is None:
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


def _one_of(*choices: str) -> Check:
    return lambda value: None if value in choices else " or ".join(choices)


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


def _amount(value: Any) -> str | None:
    expected = "an amount above 0, such as 256Mi"
    try:
        return None if not isinstance(value, bool) and parse_nanos(str(value)) > 0 else expected
    except QuantityError:
        return expected


def _destination(value: Any) -> str | None:
    if isinstance(value, str) and not re.match(r"https?://(?![^/])|https?://$", value):
        return None
    return "the path of a file, unix:PATH or an address such as http://host:8000/decisions"


def _registry_url(value: Any) -> str | None:
    expected = f"an address such as {_URL_EXAMPLE}, without user, query and fragment"
    if not isinstance(value, str):
        return expected
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return expected
    return None if not value or (is_address and "?" not in value and "#" not in value) else expected


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def _is_plain_to_others(url: str) -> bool:
    with contextlib.suppress(ValueError):
        return url.startswith("http://") and not _is_loopback(urlsplit(url).hostname or "")
    return False


def _digests(value: Any) -> str | None:
    digests = value if isinstance(value, list) else [None]
    is_right = all(re.fullmatch(r"sha256:[0-9a-f]{64}", str(digest)) for digest in digests)
    return None if is_right else "a list of `sha256:` and 64 hexadecimal digits, each that of a policy.json"


def _preference(value: Any) -> str | None:
    """Check the numbers alone: which terms there are is the bundle's to say."""
    is_weights = isinstance(value, dict) and all(
        isinstance(weight, int | float) and not isinstance(weight, bool) and 0 <= weight < math.inf
        for weight in value.values()
    )
    if not is_weights:
        return "weights of 0 or more by term, such as `{watts: 1, fragmentation: 0.25}`"
    return None if not value or sum(value.values()) > 0 else "at least one weight above 0"


GONE = {
    "mixWeight": "give Longshore a smaller weight in the profile's `plugins.score`",
    "stockPluginConfig": "give upstream's plugins their arguments in the profile's `pluginConfig`",
}
"""Arguments of earlier releases, with what to do instead."""

FIELDS: dict[str, Any] = {
    "apiVersion": _text,
    "kind": _text,
    "modelPath": _absolute_path,
    "modelDigests": _digests,
    "registry": {
        "url": _registry_url,
        "cacheFolder": _absolute_path,
        "pollInterval": _duration(least_seconds=2),
        "tokenFile": _absolute_path,
        "caFile": _absolute_path,
        "allowPlainHTTP": _bool,
    },
    "preference": _preference,
    "deadline": _duration(most_seconds=MOST_DEADLINE_SECONDS),
    "shadow": _bool,
    "readingsFile": _text,
    "readingsMaxAge": _duration(),
    "onMissingReadings": _one_of("place", "wait"),
    "envelopeTolerance": _number(0, 1),
    "decisionLog": _destination,
    "decisionLogMaxSize": _amount,
    "decisionLogTokenFile": _absolute_path,
    "decisionLogCAFile": _absolute_path,
    "memoryLimit": _amount,
    "stateFolder": _absolute_path,
    "circuit": {"failures": _count, "openFor": _duration()},
    "eventInterval": _duration(least_seconds=1),
}
"""Every argument with its check, as in the Go struct."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
