"""Pods over time, by name: seeded generators of traces.

Each entry is one file of this room: a frozen dataclass whose fields are its parameters, with a method `trace(seed)`.
Other packages add entries by the entry point group `longshore.workloads`; `build.py` makes one from its name.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "workload",
    {
        "test1": "longshore.workloads.test1:Test1",
        "test2": "longshore.workloads.test2:Test2",
        "deployments": "longshore.workloads.deployments:Deployments",
        "memory-pods": "longshore.workloads.memory_pods:MemoryPods",
        "background": "longshore.workloads.background:Background",
        "poisson": "longshore.workloads.poisson:Poisson",
        "diurnal": "longshore.workloads.diurnal:Diurnal",
        "fill": "longshore.workloads.fill:Fill",
        "burst": "longshore.workloads.burst:Burst",
        "churn": "longshore.workloads.churn:Churn",
    },
    "longshore.workloads",
)
