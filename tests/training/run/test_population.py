"""A population over workers: cut into any number of jobs it is the same run, to the last bit."""

import pytest

from longshore.training.run import population as population_module
from longshore.training.run.engine import LocalEngine
from longshore.training.run.jobs import learn, never_stop
from longshore.training.run.population import with_engine
from training.tiny import prepare_once, tiny_plan


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(population_module, "prepare", prepare_once)


@pytest.mark.slow
def test_population_in_parts_equals_the_whole() -> None:
    prepared = prepare_once(tiny_plan("evolution", seeds=2))
    engine = LocalEngine()
    split = learn(with_engine(prepared, engine, 3), never_stop)
    engine.close()
    whole = learn(prepared, never_stop)
    for name in ("figures", "worths", "returns", "decided", "tensors"):
        assert split[name] == whole[name]


def test_population_is_never_cut_into_more_parts_than_it_has_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    run_all = population_module.run_all
    monkeypatch.setattr(
        population_module,
        "run_all",
        lambda engine, job, values: sizes.append(len(values)) or run_all(engine, job, values),
    )
    engine = LocalEngine()
    learn(with_engine(prepare_once(tiny_plan("evolution")), engine, 99), lambda _step, _value: True)
    engine.close()
    assert set(sizes) == {4}
