"""Compiled programs are kept on disk, so that the first result of a second run comes at once."""

import os


def keep_compiled_programs() -> None:
    """Point JAX at longshore's cache, unless the user has chosen a place; must run before JAX is imported."""
    from longshore.store.location import cache_folder

    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder() / "jax"))
    # Programs that compile faster than this are not worth a file.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
