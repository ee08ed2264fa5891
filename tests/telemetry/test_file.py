"""Readings from a file: what is in it comes out, and a bad file changes nothing."""

import json
import os
import re
from pathlib import Path

import pytest

from longshore.core.words.node import NodeReadings
from longshore.telemetry import file
from longshore.telemetry.file import FileSource, parse

YAML = b"""
time: 2026-03-01T12:00:00Z
nodes:
  worker-1: {latency_ms: 12.5, watts: 180, cpu_ratio: 0.4, zone_latency_ms: {zone-b: 2, zone-a: 0.4}}
  worker-2: {connections: 40, traffic_bytes_per_second: 1500000.0, time: 2026-03-01T12:00:30+00:00}
"""
NOON = 1772366400.0


def test_every_reading_comes_out():
    nodes = parse(YAML, 0.0, is_yaml=True).nodes
    assert nodes["worker-1"].readings == NodeReadings(
        latency_ms=12.5, watts=180.0, cpu_ratio=0.4, zone_latency_ms=(("zone-a", 0.4), ("zone-b", 2.0))
    )
    assert nodes["worker-2"].readings == NodeReadings(connections=40.0, traffic_bytes_per_second=1.5e6)


def test_json_means_the_same_as_yaml():
    data = json.dumps({"nodes": {"a": {"latency_ms": 3}}}).encode()
    assert parse(data, 5.0, is_yaml=False) == parse(data, 5.0, is_yaml=True)


def test_time_is_the_nodes_then_the_files_then_that_of_writing():
    nodes = parse(YAML, 5.0, is_yaml=True).nodes
    assert (nodes["worker-1"].time_seconds, nodes["worker-2"].time_seconds) == (NOON, NOON + 30)
    assert parse(b"nodes: {a: {watts: 1}}", 5.0, is_yaml=True).nodes["a"].time_seconds == 5.0


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("nodes: {a: {latncy_ms: 3}}", "latncy_ms"),
        ("nodes: {a: {latency_ms: fast}}", "Expected `float | null`, got `str`"),
        ("nodes: {a: {latency_ms: -1}}", ">= 0"),
        ("nodes: {a: {latency_ms: .nan}}", ">= 0"),
        ("nodes: {a: {latency_ms: .inf}}", "`a`: got latency_ms inf, expected a finite number"),
        ("nodes: {a: {zone_latency_ms: {z: .inf}}}", "`a`: got z inf"),
        ("[1, 2]", "Expected `object`, got `array`"),
        ("", "Expected `object`, got `null`"),
        ("nodes: {a: {", "while parsing"),
    ],
)
async def test_a_wrong_file_is_named_with_the_reason(tmp_path: Path, text: str, want: str):
    path = tmp_path / "readings.yaml"
    path.write_text(text)
    batch = await FileSource(path).read()
    assert batch.problem is not None
    assert batch.problem.startswith(f"cannot read `{path}`: ")
    assert want in batch.problem
    assert batch.nodes == {}


def test_the_example_of_the_reference_page_is_read():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "readings-file.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert set(parse(example.encode(), 0.0, is_yaml=True).nodes) == {"worker-1", "worker-2"}
    fields = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert fields == {*NodeReadings._fields, "time"}


def write(path: Path, text: str, seconds: int) -> None:
    path.write_text(text)
    os.utime(path, (seconds, seconds))


async def test_the_file_is_read_again_when_it_changes_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setattr(file, "parse", lambda *args, **kwargs: (calls.append(1), parse(*args, **kwargs))[1])
    path, source = tmp_path / "r.yaml", FileSource(tmp_path / "r.yaml")
    write(path, "nodes: {a: {watts: 1}}", 100)
    await source.read()
    assert (await source.read()).nodes["a"].readings.watts == 1
    write(path, "nodes: {a: {watts: 2}}", 101)
    assert (await source.read()).nodes["a"].readings.watts == 2
    assert len(calls) == 2


async def test_a_file_that_goes_wrong_keeps_the_last_good_readings_and_says_so(tmp_path: Path):
    path, source = tmp_path / "r.json", FileSource(tmp_path / "r.json")
    write(path, '{"nodes": {"a": {"watts": 1}}}', 100)
    good = await source.read()
    for text in ('{"nodes": {"a": {"wat', '{"nodes": 5}'):
        write(path, text, 101 + len(text))
        for _ in range(2):
            batch = await source.read()
            assert batch.nodes == good.nodes
            assert "keeping the last good readings of 1 nodes" in (batch.problem or "")
    write(path, '{"nodes": {"a": {"watts": 3}}}', 200)
    assert (await source.read()).problem is None


async def test_a_file_that_is_gone_keeps_the_last_good_readings(tmp_path: Path):
    path, source = tmp_path / "r.yaml", FileSource(tmp_path / "r.yaml")
    assert "No such file or directory" in ((await source.read()).problem or "")
    write(path, "nodes: {a: {watts: 1}}", 100)
    assert (await source.read()).problem is None
    path.unlink()
    batch = await source.read()
    assert "a" in batch.nodes
    assert "No such file" in (batch.problem or "")
    write(path, "nodes: {a: {watts: 1}}", 100)
    assert (await source.read()).problem is None


async def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file, "MAX_BYTES", 10)
    (tmp_path / "r.yaml").write_text("nodes: {a: {watts: 1}}")
    assert "it has 22 bytes, expected at most 10" in ((await FileSource(tmp_path / "r.yaml").read()).problem or "")
