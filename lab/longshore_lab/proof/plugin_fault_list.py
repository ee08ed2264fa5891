"""The faults of the kube-scheduler plugin, each with what the plugin has to say about it."""

import asyncio
import datetime
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from longshore_lab.cluster.nodes import kwok_nodes
from longshore_lab.proof import plugin_bundles as bundles
from longshore_lab.proof.plugin_faults import Expected, Fault, Spot

UNDISTURBED: Final = "nothing"
_KEPT, _FELL_BACK = "LongshoreModelKept", "LongshoreFallback"
_READINGS_KEPT, _UNREACHABLE = "LongshoreReadingsKept", "LongshoreDecisionLogUnreachable"
_UPDATE_FAILURES = "longshore_model_update_failures_total"
_READINGS_FAILURES = "longshore_readings_failures_total"
_LOG_FAILURES = "longshore_decision_log_failures_total"

_SPOILS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "truncated": (bundles.truncated, "bad-bundle", "cut off"),
    "of an unknown feature": (bundles.unknown_feature, "unknown-feature", "colour"),
    "of a newer format": (bundles.newer_format, "bad-bundle", "format version 99"),
    "of random bytes": (bundles.random_bytes, "bad-bundle", "policy.json"),
    "with NaN weights": (bundles.nan_weights, "bad-bundle", "not finite"),
    "deleted": (bundles.deleted, "model-missing", "no such file"),
    "on a disk with I/O errors": (bundles.unreadable, "bad-bundle", "input/output error"),
    "replaced by a file": (bundles.not_a_folder, "bad-bundle", "not a directory"),
    "replaced by a pipe": (bundles.pipe, "bad-bundle", "expected a regular file"),
}
"""How a bundle is spoilt, the reason to fall back where it was so from the start, and what an event says of it."""


def _counted(reason: str) -> str:
    return f'longshore_fallback_total{{reason="{reason}"}}'


def _fell_back(says: str, *reasons: str, event: str = _FELL_BACK, also: tuple[str, ...] = ()) -> Expected:
    metrics = (*(_counted(reason) for reason in reasons), *also)
    return Expected(metrics, frozenset(reasons), event, says)


def _spoil(damage: Callable[[Path], None]) -> Callable[[Spot], Awaitable[None]]:
    async def do(spot: Spot) -> None:
        spot.model.spoil(damage)

    return do


def _bundle_faults() -> dict[str, Fault]:
    found = {}
    for name, (damage, _, says) in _SPOILS.items():
        expected = Expected((_UPDATE_FAILURES,), event=_KEPT, says=says)
        found[f"bundle {name}"] = Fault(_spoil(damage), expected)
    for name, (damage, reason, says) in _SPOILS.items():
        found[f"from the start: bundle {name}"] = Fault(_spoil(damage), _fell_back(says, reason), is_cold=True)
    overflowing = _spoil(bundles.overflowing)
    expected = _fell_back("no numbers", "nan", event=_KEPT, also=(_UPDATE_FAILURES,))
    found["bundle whose scores overflow"] = Fault(overflowing, expected)
    cold = _fell_back("nan", "nan")
    found["from the start: bundle whose scores overflow"] = Fault(overflowing, cold, is_cold=True)
    return found


async def _write_readings(spot: Spot) -> None:
    _put_readings(spot, {name: {"latency_ms": 10.0} for name in _node_names(spot)})


def _node_names(spot: Spot) -> list[str]:
    return [node["metadata"]["name"] for node in kwok_nodes(spot.cluster.options)]


def _put_readings(spot: Spot, nodes: dict[str, Any], age_seconds: float = 0.0) -> None:
    measured = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=age_seconds)
    _put_text(spot, msgspec.json.encode({"time": measured.isoformat(), "nodes": nodes}))


def _put_text(spot: Spot, text: bytes) -> None:
    fresh = spot.readings.with_suffix(".part")
    fresh.write_bytes(text)
    fresh.replace(spot.readings)


async def _stale(spot: Spot) -> None:
    _put_readings(spot, {name: {"latency_ms": 10.0} for name in _node_names(spot)}, age_seconds=3600.0)


async def _negative(spot: Spot) -> None:
    _put_readings(spot, {name: {"latency_ms": -10.0} for name in _node_names(spot)})


