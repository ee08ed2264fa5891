"""JAX for tests: switches 64-bit numbers on when imported, and moves arrays over from NumPy."""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

# Without it JAX silently turns 2^40 bytes into 0.
jax.config.update("jax_enable_x64", True)

Tree = TypeVar("Tree")


def to_jax(tree: Tree) -> Tree:
    """Return the same arrays as JAX arrays."""
    return jax.tree.map(jnp.asarray, tree)


def assert_same_trees(got: object, want: object) -> None:
    """Compare every array of two trees to the last bit, with its shape and type, and name the one that differs."""
    got_leaves, got_shape = jax.tree_util.tree_flatten_with_path(got)
    want_leaves, want_shape = jax.tree_util.tree_flatten_with_path(want)
    assert got_shape == want_shape
    for (path, got_leaf), (_, want_leaf) in zip(got_leaves, want_leaves, strict=True):
        name = jax.tree_util.keystr(path)
        assert np.asarray(got_leaf).dtype == np.asarray(want_leaf).dtype, name
        np.testing.assert_array_equal(np.asarray(got_leaf), np.asarray(want_leaf), err_msg=name)
