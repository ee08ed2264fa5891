"""Agents by name: learners and the networks that they train, any with any.

Each entry is one file of this room: a frozen dataclass whose fields are its hyperparameters, each with one line of help
under it. Other packages add entries by the entry point groups `longshore.learners` and `longshore.networks`.
"""

from longshore.core.words.registry import Registry

LEARNERS = Registry(
    "learner",
    {
        "qtable": "longshore.agents.learners.qtable:QTable",
        "dqn": "longshore.agents.learners.dqn:Dqn",
        "actor_critic": "longshore.agents.learners.actor_critic:ActorCritic",
        "ppo": "longshore.agents.learners.ppo:Ppo",
        "evolution": "longshore.agents.learners.evolution:Evolution",
        "imitation": "longshore.agents.learners.imitation:Imitation",
    },
    "longshore.learners",
)

NETWORKS = Registry(
    "network",
    {
        "linear": "longshore.agents.networks.linear:Linear",
        "mlp": "longshore.agents.networks.mlp:Mlp",
        "deepsets": "longshore.agents.networks.deepsets:DeepSets",
        "gnn": "longshore.agents.networks.gnn:Gnn",
        "kinds": "longshore.agents.networks.kinds:Kinds",
    },
    "longshore.networks",
)
