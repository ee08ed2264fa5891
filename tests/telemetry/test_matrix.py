"""Every registered source: chosen by name, followed, and in trouble without raising."""

import logging
from pathlib import Path

import pytest

from longshore.telemetry import REGISTRY
from longshore.telemetry.base import SourceReadings
from longshore.telemetry.follow import Telemetry
from longshore.telemetry.sources import find_sources

every_source = pytest.mark.parametrize("name", REGISTRY.names())


@every_source
def test_it_is_chosen_by_its_name(name: str, tmp_path: Path) -> None:
    (source,) = find_sources([f"{name}:{tmp_path / 'nothing'}"]).items()
    assert source[0] == name
    assert callable(source[1].read)


@every_source
def test_it_says_what_it_is(name: str) -> None:
    assert REGISTRY.describe(name).endswith(".")


@every_source
async def test_it_does_not_raise_where_there_is_nothing_to_read(name: str, tmp_path: Path) -> None:
    (source,) = find_sources([f"{name}:{tmp_path / 'nothing'}"]).values()
    found = await source.read()
    assert isinstance(found, SourceReadings)
    assert found.nodes == {}
    assert found.problem


@every_source
async def test_its_trouble_is_told_and_nothing_is_handed_on(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[object] = []
    telemetry = Telemetry(find_sources([f"{name}:{tmp_path / 'nothing'}"]), got.append)
    with caplog.at_level(logging.WARNING):
        await telemetry.followers[0].step()
    assert (got, telemetry.followers[0].num_failures, telemetry.followers[0].age_seconds()) == ([], 1, None)
    assert f"source={name} " in caplog.text
