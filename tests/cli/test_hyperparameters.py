"""Hyperparameters read from the source are those of the classes, each with its line of help."""

import dataclasses

import pytest

from longshore.agents import LEARNERS, NETWORKS
from longshore.cli.hyperparameters import fields_of, first_line, hyperparameters
from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore.core.words.registry import Registry

UNITS = [(registry, name) for registry in (LEARNERS, NETWORKS) for name in registry.table]


@pytest.mark.parametrize(("registry", "name"), UNITS, ids=[name for _, name in UNITS])
def test_they_are_the_fields_of_the_class(registry: Registry, name: str):
    found = {one.name: one.default for one in hyperparameters(registry, name)}
    assert found == {field.name: field.default for field in dataclasses.fields(registry.load(name))}


@pytest.mark.parametrize(("registry", "name"), UNITS, ids=[name for _, name in UNITS])
def test_each_has_a_line_of_help(registry: Registry, name: str):
    assert [one.name for one in hyperparameters(registry, name) if not one.help.endswith(".")] == []


@pytest.mark.parametrize(("registry", "name"), UNITS, ids=[name for _, name in UNITS])
def test_the_first_line_is_the_registrys(registry: Registry, name: str):
    assert first_line(registry, name) == registry.describe(name)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean `ppo`"):
        hyperparameters(LEARNERS, "ppoo")


def test_a_package_that_is_gone_is_named():
    broken = Registry("learner", {"gone": "no_such_package.x:Y"}, "test.none")
    with pytest.raises(LongshoreError, match=r"`no_such_package\.x` is not installed"):
        hyperparameters(broken, "gone")


def test_a_class_that_is_compiled_into_python_has_no_fields():
    assert fields_of("builtins", "int") == {}
