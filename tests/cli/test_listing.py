"""Tests of `longshore list`, over a registry of the test's own and over the real ones."""

import json

import pytest

from longshore import filters
from longshore.cli import listing
from longshore.core.words.errors import UnknownNameError
from longshore.core.words.registry import Registry
from longshore.policies.bundle_folder import shipped_names


@pytest.fixture
def two_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "REGISTRY", Registry("filter", {"b": "json:loads", "a": "csv:reader"}, "test.none"))


@pytest.mark.usefixtures("two_filters")
def test_text_shows_names_with_their_first_lines(capsys: pytest.CaptureFixture[str]) -> None:
    listing.list_units("filters")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "description"]
    assert lines[1].startswith("b     JSON (JavaScript Object Notation)")
    assert lines[2].startswith("a ")


@pytest.mark.usefixtures("two_filters")
def test_json_has_the_schema_and_the_order_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    listing.list_units("filters", json_mode=True)
    payload = json.loads(capsys.readouterr().out)
    assert (payload["schema"], payload["room"], payload["kind"]) == (1, "filters", "filter")
    assert [unit["name"] for unit in payload["units"]] == ["b", "a"]


def test_an_empty_room_says_so_on_stderr(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "REGISTRY", Registry("filter", {}, "test.none"))
    listing.list_units("filters")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "no filters yet\n")


@pytest.mark.parametrize("room", listing.ROOMS)
def test_every_room_answers_in_json(room: str, capsys: pytest.CaptureFixture[str]) -> None:
    listing.list_units(room, json_mode=True)
    names = [unit["name"] for unit in json.loads(capsys.readouterr().out)["units"]]
    shipped = shipped_names() if room == "policies" else ()
    assert names == [*listing.registry_of(room).names(), *shipped]


def test_unknown_rooms_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `policies`"):
        listing.registry_of("policy")


def test_a_broken_unit_of_another_package_is_shown_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"fine": "json:loads", "gone": "no_such_package:x"}
    monkeypatch.setattr(filters, "REGISTRY", Registry("filter", table, "test.none"))
    listing.list_units("filters")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("fine  JSON")
    assert lines[2] == "gone  (broken) filter `gone` needs the module `no_such_package`, which is not installed"
    listing.list_units("filters", json_mode=True)
    units = json.loads(capsys.readouterr().out)["units"]
    assert units[0]["broken"] is None
    assert "no_such_package" in units[1]["broken"]


def test_presets_are_listed_with_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    listing.list_units("presets", json_mode=True)
    payload = json.loads(capsys.readouterr().out)
    assert payload["kind"] == "preset"
    assert {"default", "thesis", "energy-seed", "kwok-seed"} <= {unit["name"] for unit in payload["units"]}
    assert all(unit["description"] for unit in payload["units"])
