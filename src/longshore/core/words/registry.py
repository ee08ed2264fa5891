"""A registry: the names of one kind of unit (filter, policy, objective, workload) and where each lives.

A room's `__init__.py` holds the table as a literal, `"name": "module:attribute"`; other packages add to it by entry
points of the group `longshore.<room>`. Nothing is imported until `load` or `describe` asks for it. The command line,
the reference docs and the matrix tests all read these registries, so a new unit is one file and one line.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore.core.words.extras import missing_extra


@dataclass(frozen=True)
class Registry:
    """Names of one kind of unit, each with the place that it is loaded from."""

    kind: str
    """What one entry is called in messages, singular: `filter`."""

    table: Mapping[str, str]
    """Name to `module:attribute`, in the order in which lists show them."""

    entry_point_group: str
    """The entry point group by which other packages add entries: `longshore.filters`."""

    unit_type: str | None = None
    """`module:attribute` of the class that every unit is an instance of; None where units are of several kinds."""

    def names(self) -> tuple[str, ...]:
        """Return every name: the table's in its order, then those of other packages, sorted."""
        return tuple(self._targets)

    def target(self, name: str) -> str:
        """Return the `module:attribute` that `name` stands for.

        Raises:
            UnknownNameError: if there is no such name; the message offers the nearest.
        """
        targets = self._targets
        if name not in targets:
            raise UnknownNameError(self.kind, name, targets)
        return targets[name]

    def load(self, name: str) -> Any:
        """Import and return the attribute behind `name`; the caller knows its type.

        Raises:
            UnknownNameError: if there is no such name.
            LongshoreError: it cannot be imported, or is not what this registry holds.
        """
        module_name, _, attribute = self.target(name).partition(":")
        if not attribute:
            raise LongshoreError(
                f"{self.kind} `{name}`: got `{self.target(name)}`, expected `module:attribute`", self._correction(name)
            )
        found: Any = self._import_module(name, module_name)
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise LongshoreError(
                    f"{self.kind} `{name}` should be `{attribute}` in `{module_name}`, which has no such name",
                    self._correction(name),
                )
            found = getattr(found, part)
        self._check_type(name, found)
        return found

    def describe(self, name: str) -> str:
        """Return the first line of the docstring of the module that holds `name`."""
        module = self._import_module(name, self.target(name).partition(":")[0])
        lines = (getattr(module, "__doc__", None) or "").strip().splitlines()
        return lines[0].strip() if lines else ""

    @cached_property  # reading the entry points of every installed package takes more than a millisecond
    def _targets(self) -> dict[str, str]:
        targets = dict(self.table)
        for entry in sorted(metadata.entry_points(group=self.entry_point_group), key=lambda entry: entry.name):
            # Our own names win: an installed package must not silently change what a documented name means.
            targets.setdefault(entry.name, entry.value.partition("[")[0].replace(" ", ""))
        return targets

    def _import_module(self, name: str, module_name: str) -> object:
        try:
            return importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            missing = missing_extra(error)
            if missing is not None:
                raise missing from error
            raise LongshoreError(
                f"{self.kind} `{name}` needs the module `{error.name}`, which is not installed",
                f"install the package that provides `{error.name}`, or {self._correction(name)}",
            ) from error
        except (Exception, SystemExit) as error:
            if name in self.table:
                raise  # ours: a bug of longshore must show as one
            raise LongshoreError(
                f"{self.kind} `{name}`: its module `{module_name}` cannot be imported: {type(error).__name__}: {error}",
                f"repair or remove the package that adds it, or {self._correction(name)}",
            ) from error

    def _check_type(self, name: str, found: object) -> None:
        if self.unit_type is None:
            return
        module_name, _, class_name = self.unit_type.partition(":")
        wanted = getattr(importlib.import_module(module_name), class_name)
        if not isinstance(found, wanted):
            raise LongshoreError(
                f"{self.kind} `{name}`: `{self.target(name)}` is of type {type(found).__name__}, expected {class_name}",
                self._correction(name),
            )

    def _correction(self, name: str) -> str:
        return f"correct the entry `{name}` of `{self.entry_point_group}`"
