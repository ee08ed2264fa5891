"""Units in a user's own file: found by name, run once, and refused with a sentence."""

import dataclasses
import os
import sys
import typing
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.user_file import is_file_target, load_from_file


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("text", "want"),
    [("a/b.py:f", True), ("b.py:f", True), ("ee", False), ("b.py", False), ("b.py:", False), ("b.txt:f", False)],
)
def test_file_targets_are_told_from_names(text: str, want: bool) -> None:
    assert is_file_target(text) is want


def test_the_name_behind_the_colon_is_returned(mine: Path) -> None:
    mine.write_text("import json\ndef unit(): return json.dumps([])")
    assert load_from_file("thing", f"{mine}:unit")() == "[]"


def test_a_file_is_run_once_until_it_changes(mine: Path) -> None:
    mine.write_text("class Unit: pass")
    first = load_from_file("thing", f"{mine}:Unit")
    assert load_from_file("thing", f"{mine}:Unit") is first
    mine.write_text("class Unit: changed = True")
    assert load_from_file("thing", f"{mine}:Unit").changed


def test_a_file_does_not_stand_in_for_a_module_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("unit = 1")
    before = sys.modules.get("json")
    assert load_from_file("thing", f"{tmp_path / 'json.py'}:unit") == 1
    assert sys.modules.get("json") is before


def test_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"unit = {folder!r}")
    assert [load_from_file("thing", f"{tmp_path / folder / 'mine.py'}:unit") for folder in "ab"] == ["a", "b"]


def test_annotations_that_are_text_can_be_read(mine: Path) -> None:
    mine.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\nclass Size(int): pass\n\n"
        "@dataclass(frozen=True)\nclass Unit:\n    size: Size = Size(1)\n"
    )
    unit = load_from_file("thing", f"{mine}:Unit")
    assert [field.name for field in dataclasses.fields(unit)] == ["size"]
    assert typing.get_type_hints(unit)["size"].__name__ == "Size"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("def unit() return 1", "cannot be imported: SyntaxError", id="a syntax error"),
        pytest.param("import no_such_module", "cannot be imported: ModuleNotFoundError", id="a missing module"),
        pytest.param("raise SystemExit(0)", "cannot be imported: SystemExit", id="an exit"),
        pytest.param("def unti(): return 1", "did you mean `unti`", id="a misspelt name"),
        pytest.param("", "its names: none", id="an empty file"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_reason(mine: Path, text: str, message: str) -> None:
    mine.write_text(text)
    with pytest.raises(InputError) as caught:
        load_from_file("thing", f"{mine}:unit")
    assert f"thing `{mine}:unit`" in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"no file `absent\.py`") as caught:
        load_from_file("thing", "absent.py:unit")
    assert caught.value.hint == "give the path from the current folder"


def test_a_file_that_failed_is_run_again(mine: Path) -> None:
    mine.write_text("import no_such_module")
    with pytest.raises(InputError):
        load_from_file("thing", f"{mine}:unit")
    mine.write_text("unit = 1")
    os.utime(mine, (0, 0))
    assert load_from_file("thing", f"{mine}:unit") == 1
