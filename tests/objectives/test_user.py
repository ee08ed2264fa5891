"""A user's own term: loading and every check, also under jit."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest

from longshore.core.arrays.ops import Array
from longshore.core.words import registry
from longshore.core.words.errors import InputError, UnknownNameError, UserTermError
from longshore.core.words.node import Node
from longshore.core.words.snapshot import Snapshot
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.samples import sample_transitions
from longshore.objectives.user import load_user_term
from longshore.objectives.weighted import build_objective
from support.compiling import encode

jax.config.update("jax_enable_x64", True)

GOOD = """
    from longshore.core.arrays.ops import namespace

    SCALE = 0.1

    def prefer_small_nodes(step):
        xp = namespace(step.after.state.requested)
        cpu = xp.where(step.after.state.pod_count > 0, step.after.nodes.allocatable[:, 0], 0)
        return -SCALE * cpu.sum() / 1000
"""


def run_under_jit(function: Callable[[Transition], Array], step: Transition) -> Array:
    """What a room that may import JAX passes as `check_jit`."""
    return jax.jit(function)(jax.tree.map(jax.numpy.asarray, step))


def written(folder: Path, text: str, function: str = "term") -> str:
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return f"{path}:{function}"


def refusal(target: str, **arguments: object) -> str:
    with pytest.raises(UserTermError) as caught:
        load_user_term(target, **arguments)
    assert "hint: " in str(caught.value)
    return str(caught.value)


def test_a_good_term_passes_all_checks(tmp_path: Path) -> None:
    term = load_user_term(written(tmp_path, GOOD, "prefer_small_nodes"), check_jit=run_under_jit)
    step = sample_transitions()[0]
    reward = np.asarray(term.reward(step))
    assert (reward.dtype, reward.shape, float(reward)) == (np.float64, (), -0.4)
    assert not term.ends_episode(step)
    assert jax.jit(term.reward)(jax.tree.map(jax.numpy.asarray, step)).dtype == np.float64


def test_whole_numbers_and_truth_values_are_rewards_too(tmp_path: Path) -> None:
    term = load_user_term(written(tmp_path, "def term(step): return step.node == 0"), check_jit=run_under_jit)
    assert term.reward(sample_transitions()[0]) == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("def term(step): return step.after.state.pod_count", "expected one real number", id="a vector"),
        pytest.param("def term(step): return 'much'", "expected one real number", id="text"),
        pytest.param("def term(step): return None", "expected one real number", id="nothing"),
        pytest.param("def term(step): return float('nan')", "expected a finite number", id="not a number"),
        pytest.param("def term(step): return step.after.nodes.allocatable.sum()", "at most 1e+06", id="bytes"),
        pytest.param("def term(step): return step.readings", "raised AttributeError", id="a wrong field"),
        pytest.param(
            "def term(step):\n    step.after.state.pod_count[0] = 0\n    return 1.0", "raised ValueError", id="a change"
        ),
        pytest.param("def term(): return 1.0", "raised TypeError: term() takes 0 positional", id="no argument"),
        pytest.param(
            "def term(before, after): return 1.0", "raised TypeError: term() missing 1 required", id="two arguments"
        ),
        pytest.param("term = 5", "expected a function", id="a number"),
        pytest.param("class term: pass", "expected a function", id="a class"),
        pytest.param("def term(step): raise SystemExit(0)", "raised SystemExit", id="an exit"),
        pytest.param("def term(step): return [1, [2]]", "raised ValueError", id="what is no array"),
        pytest.param("def term(step): return 10**400", "expected one real number", id="a number beyond all arrays"),
        pytest.param("def term(step): return 1j", "expected one real number", id="a complex number"),
    ],
)
def test_a_bad_term_is_refused_with_its_reason(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "def term(step):\n    return 1.0 if step.after.state.pod_count[step.node] > 1 else 0.0",
            "does not work under jit: TracerBoolConversionError",
            id="a branch on a value",
        ),
        pytest.param(
            "calls = []\ndef term(step):\n    calls.append(1)\n    return float(len(calls))",
            "expected the same",
            id="memory of earlier calls",
        ),
    ],
)
def test_a_term_that_fails_only_under_jit_is_refused_where_jit_is_asked_for(
    tmp_path: Path, text: str, message: str
) -> None:
    target = written(tmp_path, text)
    load_user_term(target)
    assert message in refusal(target, check_jit=run_under_jit)


LATE = {
    "an error": ("raise RuntimeError('boom')", "in use: raised RuntimeError: boom"),
    "an exit": ("raise SystemExit(0)", "in use: raised SystemExit"),
    "not a number": ("return float('nan')", "in use: returned `nan`, expected a finite number"),
    "a vector": ("return step.after.state.pod_count", "in use: returned shape (9,)"),
}


@pytest.mark.parametrize(("statement", "message"), LATE.values(), ids=LATE)
def test_a_term_that_fails_later_fails_with_its_name(tmp_path: Path, statement: str, message: str) -> None:
    # The samples are small clusters: what only a large one shows passes the checks before use.
    target = written(
        tmp_path, f"def term(step):\n    if len(step.after.nodes.is_real) > 8:\n        {statement}\n    return 1.0"
    )
    term = load_user_term(target)
    arrays = encode(Snapshot(nodes=tuple(Node(f"n{i}") for i in range(9)))).arrays
    with pytest.raises(UserTermError) as caught:
        term.reward(Transition(arrays, arrays, np.asarray(0), np.asarray(0)))
    assert f"user term `{target}`: {message}" in str(caught.value)


def test_what_numpy_would_warn_of_is_left_to_the_value(tmp_path: Path) -> None:
    text = """
        import numpy as np
        def term(step):
            return np.nan_to_num(np.float64(1) / np.float64(0), posinf=2.0)
    """
    assert load_user_term(written(tmp_path, text)).reward(sample_transitions()[0]) == 2.0


def test_an_interrupt_is_not_the_terms_fault(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_user_term(written(tmp_path, "def term(step): raise KeyboardInterrupt"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        load_user_term(f"{tmp_path / 'absent.py'}:term")


def test_a_name_that_is_no_file_must_be_registered() -> None:
    with pytest.raises(UnknownNameError, match="unknown objective `mine`"):
        load_user_term("mine")
    assert "expected a function" in refusal("ee")


def always_one(step: Transition) -> Array:
    return 1.0


@dataclass(frozen=True)
class Endless:
    """An outside package's objective that forgets to be finite."""

    size: float = 1.0

    def reward(self, step: Transition) -> Array:
        return np.float64("inf") * self.size

    def ends_episode(self, step: Transition) -> Array:
        return never_ends(step)


