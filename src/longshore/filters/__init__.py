"""The filters by name.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.filters`.
"""

from longshore.core.registry import Registry

REGISTRY = Registry("filter", {}, "longshore.filters")
