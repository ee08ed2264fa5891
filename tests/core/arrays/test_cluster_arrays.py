"""Arrays: what the comments in `core/arrays/cluster_arrays.py` say about shape and type is what `encode` makes."""

import inspect
import re
from collections.abc import Iterator

import numpy as np
import pytest

from core.clusters import rich_snapshot
from longshore.core.arrays import cluster_arrays as arrays_module
from longshore.core.arrays.cluster_arrays import ClusterArrays
from support.builders import random_snapshot
from support.compiling import encode
from support.jax_arrays import assert_same_trees, to_jax

# `name: Array  # [axes] type; words`; a line without a comment is like the one above it.
LINE = re.compile(r"^    (\w+): (?:dict\[str, )?Array\]?(?:  # \[(.*?)\] (\w+)|  # .*)?", re.M)
PART = re.compile(r"^    (\w+): (\w+)", re.M)


def documented(part: object, source_name: str) -> Iterator[tuple[str, np.ndarray, list[str], str]]:
    """Yield (name, array, axes, type) for every array of a part."""
    axes, dtype = "", ""
    for name, line_axes, line_dtype in LINE.findall(inspect.getsource(getattr(arrays_module, source_name))):
        if line_dtype:
            axes, dtype = line_axes, line_dtype
        found = getattr(part, name)
        for array in found.values() if isinstance(found, dict) else (found,):
            yield f"{source_name}.{name}", array, [axis for axis in axes.split(", ") if axis], dtype
    for name, kind in PART.findall(inspect.getsource(getattr(arrays_module, source_name))):
        if kind not in ("Array", "dict"):
            yield from documented(getattr(part, name), kind)


@pytest.mark.parametrize("seed", range(6))
def test_arrays_have_the_shapes_and_types_that_they_say(seed: int) -> None:
    snapshot = rich_snapshot(seed) if seed % 2 else random_snapshot(seed)
    encoded = encode(snapshot, padded_nodes=len(snapshot.nodes) + 3)
    sizes = {
        "nodes": len(snapshot.nodes) + 3,
        "nodes + 3": len(snapshot.nodes) + 6,
        "classes": len(encoded.specs),
        "resources": len(encoded.resource_names),
    }
    checked = 0
    for name, array, axes, dtype in documented(encoded.arrays, "ClusterArrays"):
        assert array.dtype == np.dtype(dtype), name
        assert array.ndim == len(axes), name
        for axis, size in zip(axes, array.shape, strict=True):
            # How many terms there are differs from table to table.
            assert axis == "terms" or sizes.setdefault(axis, size) == size, f"{name}: {axis}"
        checked += 1
    assert checked > 70


def test_arrays_pass_through_jax_unchanged() -> None:
    arrays = encode(rich_snapshot(1)).arrays
    there = to_jax(arrays)
    assert isinstance(there, ClusterArrays)
    assert_same_trees(there, arrays)