@dataclass(frozen=True)
class Fading:
    """An outside package's objective that is not finite on clusters with many nodes, and ends every episode."""

    def reward(self, step: Transition) -> Array:
        return np.float64("nan" if len(step.after.nodes.is_real) > 8 else 1.0)

    def ends_episode(self, step: Transition) -> Array:
        return ~never_ends(step)


@pytest.fixture
def outside_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for an installed package with entry points."""
    found = {"one": always_one, "endless": Endless, "fading": Fading}
    load = registry.Registry.load
    monkeypatch.setattr(registry.Registry, "load", lambda self, name: found.get(name) or load(self, name))


@pytest.mark.usefixtures("outside_package")
def test_an_entry_point_may_be_a_function() -> None:
    assert load_user_term("one").reward(sample_transitions()[0]) == 1.0
    assert build_objective("one", {}).reward(sample_transitions()[0]) == 1.0


@pytest.mark.usefixtures("outside_package")
def test_an_entry_point_that_is_an_objective_is_checked_too() -> None:
    with pytest.raises(UserTermError, match=r"`endless`.*expected a finite number"):
        build_objective("endless", {"size": 2.0})


@pytest.mark.usefixtures("outside_package")
def test_an_entry_point_that_is_an_objective_keeps_its_name_and_its_end() -> None:
    term = build_objective("fading", {})
    assert term.ends_episode(sample_transitions()[0])
    arrays = encode(Snapshot(nodes=tuple(Node(f"n{i}") for i in range(9)))).arrays
    with pytest.raises(UserTermError, match=r"`fading`: in use: returned `nan`"):
        term.reward(Transition(arrays, arrays, np.asarray(0), np.asarray(0)))


def test_an_objective_of_a_file_takes_parameters_and_is_data(tmp_path: Path) -> None:
    text = """
        from dataclasses import dataclass
        from longshore.objectives.base import never_ends

        @dataclass(frozen=True)
        class Constant:
            size: float = 1.0
            def reward(self, step): return self.size
            def ends_episode(self, step): return never_ends(step)
    """
    target = written(tmp_path, text, "Constant")
    term = build_objective(target, {"size": 3.0})
    assert term.reward(sample_transitions()[0]) == 3.0
    assert (term, hash(term)) == (build_objective(target, {"size": 3.0}), hash(build_objective(target, {"size": 3.0})))
    assert term != build_objective(target, {"size": 2.0})
