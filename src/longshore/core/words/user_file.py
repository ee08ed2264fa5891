"""A unit in a file of the user's own, `path/to/file.py:name`: one way for every kind of unit.

Only what a user names is loaded so. What stands in data that may come from anywhere, a bundle for instance, is not.

As with every import, the module stands in `sys.modules`, where dataclasses look for what their annotations mean. No
other part of core touches `sys`.
"""

import sys
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any

from longshore.core.words.errors import InputError, nearest_name


def is_file_target(text: str) -> bool:
    """Say whether a name is `path/to/file.py:name` rather than an entry of a registry."""
    path, _, name = text.rpartition(":")
    return path.endswith(".py") and name.isidentifier()


def load_from_file(kind: str, target: str) -> Any:
    """Run the file and return what stands in it under the name; a file that has not changed is run once.

    Args:
        kind: what it should be, for messages: `objective`.
        target: `path/to/file.py:name`.

    Raises:
        InputError: there is no such file, it fails, or it has no such name.
    """
    path, _, name = target.rpartition(":")
    # A name of its own: a user's file `ee.py` or `numpy.py` must not stand in for a module of that name.
    loader = SourceFileLoader(f"longshore_user_file:{path}", path)
    try:
        stats = loader.path_stats(path)
    except OSError as error:
        raise InputError(f"{kind} `{target}`: no file `{path}`", "give the path from the current folder") from error
    try:
        module = _run(loader.name, path, tuple(stats.values()))
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{kind} `{target}`: `{path}` cannot be imported: {type(error).__name__}: {error}",
            f"`python {path}` shows where it fails",
        ) from error
    if not hasattr(module, name):
        own = [key for key in vars(module) if not key.startswith("__")]
        nearest = nearest_name(name, own)
        raise InputError(
            f"{kind} `{target}`: `{path}` has no `{name}`; its names: {', '.join(own) or 'none'}",
            f"did you mean `{nearest}`?" if nearest else "give a name that stands in the file after the colon",
        )
    return getattr(module, name)


@lru_cache(maxsize=256)
def _run(module_name: str, path: str, _stats: tuple[Any, ...]) -> ModuleType:
    loader = SourceFileLoader(module_name, path)
    spec = spec_from_loader(module_name, loader)
    assert spec is not None
    module = sys.modules[module_name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
