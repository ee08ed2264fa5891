"""The policies by name.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.policies`.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "policy",
    {
        "random": "longshore.policies.heuristics.random:HEURISTIC",
        "round-robin": "longshore.policies.heuristics.round_robin:HEURISTIC",
        "first-fit": "longshore.policies.heuristics.first_fit:HEURISTIC",
        "best-fit": "longshore.policies.heuristics.best_fit:HEURISTIC",
        "worst-fit": "longshore.policies.heuristics.worst_fit:HEURISTIC",
        "balance-fit": "longshore.policies.heuristics.balance_fit:HEURISTIC",
        "least-allocated": "longshore.policies.heuristics.least_allocated:HEURISTIC",
        "most-allocated": "longshore.policies.heuristics.most_allocated:HEURISTIC",
        "requested-to-capacity-ratio": "longshore.policies.heuristics.requested_to_capacity_ratio:HEURISTIC",
        "kube-default": "longshore.policies.heuristics.kube_default:HEURISTIC",
        "target-load-packing": "longshore.policies.heuristics.target_load_packing:HEURISTIC",
        "low-power": "longshore.policies.heuristics.low_power:HEURISTIC",
        "dot-product": "longshore.policies.heuristics.dot_product:HEURISTIC",
        "gpu-best-fit": "longshore.policies.heuristics.gpu_best_fit:HEURISTIC",
        "gpu-packing": "longshore.policies.heuristics.gpu_packing:HEURISTIC",
        "gpu-clustering": "longshore.policies.heuristics.gpu_clustering:HEURISTIC",
        "fgd": "longshore.policies.heuristics.fgd:HEURISTIC",
        "fgd-u": "longshore.policies.heuristics.fgd_u:HEURISTIC",
        "pwr": "longshore.policies.heuristics.pwr:HEURISTIC",
        "pwr500-fgd500": "longshore.policies.heuristics.pwr:HALF",
        "pwr200-fgd800": "longshore.policies.heuristics.pwr:FIFTH",
        "lowest-latency": "longshore.policies.heuristics.lowest_latency:HEURISTIC",
        "least-traffic": "longshore.policies.heuristics.least_traffic:HEURISTIC",
        "least-connections": "longshore.policies.heuristics.least_connections:HEURISTIC",
        "energy-latency": "longshore.policies.heuristics.energy_latency:HEURISTIC",
    },
    "longshore.policies",
    "longshore.policies.heuristics.base:Heuristic",
)
