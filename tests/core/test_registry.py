"""Tests of the registry: lazy loading, order, descriptions, entry points, and clear failures."""

import subprocess
import sys
from importlib import metadata

import pytest

from longshore.core import errors
from longshore.core.registry import Registry

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
        "import sys; from longshore.core.registry import Registry; "
        "Registry('thing', {'x': 'wave:open'}, 'test.none').names(); sys.exit('wave' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
