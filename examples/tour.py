# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %%
"""A tour of longshore as a notebook: train a policy, look at it, compare it. `longshore notebook` opens it."""

# %% [markdown]
# # A tour: train, look, compare
#
# The thesis' first test: three nodes whose latency changes, and Deployments that come one by one and go again. The
# objective `el-rl` wants pods on few machines and within their latency limit. Everything below runs on one CPU.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from longshore.core.network.forward import SCORE, Inputs, forward
from longshore.evaluation.comparison import compare
from longshore.evaluation.series import simulate
from longshore.policies.bundle_folder import read_folder
from longshore.training.run.loop import train
from longshore.training.run.plan import Plan

WORKLOAD, OBJECTIVE = "test1", "el-rl"

# %% [markdown]
# ## Train
#
# A plan says everything that training depends on. This one is small: evolution, for twenty generations. Most of the
# time goes into compiling. As a command: `longshore train evolution --generations 20 --out tour-policy`.

# %%
plan = Plan(
    learner="evolution",
    network="deepsets",
    network_config={"width": 16},
    objective=OBJECTIVE,
    workload=WORKLOAD,
    learner_config={"generations": 20, "population": 32, "traces": 4},
    evaluations=5,
)
folder = Path(tempfile.mkdtemp()) / "tour-policy"
result = train(plan, folder)
print(f"return on the selection traces: {max(result.returns):.1f}")
for name, value in result.baselines.items():
    print(f"  {name}: {value:.1f}")

# %% [markdown]
# ## Look
#
# Pods per node over time, beside the default scheduler: which machines are on, and when.

# %%
policies = {"kube-default": "kube-default", "trained": str(folder)}
series = {name: simulate(WORKLOAD, policy, OBJECTIVE) for name, policy in policies.items()}
figure, axes = plt.subplots(len(series), 1, sharex=True, figsize=(9, 5), layout="constrained")
for axis, (name, run) in zip(axes, series.items(), strict=True):
    axis.stackplot(run.times - run.start, run.pods_per_node.T, labels=run.node_names, step="post")
    axis.set(title=f"{name}: return {run.metrics['reward']:.1f}", ylabel="pods")
axes[0].legend(loc="upper left", ncols=3, fontsize="small")
axes[-1].set_xlabel("seconds")
plt.show()

# %% [markdown]
# What the policy looks at: one node's score as one of its features goes from the least to the most that was met in
# training, everything else in the middle. A flat line is a feature that does not matter.

# %%
policy = read_folder(folder)
names = policy.feature_names
low, high = (np.asarray(values, np.float32) for values in (policy.envelope.low, policy.envelope.high))


def score_of_first_node(row):
    """Return the score of a node with this row among three; the others are in the middle."""
    rows = np.tile((low + high) / 2, (3, 1))
    rows[0] = row
    nothing = np.zeros(3, np.float32)
    none = np.zeros((3, 0), np.float32)
    inputs = Inputs(rows, np.ones(3, bool), nothing.astype(np.int32), nothing, none, none, np.zeros(0, np.float32))
    return forward(policy.ops, policy.tensors, inputs)[SCORE][0]


curves = {}
for column, name in enumerate(names):
    rows = np.tile((low + high) / 2, (21, 1))
    rows[:, column] = np.linspace(low[column], high[column], 21)
    curves[name] = np.array([score_of_first_node(row) for row in rows])
effect = {name: float(np.ptp(curve)) for name, curve in curves.items()}
ranked = sorted(effect, key=effect.get, reverse=True)
figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
for name in ranked[:6]:
    axis.plot(np.linspace(0, 1, 21), curves[name], label=name)
axis.set(xlabel="from the least to the most that was met", ylabel="score")
axis.legend(fontsize="small")
plt.show()
print("what moves the score most:", ", ".join(ranked[:3]))

# %% [markdown]
# ## Compare
#
# On seeds that neither training nor selection has seen, with 95 % intervals and the exact optimum.

# %%
comparison = compare(WORKLOAD, ["kube-default", "energy-latency", str(folder)], OBJECTIVE, seeds=10)
for row in comparison.rows:
    reward = row.metrics["reward"]
    print(f"{Path(row.policy).name:>16}: {reward.mean:7.1f} [{reward.low:.1f}, {reward.high:.1f}]")
print(f"{'optimum':>16}: {comparison.bounds['reward'].value:7.1f}")

# %% [markdown]
# Next: `longshore train ppo --help` for the other learners, `longshore compare --help` for other workloads, and
# docs/guides/simulate.md for the simulator from Python.
