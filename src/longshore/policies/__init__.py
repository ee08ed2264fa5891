"""The policies by name.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.policies`.
"""

from longshore.core.registry import Registry

REGISTRY = Registry("policy", {}, "longshore.policies")
