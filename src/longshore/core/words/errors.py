"""Every error that longshore raises on purpose, in one tree.

    LongshoreError                 exit 1   base: something failed
    ├── ComponentMissingError      exit 1   a program or built file that is not on this machine
    ├── ExtraMissingError          exit 1   a package that an extra of longshore provides
    └── InputError                 exit 2   what the caller gave us is wrong
        ├── UnknownNameError                a name that is in no table
        ├── QuantityError                   a Kubernetes quantity that does not parse
        ├── ObjectError                     a Kubernetes object that is refused
        └── UserTermError                   a user's own objective that failed its checks

A message says what was got and what was expected; the hint, on a line of its own, says what to do next. The command
line prints `str(error)` and ends with `error.exit_code`; errors of other libraries are wrapped at the edge of a room.
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar

_MAX_NAMES = 24
"""A message names so many valid names at most: a cluster has thousands of pods."""


class LongshoreError(Exception):
    """Something failed in a way that longshore foresaw."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        # Gymnasium raises a worker's error anew with the first one as its message.
        return str(self.message) if self.hint is None else f"{self.message}\nhint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # Children take other arguments than `args` holds, so by default one sent by a worker process could not be read.
        return _restore, (type(self), self.__dict__)


class ComponentMissingError(LongshoreError):
    """A program or built file that the work needs is not on this machine."""

    def __init__(self, component: str, provided_by: str) -> None:
        super().__init__(f"`{component}` is missing on this machine", f"`{provided_by}` provides it")
        self.component = component
        self.provided_by = provided_by


class ExtraMissingError(LongshoreError):
    """A package that the work needs is not installed; an extra of longshore provides it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"`{package}` is not installed; it comes with longshore's extra `{extra}`: pip install 'longshore[{extra}]'"
        )
        self.package = package
        self.extra = extra


class InputError(LongshoreError):
    """What the caller gave us is wrong; the same call can only fail again."""

    exit_code: ClassVar[int] = 2


class UnknownNameError(InputError):
    """A name that is in no table."""

    def __init__(self, kind: str, got: str, valid: Iterable[str]) -> None:
        self.kind = kind
        self.got = got
        self.valid = tuple(valid)
        choices = ", ".join(f"`{name}`" for name in self.valid[:_MAX_NAMES]) or "none"
        if len(self.valid) > _MAX_NAMES:
            choices += f" and {len(self.valid) - _MAX_NAMES} more"
        nearest = nearest_name(got, self.valid)
        super().__init__(
            f"unknown {kind} `{got}`; expected one of: {choices}",
            None if nearest is None else f"did you mean `{nearest}`?",
        )


class QuantityError(InputError):
    """A Kubernetes quantity that does not parse, or does not fit."""


class ObjectError(InputError):
    """A Kubernetes object that is refused, with its name, the field and the reason."""

    def __init__(self, kind: str, name: str, field: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{kind} `{name}`: field `{field}`: {reason}", hint)
        self.kind = kind
        self.name = name
        self.field = field
        self.reason = reason


class UserTermError(InputError):
    """A user's own objective that failed its checks."""


def nearest_name(got: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that is most like `got`, or None when nothing is close.

    Case and `_` for `-` are forgiven, since these are the slips that people make between YAML, Python and the shell.
    """
    spellings: dict[str, str] = {}
    for name in valid:
        spellings.setdefault(_plain(name), name)
    # 0.5 catches one wrong word in a hyphenated name (`best-fitting`), and still refuses unrelated words.
    matches = difflib.get_close_matches(_plain(got), spellings, n=1, cutoff=0.5)
    return spellings[matches[0]] if matches else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _restore(error_type: type[LongshoreError], state: dict[str, object]) -> LongshoreError:
    error = error_type.__new__(error_type)
    error.__dict__.update(state)
    error.args = (state["message"], state["hint"])
    return error
