"""sb3-contrib's MaskablePPO, unmodified, on `longshore/Placement-v0`. Run by `make sb3`.

It prints one JSON object: the return of every report seed, played without exploring, and how long it learnt.
"""

import argparse
import json
import sys
import time

import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from proxy import PlacementProxy
from sb3_contrib import MaskablePPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

PARTS = 5
"""Into which the training is cut, to play the report seeds in between; nothing is selected by them."""


def play(model: MaskablePPO, env: PlacementProxy, seed: int) -> float:
    """Play the trace of a seed greedily and return what it earns."""
    rows, _ = env.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        action, _ = model.predict(rows, deterministic=True, action_masks=env.action_masks())
        rows, reward, is_over, _, _ = env.step(action)
        total += reward
    return total


def build(env: PlacementProxy, seed: int, settings: str) -> MaskablePPO:
    """Return the learner with its own defaults or, `matched`, with what ours has too: scaled rewards, some entropy."""
    if settings == "defaults":
        return MaskablePPO("MlpPolicy", Monitor(env), seed=seed, device="cpu")
    scaled = VecNormalize(DummyVecEnv([lambda: Monitor(env)]), norm_obs=False, norm_reward=True, gamma=0.97)
    return MaskablePPO("MlpPolicy", scaled, seed=seed, device="cpu", gamma=0.97, ent_coef=0.01)


def main() -> None:
    """Train, play the report seeds, and play them on the way as well: a curve shows whether anything is learnt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="longshore's Python")
    parser.add_argument("--workload", default="test1")
    parser.add_argument("--objective", default="el-rl")
    parser.add_argument("--settings", choices=("defaults", "matched"), default="defaults")
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report-seeds", type=int, default=12)
    given = parser.parse_args()
    torch.set_num_threads(1)
    env = PlacementProxy(given.python, workload=given.workload, objective=given.objective)
    # Training traces have seeds of their own: this one, then draws below 2**31.
    model = build(env, 1_000_000 + given.seed, given.settings)
    curve, seconds = [], 0.0
    for part in range(PARTS + 1):
        if part:
            started = time.perf_counter()
            model.learn(given.steps // PARTS, reset_num_timesteps=False)
            seconds += time.perf_counter() - started
        returns = [play(model, env, seed) for seed in range(given.report_seeds)]
        curve.append((int(model.num_timesteps), float(np.mean(returns))))
    env.close()
    found = {
        "workload": given.workload,
        "objective": given.objective,
        "settings": given.settings,
        "seed": given.seed,
        "steps": int(model.num_timesteps),
        "seconds": round(seconds, 1),
        "returns": returns,
        "curve": curve,
        "versions": {
            "sb3-contrib": sb3_contrib.__version__,
            "stable-baselines3": stable_baselines3.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
