"""How fast runs are played: with only the changed node rescored, and without that, in the same process."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from longshore.policies.base import Policy
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.runs import draw, play

_REPEATS = 3
"""The fastest counts: other work on the machine only ever slows a run down."""


class Speed(NamedTuple):
    """Of one policy on one pod list."""

    trace: str
    policy: str
    pods_per_second: float
    """All seeds side by side on one core, without compiling."""
    plain_pods_per_second: float
    """NumPy, every node scored for every pod, the first pods of the first seed."""
    ratio: float


def measure(trace: str, nodes: Nodes, pods: Pods, seeds: Sequence[int], policy: Policy, num_plain_pods: int) -> Speed:
    """Play all seeds side by side, and the beginning of one plainly."""
    batch = draw(nodes, {trace: pods}, seeds)[0]
    seconds = min(play(batch, policy).seconds for _ in range(_REPEATS))
    run = batch.runs[0]
    num_pods = min(num_plain_pods, len(run.pod))
    plain = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        play_plainly(batch.problem, run, policy, num_pods)
        plain.append(time.perf_counter() - started)
    fast, slow = batch.num_events / seconds, num_pods / min(plain)
    return Speed(trace, policy.name, fast, slow, fast / slow)