async def _no_numbers(spot: Spot) -> None:
    nodes = ", ".join(f'"{name}": {{"latency_ms": NaN}}' for name in _node_names(spot))
    _put_text(spot, f'{{"nodes": {{{nodes}}}}}'.encode())


async def _enormous(spot: Spot) -> None:
    _put_readings(spot, {name: {"latency_ms": 1e308} for name in _node_names(spot)})


async def _strangers(spot: Spot) -> None:
    _put_readings(spot, {f"10.0.0.{number}": {"latency_ms": 10.0} for number in range(50)})


async def _half_a_file(spot: Spot) -> None:
    _put_text(spot, spot.readings.read_bytes()[:-20])


def _reading(damage: Callable[[Spot], Awaitable[None]], expected: Expected) -> Fault:
    arguments = {"readingsFile": "{folder}/readings.json"}
    return Fault(damage, expected, arguments=arguments, policy=bundles.reading_bundle, prepare=_write_readings)


_REFUSED = (_READINGS_FAILURES,)
_READINGS_FAULTS = {
    "readings an hour old": _reading(_stale, _fell_back("older than", "stale-readings")),
    "readings of other nodes": _reading(_strangers, _fell_back("none of which is in the cluster", "stale-readings")),
    "readings of 1e308": _reading(_enormous, _fell_back("outside of what it met", "out-of-distribution")),
    "readings that are NaN": _reading(_no_numbers, Expected(_REFUSED, event=_READINGS_KEPT, says="latency_ms")),
    "readings below 0": _reading(_negative, Expected(_REFUSED, event=_READINGS_KEPT, says="got -10")),
    "readings cut off": _reading(_half_a_file, Expected(_REFUSED, event=_READINGS_KEPT, says="readings.json")),
}


async def _restart_apiserver(spot: Spot) -> None:
    await asyncio.to_thread(spot.cluster.restart_apiserver)


async def _lose_log(spot: Spot) -> None:
    folder = spot.log.parent
    folder.rename(folder.with_name("lost"))
    folder.write_bytes(b"")


async def _leave_dead_socket(spot: Spot) -> None:
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind(str(spot.folder / "nobody.sock"))


def _silent_log(
    says: str, destination: str | None = None, damage: Callable[[Spot], Awaitable[None]] | None = None
) -> Fault:
    expected = Expected((_LOG_FAILURES,), event=_UNREACHABLE, says=says)
    arguments = {} if destination is None else {"decisionLog": destination}
    return Fault(damage, expected, destination is not None, arguments, is_logged=False)


_LATE = frozenset({"deadline", "circuit-open"})
_OTHER_FAULTS = {
    "API server killed and started again": Fault(_restart_apiserver, Expected()),
    "decision log: its folder is gone": _silent_log("not a directory", damage=_lose_log),
    "decision log: a dead socket": _silent_log("refused", "unix:{folder}/nobody.sock", _leave_dead_socket),
    "decision log: a dead address": _silent_log("refused", "http://127.0.0.1:9/decisions"),
    "annotations that cannot be read": Fault(
        None,
        Expected(event="LongshoreAnnotationIgnored", says="got `30ms`"),
        annotations={"longshore.dev/latency-hard-limit-ms": "30ms"},
    ),
    # In time or late, as the machine lets it; if late too often, the policy is left alone.
    "ranking takes 10 ms of 20": Fault(None, Expected(reasons=_LATE), failpoint="slow-scoring:10ms"),
    "ranking takes 18 ms of 20": Fault(None, Expected(reasons=_LATE), failpoint="slow-scoring:18ms"),
    "ranking takes 25 ms of 20": Fault(
        None, _fell_back("deadline", "deadline", "circuit-open"), failpoint="slow-scoring:25ms"
    ),
    "ranking takes 10 s of 20 ms": Fault(
        None, _fell_back("deadline", "deadline", "circuit-open"), failpoint="slow-scoring:10s"
    ),
}

FAULTS: Final[dict[str, Fault]] = {
    UNDISTURBED: Fault(None, Expected()),
    **_bundle_faults(),
    **_READINGS_FAULTS,
    **_OTHER_FAULTS,
}
