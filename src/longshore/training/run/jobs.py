"""Trainings as jobs: a plan in, returns and tensors out; and whole runs made of such jobs.

The chunks are those of `run.loop`, which keeps checkpoints of one program in this process. Here several workers train
without: a training whose worker died begins again, and gives the same result.
"""

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from safetensors import numpy as safetensors_numpy

from longshore.training.program.chunk import TrainState
from longshore.training.program.devices import device_text, find_devices
from longshore.training.run import export
from longshore.training.run.baselines import baseline_returns
from longshore.training.run.chunks import Standing, first_keys, train_chunks
from longshore.training.run.engine import Engine, Report, Values, Watch, run_all
from longshore.training.run.guides import pinned
from longshore.training.run.logs import JsonLines, make_record
from longshore.training.run.loop import FOLDER, TrainingResult, check_folder, result_of, write_plan
from longshore.training.run.plan import Plan, read_plan
from longshore.training.run.population import with_engine
from longshore.training.run.prepare import Prepared, prepare


def never_stop(_step: int, _value: float) -> bool:
    """Report to nobody."""
    return False


def train_job(values: Values, report: Report) -> Values:
    """Train `values["plan"]` on `values["device"]` (None = what JAX prefers there); see `learn`."""
    plan = read_plan(values["plan"])
    devices = find_devices(values.get("device"))
    with jax.default_device(devices[0]):
        prepared = _prepared(msgspec.json.encode(dataclasses.replace(plan, seed=0).to_json()), devices[0])
        found = learn(dataclasses.replace(prepared, plan=plan), report)
    return {**found, "device": device_text(devices[:1])}


@lru_cache(maxsize=1)
def _prepared(plan: bytes, _device: jax.Device) -> Prepared:
    """Prepare, and compile, once for plans that differ in their seed alone, which is no part of the program."""
    return prepare(read_plan(msgspec.json.decode(plan)))


def learn(prepared: Prepared, report: Report) -> Values:
    """Train to the end, or until a report is answered by stop.

    Reported is, after every chunk, how good the best policies so far are on the selection traces, the mean over seeds
    (`worth`, by which training itself selects: the return on the learner's scale, less what breaks a limit).

    Returns:
        `worths` and `returns` of each seed's best policy, `decided` by each, the best `tensors` of all as safetensors
        bytes, the `figures` of each chunk, `seconds`, and whether it was stopped.

    Raises:
        LongshoreError: no pod could be placed for longer than whole traces take.
    """
    begun = Standing(prepared.program.init(prepared.data, first_keys(prepared.plan)))
    figures: list[Values] = []
    for standing in train_chunks(prepared, prepared.data, begun):
        figures.append({name: value.tolist() for name, value in standing.figures.items()})
        worth = float(np.asarray(standing.state.best_worth).mean())
        is_stopped = report(standing.chunks, worth) and not standing.is_finished
        if is_stopped:
            break
    state = standing.state
    return {
        "plan": prepared.plan.to_json(),
        "worths": np.asarray(state.best_worth).tolist(),
        "returns": np.asarray(state.best_return).tolist(),
        "decided": np.asarray(state.decided).tolist(),
        "tensors": safetensors_numpy.save({name: np.asarray(leaf) for name, leaf in state.best.items()}),
        "figures": figures,
        "seconds": standing.seconds,
        "is_stopped": is_stopped,
    }


def train_seeds(plan: Plan, engine: Engine, *, device: str | None = None, watch: Watch | None = None) -> list[Values]:
    """Train each of the plan's seeds as a job of its own; return their results in order (see `learn`)."""
    alone = [dataclasses.replace(plan, seed=plan.seed + number, seeds=1) for number in range(plan.seeds)]
    return run_all(engine, train_job, [{"plan": one.to_json(), "device": device} for one in alone], watch)


def train_on_engine(
    plan: Plan,
    out: Path,
    engine: Engine,
    *,
    overwrite: bool = False,
    device: str | None = None,
    watch: Watch | None = None,
) -> TrainingResult:
    """Train on an engine's workers and write a bundle to `out`, as `training.run.loop.train` does in this process.

    A learner of whole traces spreads each generation over the workers; others train each seed as a job. `watch` is told
    the number of the seed (0 for populations), the chunk and the worth after every chunk.

    Raises:
        InputError: something in the plan or the folder does not fit.
    """
    check_folder(out, resume=False, overwrite=overwrite)
    plan = pinned(plan)
    devices = find_devices(device)
    with jax.default_device(devices[0]):
        prepared = prepare(plan)
        if prepared.program.is_population:
            told = watch or (lambda _ticket, _step, _value: False)
            results = [learn(with_engine(prepared, engine), lambda step, value: told(0, step, value))]
            made_on = device_text(devices[:1])
        else:
            results = train_seeds(plan, engine, device=device, watch=watch)
            made_on = " + ".join(sorted({one["device"] for one in results}))
        baselines, state = baseline_returns(plan), joined(results)
        write_plan(out, plan)
        _write_log(out / FOLDER, plan, results, baselines)
        standing = Standing(
            state,
            decided=int(np.asarray(state.decided).min()),
            seconds=max(one["seconds"] for one in results),
            is_finished=True,
        )
        return result_of(prepared, standing, out, made_on, baselines, lambda: export.compile_envelope(prepared, state))


def joined(results: Sequence[Values]) -> TrainState:
    """Return what `export` needs of a state, of the trainings in their order; nothing can be trained on with it."""
    tensors = [safetensors_numpy.load(one["tensors"]) for one in results]
    best = {name: jnp.concatenate([one[name] for one in tensors]) for name in tensors[0]}

    def all_of(name: str) -> Any:
        return jnp.asarray(np.concatenate([np.asarray(one[name]) for one in results]))

    nothing = jnp.zeros(())
    return TrainState(
        learner=None,
        envs=None,
        key=nothing,
        decided=all_of("decided"),
        multiplier=nothing,
        best=best,
        best_worth=all_of("worths"),
        best_return=all_of("returns"),
    )


def _write_log(folder: Path, plan: Plan, results: Sequence[Values], baselines: dict[str, float]) -> None:
    """Write the chunks as a run in this process does; seeds that needed fewer are repeated with their last."""
    chunks = max(len(one["figures"]) for one in results)
    log = JsonLines(folder, plan, 0)
    for number in range(chunks):
        now = [one["figures"][min(number, len(one["figures"]) - 1)] for one in results]
        figures = {name: np.concatenate([np.asarray(one[name]) for one in now]) for name in now[0]}
        done = (number + 1) / chunks
        seconds = max(one["seconds"] for one in results) * done
        rate = float(figures["decided"].sum()) / max(seconds, 1e-9)
        log.write(make_record(number + 1, seconds, rate, figures, baselines))
    log.close()
