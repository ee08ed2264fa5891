"""The objectives by name.

Each entry is one file of this room: a frozen dataclass whose fields are its parameters. Other packages add entries by
the entry point group `longshore.objectives`. `weighted.py` builds them from text and is the only combiner.
"""

from longshore.core.words.registry import Registry

REGISTRY = Registry(
    "objective",
    {
        "ee": "longshore.objectives.ee:EnergyEfficient",
        "lb": "longshore.objectives.lb:LoadBalance",
        "lc": "longshore.objectives.lc:LeastConnections",
        "el-rl": "longshore.objectives.el_rl:EnergyLatency",
        "watts": "longshore.objectives.watts:Watts",
        "compress": "longshore.objectives.compress:Compress",
        "balance": "longshore.objectives.balance:Balance",
        "empty-nodes": "longshore.objectives.empty_nodes:EmptyNodes",
        "variance": "longshore.objectives.variance:Variance",
        "fragmentation": "longshore.objectives.fragmentation:Fragmentation",
        "spread": "longshore.objectives.spread:Spread",
        "cost": "longshore.objectives.cost:Cost",
        "carbon": "longshore.objectives.carbon:Carbon",
        "waste": "longshore.objectives.waste:Waste",
    },
    "longshore.objectives",
)
