"""Tests of the file of readings that a live workload writes."""

import time
from pathlib import Path

from longshore.core.words.node import NodeReadings
from longshore.live.workload.readings_file import write_readings
from longshore.telemetry.file import FileSource


async def test_what_is_written_is_what_schedulers_read(tmp_path: Path) -> None:
    path = tmp_path / "readings.json"
    readings = {"a": NodeReadings(latency_ms=12.5, zone_latency_ms=(("zone-a", 0.4),)), "b": NodeReadings(watts=90.0)}
    write_readings(path, readings)
    batch = await FileSource(path).read()
    assert batch.problem is None
    assert batch.known(time.time(), 60.0) == readings


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    write_readings(tmp_path / "readings.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["readings.json"]
