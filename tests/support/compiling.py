"""Clusters compiled as the product compiles them: with what the filters declare."""

from typing import Any

from longshore.core.arrays import encode as compiler
from longshore.core.arrays.encode import Encoded
from longshore.core.words.snapshot import Snapshot
from longshore.filters import static_parts


def encode(snapshot: Snapshot, **options: Any) -> Encoded:
    """Compile a snapshot, with the static parts of all filters."""
    return compiler.encode(snapshot, static_parts(), **options)
