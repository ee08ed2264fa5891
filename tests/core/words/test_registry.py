"""Tests of the registry: lazy loading, order, descriptions, entry points, and clear failures."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from longshore.core.words import errors
from longshore.core.words.registry import Registry

STANDARD = Registry("thing", {"decoder": "json:JSONDecoder", "counter": "collections:Counter.most_common"}, "test.none")


def test_names_keep_the_order_of_the_table() -> None:
    assert STANDARD.names() == ("decoder", "counter")


def test_load_returns_the_attribute() -> None:
    import collections
    import json

    assert STANDARD.load("decoder") is json.JSONDecoder
    assert STANDARD.load("counter") is collections.Counter.most_common


def test_describe_is_the_first_line_of_the_module() -> None:
    assert STANDARD.describe("decoder").startswith("JSON (JavaScript Object Notation)")
    assert "\n" not in STANDARD.describe("decoder")


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(errors.UnknownNameError, match="unknown thing `decodr`") as caught:
        STANDARD.load("decodr")
    assert caught.value.hint == "did you mean `decoder`?"


def test_a_module_that_is_not_installed_is_named() -> None:
    registry = Registry("thing", {"x": "no_such_package.part:x"}, "test.none")
    with pytest.raises(errors.LongshoreError, match="needs the module `no_such_package`") as caught:
        registry.load("x")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_an_attribute_that_is_not_there_is_named() -> None:
    with pytest.raises(errors.LongshoreError, match="should be `nothing` in `json`"):
        Registry("thing", {"x": "json:nothing"}, "test.none").load("x")


def test_other_packages_add_by_entry_points_but_do_not_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = metadata.EntryPoints(
        [
            metadata.EntryPoint("zebra", "json:dumps", "test.group"),
            metadata.EntryPoint("apple", "json:loads [extra]", "test.group"),
            metadata.EntryPoint("own", "json:dumps", "test.group"),
        ]
    )
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries.select(group=group))
    registry = Registry("thing", {"own": "json:load"}, "test.group")
    assert registry.names() == ("own", "apple", "zebra")
    assert registry.target("own") == "json:load"
    assert registry.target("apple") == "json:loads"


def test_naming_the_entries_imports_none_of_them() -> None:
    script = (
        "import sys; from longshore.core.words.registry import Registry; "
        "Registry('thing', {'x': 'wave:open'}, 'test.none').names(); sys.exit('wave' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Registry:
    """A registry to which another package adds what does not work."""
    (tmp_path / "outside_raising.py").write_text("raise ValueError('bad package')")
    (tmp_path / "outside_exiting.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    values = {
        "raising": "outside_raising:x",
        "exiting": "outside_exiting:x",
        "absent": "outside_absent:x",
        "whole": "json",
        "nonsense": "a b!",
        "wrong": "json:loads",
        "right": "json:JSONDecoder",
    }
    entries = metadata.EntryPoints([metadata.EntryPoint(name, value, "test.group") for name, value in values.items()])
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries.select(group=group))
    return Registry("thing", {}, "test.group", "builtins:type")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raising", "`outside_raising` cannot be imported: ValueError: bad package"),
        ("exiting", "`outside_exiting` cannot be imported: SystemExit"),
        ("absent", "needs the module `outside_absent`, which is not installed"),
        ("whole", "got `json`, expected `module:attribute`"),
        ("nonsense", "expected `module:attribute`"),
        ("wrong", "`json:loads` is of type function, expected type"),
    ],
)
def test_what_another_package_adds_fails_with_a_sentence(outside: Registry, name: str, message: str) -> None:
    with pytest.raises(errors.LongshoreError) as caught:
        outside.load(name)
    assert message in str(caught.value)
    assert f"correct the entry `{name}` of `test.group`" in (caught.value.hint or "")


def test_a_unit_of_the_right_type_is_loaded(outside: Registry) -> None:
    import json

    assert outside.load("right") is json.JSONDecoder


def test_an_error_in_a_module_of_our_own_is_not_hidden(outside: Registry) -> None:
    with pytest.raises(ValueError, match="bad package"):
        Registry("thing", {"own": "outside_raising:x"}, "test.none").load("own")


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text("class Kind: pass\ndef made(): return 'made'\n")
    return f"{tmp_path / 'mine.py'}"


def test_a_user_names_a_unit_by_its_entry_or_by_their_file(mine: str) -> None:
    import json

    assert STANDARD.find("decoder") is json.JSONDecoder
    assert STANDARD.find(f"{mine}:made")() == "made"
    assert f"{mine}:made" in STANDARD
    assert "decoder" in STANDARD
    assert "decodr" not in STANDARD


def test_a_name_from_anywhere_runs_no_file(mine: str) -> None:
    with pytest.raises(errors.InputError, match="is in a file, which is not run here"):
        STANDARD.load(f"{mine}:made")


def test_a_unit_of_a_file_has_the_registrys_type(mine: str) -> None:
    registry = Registry("thing", {}, "test.none", "builtins:type")
    assert registry.find(f"{mine}:Kind").__name__ == "Kind"
    with pytest.raises(errors.LongshoreError, match="is of type function, expected type"):
        registry.find(f"{mine}:made")


def test_a_plain_function_becomes_a_unit_where_functions_are_units(mine: str) -> None:
    registry = Registry("thing", {}, "test.none", "builtins:str", "builtins:repr")
    assert registry.find(f"{mine}:made").startswith("<function made")
