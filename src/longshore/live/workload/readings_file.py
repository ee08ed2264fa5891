"""The latencies of a live workload in a file, for `longshore schedule --readings FILE`."""

import datetime
from collections.abc import Mapping
from pathlib import Path

import msgspec

from longshore.core.words.node import NodeReadings

REFRESH_SECONDS = 20.0
"""Readers forget what is older than a minute: it is written again although nothing changed."""


def write_readings(path: Path, readings: Mapping[str, NodeReadings]) -> None:
    """Write all readings as of now, whole or not at all."""
    nodes = {}
    for name, measured in readings.items():
        fields = {key: value for key, value in measured._asdict().items() if value is not None and value != ()}
        if measured.zone_latency_ms:
            fields["zone_latency_ms"] = dict(measured.zone_latency_ms)
        nodes[name] = fields
    now = datetime.datetime.now(datetime.UTC).isoformat()
    partial = path.with_name(f".{path.name}.part")
    partial.write_bytes(msgspec.json.encode({"time": now, "nodes": nodes}))
    partial.replace(path)
