"""Pods over time, by name: seeded generators and readers of traces.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.workloads`.
"""

from longshore.core.registry import Registry

REGISTRY = Registry("workload", {}, "longshore.workloads")
