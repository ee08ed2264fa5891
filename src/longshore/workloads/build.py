"""A workload from its name and its parameters, as a command line or a file gives them."""

import dataclasses
from collections.abc import Mapping
from typing import cast

import msgspec

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.workloads import REGISTRY
from longshore.workloads.base import Workload


def build_workload(name: str, parameters: Mapping[str, object]) -> Workload:
    """Make a workload; values may be text (`"10"`), which is read as the parameter's type.

    Raises:
        UnknownNameError: no such workload or parameter; the message offers the nearest.
        InputError: a value of the wrong type, or out of range.
    """
    factory = REGISTRY.find(name)
    fields = {field.name: field.default for field in dataclasses.fields(factory)}
    for parameter in parameters:
        if parameter not in fields:
            raise UnknownNameError(f"parameter of workload `{name}`", parameter, fields)
    try:
        return cast("Workload", msgspec.convert(dict(parameters), factory, strict=False))
    except msgspec.ValidationError as error:
        described = ", ".join(f"`{field}` (default {default!r})" for field, default in fields.items())
        reason, _, path = str(error).partition(" - at ")
        field = path.strip("`$.")
        got = f"`{field}` is `{parameters[field]}`: {reason}" if field in parameters else reason
        raise InputError(f"workload `{name}`: {got}", f"its parameters: {described}") from error
