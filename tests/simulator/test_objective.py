"""Tests that a user's own term is tried under jit before it is used."""

from pathlib import Path

import pytest

from longshore.core.words.errors import UserTermError
from longshore.evaluation.comparison import compare
from longshore.simulator.objective import checked_objective

BRANCHES = "def reward(step):\n    return 1.0 if step.after.state.requested.sum() > 0 else 0.0\n"


@pytest.fixture
def term(tmp_path: Path) -> str:
    """A term that branches on values, which NumPy can and jit cannot."""
    (tmp_path / "mine.py").write_text(BRANCHES)
    return f"{tmp_path / 'mine.py'}:reward"


def test_a_term_that_branches_on_values_is_refused(term: str) -> None:
    with pytest.raises(UserTermError, match="sample placement 1: does not work under jit"):
        checked_objective(term)


def test_compare_refuses_it_before_it_plays(term: str) -> None:
    told: list[str] = []
    with pytest.raises(UserTermError, match="does not work under jit"):
        compare("test1", ["best-fit"], term, seeds=1, progress=lambda what, _done, _total: told.append(what))
    assert told == []


def test_our_own_terms_are_read_as_ever() -> None:
    assert [weight for weight, _ in checked_objective("ee=1,watts=0.5").terms] == [1.0, 0.5]
