"""A sweep: many trainings of one plan with other hyperparameters, the next ones drawn where the last did well.

Optuna draws (TPE) and ends trainings early that lag behind the median of the others. A trial is judged by the selection
traces alone: what a report is made from is never seen here. All is kept in one SQLite file, so that a sweep that was
stopped goes on, and `optuna-dashboard` shows it.
"""

import dataclasses
import importlib
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from longshore.core.words.errors import InputError, LongshoreError
from longshore.policies.bundle_folder import is_bundle
from longshore.training.run.checkpoint import plan_differences, write_whole
from longshore.training.run.engine import Engine, Finished, LocalEngine
from longshore.training.run.jobs import train_job
from longshore.training.run.loop import TrainingResult, Watchers, stored_plan, train
from longshore.training.run.plan import Plan, read_plan
from longshore.training.run.prepare import prepare
from longshore.training.search.space import Space

STUDY_FILE, BEST_PLAN_FILE, BEST_FOLDER = "sweep.db", "best-plan.json", "best"
_STUDY = "longshore"
# Before that many trials are complete nothing is known about the median; before that many chunks little about a trial.
_TRIALS_BEFORE_PRUNING, _CHUNKS_BEFORE_PRUNING = 4, 3
_LEAST_TRIALS_TO_COMPARE = 10
_PLAN, _SPACE, _RETURN, _ERROR, _SECONDS = "plan", "space", "return", "error", "seconds"


class Trial(NamedTuple):
    """One training of a sweep."""

    number: int
    """From 0; the first is the plan as it was given."""
    state: str
    """`complete`, `pruned` (ended early), `failed` or `running`."""
    worth: float | None
    """What it is judged by: of the seeds' best policies on the selection traces, the mean."""
    selection_return: float | None
    """The mean return of the same policies."""
    hyperparameters: dict[str, Any]
    error: str


@dataclass(frozen=True)
class Swept:
    """What came of a sweep."""

    out: Path
    trials: tuple[Trial, ...]
    """The best first."""
    best: Trial
    plan: Plan
    """Of the best trial."""
    importances: dict[str, float]
    """How much of what separates good trials from the rest each hyperparameter explains; empty = too few trials."""


Told = Callable[[Trial, int, int], None]
"""(a trial that has ended, how many have, of how many)."""


def sweep(
    space: Space,
    out: Path,
    *,
    trials: int,
    seed: int = 0,
    engine: Engine | None = None,
    device: str | None = None,
    tell: Told = lambda _trial, _done, _total: None,
) -> Swept:
    """Search; the best plan is written to `best-plan.json` in `out`.

    Args:
        space: what to search.
        out: the sweep's folder; one that is there already with the same plan and space goes on.
        trials: how many there are in the end, those of earlier calls counted.
        seed: of what is drawn; the trainings have their plan's.
        engine: where the trials run; None = in this process, one after the other.
        device: `cpu` or `gpu`; None = what JAX prefers.
        tell: told of every trial that has ended.

    Raises:
        InputError: something in the plan or the folder does not fit.
        LongshoreError: not one trial came to its end.
    """
    if trials < 1:
        raise InputError(f"got {trials} trials, expected 1 or more")
    # What is wrong with the plan itself is said now, and not by every trial.
    space = dataclasses.replace(space, base=prepare(space.base).plan)
    study = _open_study(space, out, seed, is_parallel=engine is not None and engine.width > 1)
    own = engine or LocalEngine()
    try:
        _Search(space, study, own, device, tell).run(trials)
    finally:
        if engine is None:
            own.close()
    found = sorted((_trial(space, one) for one in study.get_trials(deepcopy=False)), key=_order)
    best = found[0]
    if best.state != "complete":
        raise LongshoreError(
            f"not one of {len(found)} trials came to its end: {best.error or 'all were stopped'}",
            "try the plan alone first: `longshore train`",
        )
    plan = space.plan_of(best.hyperparameters)
    write_whole(out / BEST_PLAN_FILE, msgspec.json.format(msgspec.json.encode(plan.to_json()), indent=2) + b"\n")
    return Swept(out, tuple(found), best, plan, _importances(space, study))


