"""An agent of sb3-contrib, unmodified: trained by `python examples/sb3_agent.py`, then a row of a comparison.

    longshore compare --policies kube-default,energy-latency,examples/sb3_agent.py:choose

It needs `pip install sb3-contrib`, which brings torch.
"""

from functools import cache
from pathlib import Path

import gymnasium

MODEL = Path("sb3-agent.zip")
DECISIONS = 60_000


def train():
    """Train on the workload and the objective that `longshore compare` has by default."""
    from sb3_contrib import MaskablePPO

    env = gymnasium.make("longshore.simulator.gym:longshore/Placement-v0", workload="test1", objective="el-rl")
    model = MaskablePPO("MlpPolicy", env.unwrapped, device="cpu")
    model.learn(DECISIONS)
    model.save(MODEL)


@cache
def trained():
    """Read the agent once."""
    from sb3_contrib import MaskablePPO

    return MaskablePPO.load(MODEL, device="cpu")


def choose(observation, action_mask):
    """Return what the agent would do."""
    action, _ = trained().predict(observation, action_masks=action_mask, deterministic=True)
    return action


if __name__ == "__main__":
    train()
