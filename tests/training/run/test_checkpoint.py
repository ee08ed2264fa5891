"""Checkpoints: bit-equal after reading, and refused in words when something is wrong with them."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from longshore.core.words.errors import InputError
from longshore.training.program.chunk import TrainState
from longshore.training.run.checkpoint import Position, read_checkpoint, write_checkpoint
from longshore.training.run.plan import Plan, read_plan
from support.jax_arrays import assert_same_trees

PLAN = Plan(learner="dqn")


def make_state() -> TrainState:
    """Every type that a state has: keys, counters, bits, numbers, and arrays without entries."""
    return TrainState(
        learner={"mean": jnp.array([[0.1, jnp.nan]], jnp.float32), "none": jnp.zeros((1, 3, 0), jnp.float32)},
        envs=None,
        key=jax.random.PRNGKey(3)[None],
        decided=jnp.array([2**40]),
        multiplier=jnp.array([0.5], jnp.float32),
        best={"score.weight": jnp.array([[True, False]])},
        best_worth=jnp.array([-jnp.inf]),
        best_return=jnp.array([1 / 3]),
    )


def position(plan: Plan = PLAN) -> Position:
    return Position(plan=plan.to_json(), chunks=3, seconds=1.5, is_finished=False, made_by={"jax": "1"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "checkpoint.safetensors"
    write_checkpoint(path, make_state(), position())
    return path


def test_what_is_read_is_what_was_written(path: Path):
    found = read_checkpoint(path, PLAN, make_state())
    assert_same_trees(found.state, make_state())
    assert (found.position.chunks, found.position.seconds, found.position.made_by) == (3, 1.5, {"jax": "1"})
    assert read_plan(found.position.plan) == PLAN


def test_nothing_but_the_checkpoint_is_left_in_the_folder(path: Path):
    write_checkpoint(path, make_state(), position())
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_was_cut_off_is_refused(path: Path):
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"damaged or cut off[\s\S]*--overwrite"):
        read_checkpoint(path, PLAN, make_state())


def test_another_programs_file_is_refused(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(InputError, match="no checkpoint of longshore's"):
        read_checkpoint(path, PLAN, make_state())


def test_a_pickle_is_refused_unread(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x80\x04cos\nsystem\n" * 10)
    with pytest.raises(InputError, match="damaged"):
        read_checkpoint(path, PLAN, make_state())


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="there is no checkpoint"):
        read_checkpoint(tmp_path / "no", PLAN, make_state())


def test_another_plan_is_refused_with_what_differs(path: Path):
    with pytest.raises(InputError, match="`learner` is 'dqn' there and 'ppo' here; `seed` is 0 there and 5 here"):
        read_checkpoint(path, Plan(learner="ppo", seed=5), make_state())


@pytest.mark.parametrize(
    ("like", "want"),
    [
        pytest.param(make_state()._replace(key=jnp.zeros(4)), "`.key` is uint32", id="another shape"),
        pytest.param(make_state()._replace(best={}), "score.weight", id="an array too many"),
        pytest.param(make_state()._replace(learner={"x": jnp.zeros(1)}), "is missing", id="an array missing"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(path: Path, like: TrainState, want: str):
    with pytest.raises(InputError, match=want):
        read_checkpoint(path, PLAN, like)
