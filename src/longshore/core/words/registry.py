"""A registry: the names of one kind of unit (filter, policy, objective, workload) and where each lives.

A room's `__init__.py` holds the table as a literal, `"name": "module:attribute"`; other packages add to it by entry
points of the group `longshore.<room>`. Nothing is imported until somebody asks for it. The command line, the reference
docs and the matrix tests all read these registries, so a new unit is one file and one line. Where a user names a unit,
`path/to/file.py:name` stands for one of their own (`find`).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.core.words.extras import missing_extra
from longshore.core.words.user_file import is_file_target, load_from_file


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

    from_function: str | None = None
    """`module:attribute` that makes a unit of another package's or a user's plain function; None = it is none."""

    def names(self) -> tuple[str, ...]:
        """Return every name: the table's in its order, then those of other packages, sorted."""
        return tuple(self._targets)

    def __contains__(self, text: str) -> bool:
        """Say whether `find` knows what is meant: a name, or `path/to/file.py:name`."""
        return is_file_target(text) or text in self._targets

    def target(self, text: str) -> str:
        """Return the `module:attribute` that a name stands for, and `path/to/file.py:name` as it is.

        Raises:
            UnknownNameError: if there is no such name; the message offers the nearest.
        """
        if text not in self:
            raise UnknownNameError(self.kind, text, self._targets)
        return self._targets.get(text, text)

    def find(self, text: str) -> Any:
        """Return the unit that a user names: an entry's name, or `path/to/file.py:name` of their own.

        Raises:
            InputError: there is no such name or file, or the file is wrong.
            LongshoreError: it cannot be imported, or is not what this registry holds.
        """
        return self._unit(text, load_from_file(self.kind, text)) if is_file_target(text) else self.load(text)

    def load(self, name: str) -> Any:
        """Import and return the attribute behind `name`; the caller knows its type.

        For names from anywhere, such as a bundle's: it runs no file, only what is installed.

        Raises:
            UnknownNameError: if there is no such name.
            InputError: if it is a file.
            LongshoreError: it cannot be imported, or is not what this registry holds.
        """
        if is_file_target(name):
            raise InputError(
                f"{self.kind} `{name}` is in a file, which is not run here: expected a name that is installed",
                f"a package gives it a name by an entry point of `{self.entry_point_group}`",
            )
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
        return self._unit(name, found)

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

    def _unit(self, text: str, found: Any) -> Any:
        """Return what was found as a unit; refuse what is none."""
        if self.unit_type is None:
            return found
        wanted = _attribute(self.unit_type)
        if self.from_function is not None and callable(found) and not isinstance(found, type | wanted):
            found = _attribute(self.from_function)(found)
        if not isinstance(found, wanted):
            raise LongshoreError(
                f"{self.kind} `{text}`: `{self.target(text)}` is of type {type(found).__name__}, "
                f"expected {wanted.__name__}",
                self._correction(text),
            )
        return found

    def _correction(self, text: str) -> str:
        if is_file_target(text):
            return f"docs/guides/extend.md shows what a {self.kind} is"
        return f"correct the entry `{text}` of `{self.entry_point_group}`"


def _attribute(target: str) -> Any:
    module_name, _, name = target.partition(":")
    return getattr(importlib.import_module(module_name), name)
