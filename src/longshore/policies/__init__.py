"""The policies by name.

Each entry is one file of this room; other packages add entries by the entry point group `longshore.policies`.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "policy",
    {
        "random": "longshore.policies.heuristics.random:POLICY",
        "round-robin": "longshore.policies.heuristics.round_robin:POLICY",
        "first-fit": "longshore.policies.heuristics.first_fit:POLICY",
        "best-fit": "longshore.policies.heuristics.best_fit:POLICY",
        "worst-fit": "longshore.policies.heuristics.worst_fit:POLICY",
        "balance-fit": "longshore.policies.heuristics.balance_fit:POLICY",
        "least-allocated": "longshore.policies.heuristics.least_allocated:POLICY",
        "most-allocated": "longshore.policies.heuristics.most_allocated:POLICY",
        "requested-to-capacity-ratio": "longshore.policies.heuristics.requested_to_capacity_ratio:POLICY",
        "kube-default": "longshore.policies.heuristics.kube_default:POLICY",
        "target-load-packing": "longshore.policies.heuristics.target_load_packing:POLICY",
        "low-power": "longshore.policies.heuristics.low_power:POLICY",
        "dot-product": "longshore.policies.heuristics.dot_product:POLICY",
        "gpu-best-fit": "longshore.policies.heuristics.gpu_best_fit:POLICY",
        "gpu-packing": "longshore.policies.heuristics.gpu_packing:POLICY",
        "gpu-clustering": "longshore.policies.heuristics.gpu_clustering:POLICY",
        "fgd": "longshore.policies.heuristics.fgd:POLICY",
        "fgd-u": "longshore.policies.heuristics.fgd_u:POLICY",
        "pwr": "longshore.policies.heuristics.pwr:POLICY",
        "pwr500-fgd500": "longshore.policies.heuristics.pwr:HALF",
        "pwr200-fgd800": "longshore.policies.heuristics.pwr:FIFTH",
        "lowest-latency": "longshore.policies.heuristics.lowest_latency:POLICY",
        "least-traffic": "longshore.policies.heuristics.least_traffic:POLICY",
        "least-connections": "longshore.policies.heuristics.least_connections:POLICY",
        "energy-latency": "longshore.policies.heuristics.energy_latency:POLICY",
    },
    "longshore.policies",
    "longshore.policies.base:Policy",
    "longshore.policies.function:policy_of",
)
