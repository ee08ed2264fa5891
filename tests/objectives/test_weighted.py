"""The combiner, and objectives as text."""

from itertools import pairwise
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError, UnknownNameError, UserTermError
from longshore.objectives.carbon import Carbon
from longshore.objectives.cost import Cost
from longshore.objectives.ee import EnergyEfficient
from longshore.objectives.lb import LoadBalance
from longshore.objectives.weighted import Weighted, build_objective, from_yaml, objective_name, parse_objective
from objectives.clusters import node, spec, transition

STEP = transition([node("a", cost_per_hour=3.0), node("b")], {"a": [spec()]}, "a")


def test_weighted_adds_up_and_explains() -> None:
    weighted = Weighted(((2.0, EnergyEfficient()), (0.5, Cost()), (1.0, Cost())))
    assert weighted.reward(STEP) == 2.0 * 5 - 0.5 * 3 - 3.0
    assert weighted.explain(STEP) == {"ee": 10.0, "cost": -1.5, "cost#2": -3.0}


def test_weighted_ends_when_any_term_ends() -> None:
    wrong = transition([node("a"), node("b")], {"a": [spec()]}, "b")
    ends, goes_on = EnergyEfficient(strict=True), LoadBalance(strict=True)
    assert bool(Weighted(((1.0, goes_on), (0.0, ends))).ends_episode(wrong))
    assert not Weighted(((1.0, goes_on),)).ends_episode(wrong)


def test_weighted_sums_may_be_terms_of_sums() -> None:
    inner = Weighted(((2.0, Cost()),))
    assert Weighted(((3.0, inner),)).reward(STEP) == -18.0
    assert objective_name(inner) == "Weighted"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("ee", Weighted(((1.0, EnergyEfficient()),))),
        (" cost ", Weighted(((1.0, Cost()),))),
        ("ee=2,cost=0.01", Weighted(((2.0, EnergyEfficient()), (0.01, Cost())))),
        ("ee = 2, cost = -1e-3", Weighted(((2.0, EnergyEfficient()), (-0.001, Cost())))),
        (
            "terms: [{name: ee, weight: 1e-3, measure: cpu, strict: true}, {name: cost}]",
            Weighted(((0.001, EnergyEfficient("cpu", True)), (1.0, Cost()))),
        ),
        ("terms:\n- cost\n- name: ee\n  weight: 3\n", Weighted(((1.0, Cost()), (3.0, EnergyEfficient())))),
        (
            "terms: [{name: carbon, series: [[0, 300], [3600, 100.5]], period_seconds: 86400}]",
            Weighted(((1.0, Carbon(series=((0.0, 300.0), (3600.0, 100.5)), period_seconds=86400.0)),)),
        ),
    ],
)
def test_parse_objective_reads_names_weights_and_yaml(text: str, want: Weighted) -> None:
    assert parse_objective(text) == want


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("wats", "did you mean `watts`", id="unknown name"),
        pytest.param("ee=1,empty_nodes=2", "did you mean `empty-nodes`", id="unknown name with a weight"),
        pytest.param("terms: [{name: ee, mesure: cpu}]", "did you mean `measure`", id="unknown parameter"),
        pytest.param("terms: [{name: ee, wieght: 2}]", "did you mean `weight`", id="weight misspelt"),
        pytest.param("terms: [{name: ee, measure: memroy}]", "did you mean `memory`", id="unknown value"),
        pytest.param("term: [ee]", "expected a name or a mapping with `terms`", id="no terms"),
        pytest.param("{terms: [ee], scale: 2}", "unknown key of an objective `scale`", id="unknown key"),
    ],
)
def test_parse_objective_answers_with_the_nearest_valid_word(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_objective(text)
    assert message in str(caught.value)


# Ten lines of references to each other: a billion words where they are written out.
LAUGHS = (
    "terms: [&a [" + "x," * 9 + "], " + ", ".join(f"&{b} [{f'*{a},' * 9}]" for a, b in pairwise("abcdefghij")) + "]"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("terms: [{name: ee, strict: 1}]", "Expected `bool`, got `int`"),
        ("terms: [{name: ee, measure: 3}]", "objective `ee`"),
        ("terms: [{name: compress, exponent: high}]", "Expected `float`, got `str`"),
        ("terms: [{name: carbon, series: [[1, 2, 3]]}]", "objective `carbon`"),
        ("terms: [{name: compress, exponent: -2}]", "expected more than 0"),
        ("terms: [{name: ee, weight: much}]", "got weight `much`"),
        ("terms: [{name: ee, weight: true}]", "got weight `True`"),
        ("terms: [{name: ee, weight: .inf}]", "expected a finite number"),
        ("terms: [{weight: 2}]", "expected a mapping with `name`"),
        ("terms: ee", "expected a list"),
        ("terms: []", "at least one"),
        ("terms: [", "not YAML"),
        ("terms: [{name: ee, weight: 2026-13-45}]", "not YAML that can be read: month must be in 1..12"),
        ("terms: [{name: ee, weight: 2026-01-05}]", "expected a finite number"),
        ("terms: [{name: 2026-01-05}]", "expected a mapping with `name`"),
        ("terms: [{name: ee, weight: " + "9" * 400 + "}]", "expected a finite number"),
        ("terms: [{name: ee, weight: " + "9" * 5000 + "}]", "not YAML that can be read"),
        ("terms: [{name: compress, exponent: " + "9" * 400 + "}]", "objective `compress`"),
        ("[" * 5000, "not YAML that can be read"),
        (LAUGHS, "expected a mapping with `name`"),
        ("ee=", "got weight ``"),
        ("ee=1,cost", "expected `name=weight`"),
        ("ee cost", "expected a name or a mapping"),
        ("", "expected a name or a mapping"),
    ],
)
def test_parse_objective_refuses_what_it_cannot_read(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_objective(text)
    assert message in str(caught.value)
    assert "hint: " in str(caught.value)


def test_unknown_names_are_answered_by_the_registry() -> None:
    with pytest.raises(UnknownNameError, match="unknown objective `nothing-like-it`"):
        build_objective("nothing-like-it", {})


def test_a_users_term_can_stand_among_ours(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def two(step):\n    return 2.0\n", encoding="utf-8")
    for text in (f"{path}:two", f"{path}:two=1,cost=0", f"terms: [{{name: '{path}:two'}}]"):
        weighted = parse_objective(text)
        assert weighted.reward(STEP) == 2.0
        assert weighted.explain(STEP)[f"{path}:two"] == 2.0


def test_a_users_term_takes_no_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def two(step):\n    return 2.0\n", encoding="utf-8")
    with pytest.raises(InputError, match="is a function: got parameters scale"):
        from_yaml(f"terms: [{{name: '{path}:two', scale: 3}}]")


def test_a_users_term_that_fails_its_checks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def endless(step):\n    return float('inf')\n", encoding="utf-8")
    with pytest.raises(UserTermError, match="expected a finite number"):
        parse_objective(f"{path}:endless")