def train_best(swept: Swept, *, device: str | None = None, watchers: Watchers | None = None) -> TrainingResult | None:
    """Train the best plan again, now into a bundle in `best`: the same policy comes out, with all that is known of it.

    Returns:
        The run; None = its bundle is there already.
    """
    folder = swept.out / BEST_FOLDER
    if is_bundle(folder) and stored_plan(folder) == read_plan(swept.plan.to_json()):
        return None
    return train(swept.plan, folder, overwrite=True, device=device, watchers=watchers)


class _Search:
    """The trials of one call."""

    def __init__(self, space: Space, study: Any, engine: Engine, device: str | None, tell: Told) -> None:
        self._space, self._study, self._engine, self._device, self._tell = space, study, engine, device, tell
        self._optuna = importlib.import_module("optuna")
        self._running: dict[int, Any] = {}
        self._pruned: set[int] = set()
        self._reported: dict[int, int] = {}
        self._lock = threading.Lock()  # trials report from their own threads

    def run(self, total: int) -> None:
        done = sum(one.state.is_finished() and one.state.name != "FAIL" for one in self._all())
        failed, is_first = 0, True
        while done < total or self._running:
            # The first alone: if that fails, there is no need to start all of them.
            width = 1 if is_first else self._engine.width
            while done + len(self._running) < total and len(self._running) < width:
                self._start()
            is_first = False
            finished = self._engine.wait()
            trial = self._finish(finished)
            if trial.state == "failed":
                failed += 1
                if failed > max(total // 2, 2):
                    raise LongshoreError(
                        f"{failed} trials failed, the last because: {trial.error}", "narrow the search: `--search`"
                    )
            else:
                done += 1
            self._tell(trial, done, total)

    def _all(self) -> list[Any]:
        found: list[Any] = self._study.get_trials(deepcopy=False)
        return found

    def _start(self) -> None:
        with self._lock:
            trial = self._study.ask()
            plan = self._space.suggest(trial)
            values = {"plan": plan.to_json(), "device": self._device}
            self._running[self._engine.start(train_job, values, self._watch)] = trial

    def _watch(self, ticket: int, step: int, worth: float) -> bool:
        """Take a report; say whether the trial is hopeless."""
        with self._lock:
            trial = self._running.get(ticket)
            # A job that was begun again after its worker died reports again what is known.
            if trial is None or step <= self._reported.get(ticket, 0) or math.isnan(worth):
                return ticket in self._pruned
            self._reported[ticket] = step
            trial.report(worth, step)
            if trial.should_prune():
                self._pruned.add(ticket)
            return ticket in self._pruned

    def _finish(self, finished: Finished) -> Trial:
        with self._lock:
            trial = self._running.pop(finished.ticket)
            state = self._optuna.trial.TrialState
            if finished.values is None:
                trial.set_user_attr(_ERROR, getattr(finished.error, "message", str(finished.error)))
                frozen = self._study.tell(trial, state=state.FAIL)
            else:
                values = finished.values
                worth = _mean(values["worths"])
                trial.set_user_attr(_RETURN, _mean(values["returns"]))
                trial.set_user_attr(_SECONDS, values["seconds"])
                if values["is_stopped"]:
                    frozen = self._study.tell(trial, state=state.PRUNED)
                else:
                    frozen = self._study.tell(trial, worth)
            return _trial(self._space, frozen)


def _open_study(space: Space, out: Path, seed: int, *, is_parallel: bool) -> Any:
    """Open the sweep's file, or begin it."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = out / STUDY_FILE
    if out.exists() and not out.is_dir():
        raise InputError(f"`{out}` is a file, expected a folder", "give `--out` another name")
    if out.is_dir() and any(out.iterdir()) and not path.is_file():
        raise InputError(f"`{out}` holds something that is no sweep", "give `--out` a new folder")
    out.mkdir(parents=True, exist_ok=True)
    study = _load_study(optuna, path)
    _check_same(study, space, out)
    number = len(study.trials)
    # Trials of a process that was ended are begun again, before anything new is drawn.
    for trial in study.get_trials(deepcopy=True):
        if trial.state == optuna.trial.TrialState.RUNNING:
            study.enqueue_trial(trial.params)
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    # The number goes in: a sweep that goes on does not draw its first trials again.
    study.sampler = optuna.samplers.TPESampler(seed=seed + number, constant_liar=is_parallel)
    study.pruner = optuna.pruners.MedianPruner(
        n_startup_trials=_TRIALS_BEFORE_PRUNING, n_warmup_steps=_CHUNKS_BEFORE_PRUNING
    )
    defaults = space.defaults()
    if number == 0 and defaults is not None:
        study.enqueue_trial(defaults)
    return study


def _load_study(optuna: Any, path: Path) -> Any:
    pool = importlib.import_module("sqlalchemy.pool")
    try:
        # No pool: nobody closes an Optuna storage, so its connections close after each use.
        storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}", engine_kwargs={"poolclass": pool.NullPool})
        return optuna.create_study(storage=storage, study_name=_STUDY, direction="maximize", load_if_exists=True)
    except Exception as error:
        # SQLAlchemy's and Alembic's errors have no root of their own that optuna names.
        raise InputError(f"`{path}` cannot be opened as a sweep: {error}", "give `--out` a new folder") from error


def _check_same(study: Any, space: Space, out: Path) -> None:
    plan, domains = space.base.to_json(), space.to_json()
    if _PLAN not in study.user_attrs:
        study.set_user_attr(_PLAN, plan)
        study.set_user_attr(_SPACE, domains)
        return
    differences = plan_differences(study.user_attrs[_PLAN], space.base)
    if not differences and study.user_attrs[_SPACE] != domains:
        differences = ["it searches other ranges"]
    if differences:
        raise InputError(
            f"`{out}` holds another sweep: {'; '.join(differences)}", "give the same flags to go on, or a new `--out`"
        )


def _trial(space: Space, frozen: Any) -> Trial:
    from optuna.trial import TrialState

    names = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
    fixed = _Fixed(frozen.params)
    values = {domain.name: domain.suggest(fixed) for domain in space.domains if domain.label in frozen.params}
    worth = frozen.value if frozen.value is not None and math.isfinite(frozen.value) else None
    attributes = frozen.user_attrs
    return Trial(
        number=frozen.number,
        state=names.get(frozen.state, "running"),
        worth=worth,
        selection_return=attributes.get(_RETURN),
        hyperparameters=values,
        error=attributes.get(_ERROR, ""),
    )


class _Fixed:
    """Stands for an Optuna trial whose draws are known."""

    def __init__(self, drawn: dict[str, Any]) -> None:
        self._drawn = drawn

    def suggest_categorical(self, name: str, _choices: Any) -> Any:
        return self._drawn[name]

    def suggest_float(self, name: str, _low: float, _high: float, *, log: bool = False) -> Any:
        return self._drawn[name]

    def suggest_int(self, name: str, _low: int, _high: int, *, log: bool = False) -> Any:
        return self._drawn[name]


def _order(trial: Trial) -> tuple[int, float, int]:
    place = ("complete", "pruned", "running", "failed").index(trial.state)
    return place, -trial.worth if trial.worth is not None else math.inf, trial.number


def _importances(space: Space, study: Any) -> dict[str, float]:
    """Return the hyperparameters' importance, the largest first; by PED-ANOVA, which needs no further package.

    Trials that were ended early count by what they had reached: without them only good ones would be compared.
    """
    optuna = importlib.import_module("optuna")
    known = optuna.create_study(direction="maximize")
    for one in study.trials:
        if one.state.is_finished() and one.value is not None and math.isfinite(one.value):
            made = optuna.trial.create_trial(params=one.params, distributions=one.distributions, value=one.value)
            known.add_trial(made)
    if len({one.value for one in known.trials}) < max(_LEAST_TRIALS_TO_COMPARE, len(space.domains)):
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    found = optuna.importance.get_param_importances(known, evaluator=evaluator)
    names = {domain.label: domain.name for domain in space.domains}
    return {names[label]: float(value) for label, value in found.items()}


def _mean(values: list[float]) -> float:
    """Return the mean; one training that gave no policy makes it minus infinity."""
    found = sum(values) / len(values)
    return -math.inf if math.isnan(found) else found
