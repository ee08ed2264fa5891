"""The objectives by name.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.objectives`.
"""

from longshore.core.registry import Registry

REGISTRY = Registry("objective", {}, "longshore.objectives")
