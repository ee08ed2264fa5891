"""Functions in a compiled simulation: they decide as in the plain twin, and fail with their own error."""

from pathlib import Path

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.deciding.find import find_policy
from longshore.filters import filter_set
from longshore.policies.base import Policy
from longshore.simulator.params import Compiled
from longshore.simulator.play import compile_traces, play
from longshore.simulator.reference import Reference
from longshore.workloads.build import build_workload

FULL = 0.3

TEXT = f"""
def lowest(observation, action_mask):
    return -observation[:, 0]

def failing(observation, action_mask):
    if observation[:, 0].max() > {FULL}:
        raise RuntimeError("full")
    return 0
"""


@pytest.fixture(scope="module")
def compiled() -> list[Compiled]:
    workload = build_workload("test1", {"cycles": 1})
    return compile_traces([workload.trace(seed) for seed in (0, 1)])


def policy(folder: Path, name: str) -> Policy:
    (folder / "mine.py").write_text(TEXT)
    return find_policy(f"{folder / 'mine.py'}:{name}")


def test_a_function_decides_in_a_compiled_simulation_as_in_the_twin(compiled: list[Compiled], tmp_path: Path) -> None:
    found = policy(tmp_path, "lowest")
    filters = filter_set(found.filters)
    outcome = play(compiled, [find_policy("first-fit"), found], filters=filters).outcome
    for number, one in enumerate(compiled):
        want = [step.node for step in Reference(one, found, filters).play() if step.is_decision]
        is_decision = outcome.is_decision[1, number]
        assert outcome.node[1, number][is_decision].tolist() == want
        assert len(set(want)) > 1
    assert (outcome.node[0] != outcome.node[1]).any()


def test_a_function_that_fails_on_the_way_fails_with_its_own_error(compiled: list[Compiled], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`failing` raised RuntimeError: full"):
        play(compiled, [policy(tmp_path, "failing")])
    measured = play(compiled, [policy(tmp_path, "lowest")])
    assert np.isfinite(measured.watts_idle_on).all()
