"""Readings from a JSON or YAML file, read again whenever it changes.

    time: 2026-03-01T12:00:00Z        # when it was measured; without it, when the file was written
    nodes:
      worker-1: {latency_ms: 12.5, watts: 180, cpu_ratio: 0.4, zone_latency_ms: {zone-a: 0.4}}
      worker-2: {latency_ms: 3.1, connections: 40, traffic_bytes_per_second: 1.5e6}

The fields are those of `words.node.NodeReadings`; what is left out is not known. A node may have a `time` of its own. A
file that is missing, half written or wrong changes nothing: the last good readings stay until they are too old.
"""

import asyncio
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import SourceReadings, TimedReadings

MAX_BYTES = 64 * 1024**2
"""More is no file of readings: 5,000 nodes need about one."""

Amount = Annotated[float, msgspec.Meta(ge=0)]


class _Node(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One node's readings as they stand in the file."""

    time: datetime | None = None
    latency_ms: Amount | None = None
    connections: Amount | None = None
    traffic_bytes_per_second: Amount | None = None
    cpu_ratio: Amount | None = None
    watts: Amount | None = None
    zone_latency_ms: dict[str, Amount] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole file."""

    nodes: dict[str, _Node]
    time: datetime | None = None


class FileSource:
    """Reads a file of readings; see the top of this file for its format."""

    def __init__(self, path: str | Path) -> None:
        """Take the file's path; it may come into being later."""
        self._path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._batch = SourceReadings()

    async def read(self) -> SourceReadings:
        """Return the file's readings; the last good ones and the problem where it cannot be read."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> SourceReadings:
        seen = None
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen != self._seen:
                if status.st_size > MAX_BYTES:
                    raise ValueError(f"it has {status.st_size} bytes, expected at most {MAX_BYTES}")
                self._batch = parse(self._path.read_bytes(), status.st_mtime, is_yaml=self._path.suffix != ".json")
                self._seen = seen
        except OSError as error:
            self._seen = None
            return self._failed(error.strerror or str(error))
        except (ValueError, yaml.YAMLError) as error:
            # Not looked at again before it changes, but still a problem.
            self._seen = seen
            self._batch = self._failed(_one_line(error))
        return self._batch

    def _failed(self, reason: str) -> SourceReadings:
        kept = f"; keeping the last good readings of {len(self._batch.nodes)} nodes" if self._batch.nodes else ""
        return SourceReadings(self._batch.nodes, f"cannot read `{self._path}`: {reason}{kept}")


def parse(data: bytes, written_seconds: float, *, is_yaml: bool) -> SourceReadings:
    """Read the content of a file that was written at that time (seconds since 1970).

    Raises:
        ValueError: it is not of the format; msgspec's errors, which name the place, are among these.
    """
    content = msgspec.convert(_load_yaml(data), _File) if is_yaml else msgspec.json.decode(data, type=_File)
    common = written_seconds if content.time is None else _seconds(content.time)
    return SourceReadings({name: _timed(name, node, common) for name, node in content.nodes.items()})


def _load_yaml(data: bytes) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
    return yaml.load(data, loader)


def _timed(name: str, node: _Node, common_seconds: float) -> TimedReadings:
    amounts = {field: getattr(node, field) for field in _AMOUNTS}
    for field, amount in (*amounts.items(), *node.zone_latency_ms.items()):
        if amount is not None and not math.isfinite(amount):
            raise ValueError(f"`{name}`: got {field} {amount}, expected a finite number")
    readings = NodeReadings(**amounts, zone_latency_ms=tuple(sorted(node.zone_latency_ms.items())))
    return TimedReadings(readings, common_seconds if node.time is None else _seconds(node.time))


_AMOUNTS = tuple(field for field in NodeReadings._fields if field != "zone_latency_ms")


def _seconds(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
