"""How fast the Gymnasium vector environment is over whole episodes, the beginning of new ones included."""

import time
from typing import NamedTuple

import gymnasium
import numpy as np

from longshore.simulator.gym import ID

DEFAULT_SIZES = (64, 256)
"""Environments at once."""
BAR = 60_000
"""Decisions per second, resets included."""


class GymCell(NamedTuple):
    """One row of the table."""

    envs: int
    episodes: int
    first_result_seconds: float
    decisions_per_second: float
    within_episodes_per_second: float
    decisions_per_cpu_second: float
    bar: int
    is_met: bool


def measure(num_envs: int, episodes: int, workload: str = "test1") -> GymCell:
    """Play so many episodes in every environment, each pod on the first node that may take it.

    A step that begins an episode decides nothing and counts as no decision; its time counts.
    """
    started = time.perf_counter()
    envs = gymnasium.make_vec(ID, num_envs=num_envs, vectorization_mode="vector_entry_point", workload=workload)
    _, info = envs.reset(seed=0)
    envs.step(np.zeros(num_envs, np.int64))
    first = time.perf_counter() - started
    left, has_ended = np.full(num_envs, episodes), np.zeros(num_envs, bool)
    _, info = envs.reset(seed=0)
    decisions, within, within_seconds = 0, 0, 0.0
    started, cpu_started = time.perf_counter(), time.process_time()
    while (left > 0).any():
        before = time.perf_counter()
        _, _, terminated, _, info = envs.step(info["action_mask"].argmax(axis=1))
        decisions += int((~has_ended).sum())
        if not has_ended.any():
            within, within_seconds = within + num_envs, within_seconds + time.perf_counter() - before
        has_ended, left = terminated, left - terminated
    speed = decisions / (time.perf_counter() - started)
    of_cpu = decisions / (time.process_time() - cpu_started)
    return GymCell(num_envs, episodes, first, speed, within / within_seconds, of_cpu, BAR, speed >= BAR)
