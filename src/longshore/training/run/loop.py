"""A whole training run: chunk after chunk, with logs, checkpoints and progress, and a bundle at its end.

In the run's folder: the bundle, and under `training/` the plan, the log and the checkpoint.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np

from longshore.core.network.bundle import Bundle
from longshore.core.words.errors import InputError
from longshore.policies.bundle_folder import is_bundle
from longshore.training.program.chunk import TrainState
from longshore.training.program.devices import Layout, device_text, find_devices
from longshore.training.run import export
from longshore.training.run.baselines import baseline_returns
from longshore.training.run.checkpoint import (
    Position,
    plan_differences,
    read_checkpoint,
    read_position,
    write_checkpoint,
    write_whole,
)
from longshore.training.run.chunks import Standing, first_keys, train_chunks
from longshore.training.run.guides import pinned
from longshore.training.run.logs import JsonLines, OpenSink, Record, Sink, make_record
from longshore.training.run.plan import Plan, read_plan
from longshore.training.run.prepare import Prepared, prepare
from longshore.training.run.stopping import Stopper

FOLDER, PLAN_FILE, CHECKPOINT_FILE = "training", "plan.json", "checkpoint.safetensors"
# Checkpoints come at most so often, and take at most a tenth of the time.
_CHECKPOINT_SECONDS, _CHECKPOINT_SHARE = 10.0, 0.1


class Report(NamedTuple):
    """How far a run is."""

    record: Record
    share: float
    """Of all there is to do, 0 to 1."""
    best: float
    """Selection return of the best policy so far, over all seeds."""
    seconds_left: float
    """nan = not known yet."""


@dataclass(frozen=True)
class TrainingResult:
    """What came of a run."""

    plan: Plan
    out: Path
    bundle: Bundle | None
    """None = it was stopped before its end."""
    returns: tuple[float, ...]
    """Each seed's best return on the selection traces."""
    baselines: Mapping[str, float]
    """What plain policies earn there."""
    decided: int
    """Decisions that each training has learnt from."""
    seconds: float

    @property
    def best_return(self) -> float:
        """That of the policy that is kept; with a limit it need not be the largest."""
        kept = None if self.bundle is None else self.bundle.metrics["selection_return"]
        return kept if isinstance(kept, float) else max(self.returns)


@dataclass
class Watchers:
    """Who is told what, while it runs."""

    progress: Callable[[Report], None] = lambda _report: None
    """After every chunk."""
    tell: Callable[[str], None] = lambda _remark: None
    """A remark for people; also from another thread."""


def train(
    plan: Plan,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    device: str | None = None,
    sinks: Sequence[OpenSink] = (),
    watchers: Watchers | None = None,
) -> TrainingResult:
    """Train, and write a bundle to `out`.

    Args:
        plan: what to train.
        out: the run's folder; made if it is not there.
        resume: go on from the checkpoint in it.
        overwrite: begin again, even though a run that is not finished lies there.
        device: `cpu` or `gpu`; None = what JAX prefers.
        sinks: where to log beside `training/log.jsonl`.
        watchers: who is told how far it is.

    Raises:
        InputError: something in the plan or the folder does not fit.
    """
    watchers = watchers or Watchers()
    check_folder(out, resume=resume, overwrite=overwrite)
    plan = pinned(plan)
    if resume:  # before anything that takes time
        _check_plan(out, plan)
    devices = find_devices(device)
    with jax.default_device(devices[0]), ThreadPoolExecutor(1) as beside:
        watchers.tell("preparing: traces, features, scales")
        prepared = prepare(plan)
        envs = None if prepared.program.is_population else prepared.program.learner.envs
        layout = Layout(devices, plan.seeds, envs)
        # These need nothing of the training, and the training nothing of them until they are logged.
        aside = _on_device(devices[0])
        baselines = beside.submit(aside, baseline_returns, plan)
        run = _Run(prepared, layout, out, watchers)
        run.begin(resume)
        envelope = beside.submit(aside, export.compile_envelope, prepared, run.shapes)
        run.go_on(baselines.result, sinks)
        made_on = device_text(layout.devices)
        return result_of(prepared, run.standing, out, made_on, baselines.result(), envelope.result)


def result_of(
    prepared: Prepared,
    standing: Standing,
    out: Path,
    device: str,
    baselines: Mapping[str, float],
    envelope: Callable[[], export.Bounds],
) -> TrainingResult:
    """Return what came of a training, its bundle written to `out` if it is finished; `envelope` may take a while."""
    bundle = None
    if standing.is_finished:
        bundle = export.make_bundle(
            prepared,
            standing.state,
            name=out.resolve().name,
            seconds=standing.seconds,
            device=device,
            baselines=baselines,
            envelope=envelope(),
        )
        export.write_beside(out, bundle)
    returns = tuple(np.asarray(standing.state.best_return).tolist())
    return TrainingResult(prepared.plan, out, bundle, returns, baselines, standing.decided, standing.seconds)


def write_plan(out: Path, plan: Plan) -> None:
    """Write the plan of a run into its folder."""
    write_whole(out / FOLDER / PLAN_FILE, msgspec.json.format(msgspec.json.encode(plan.to_json()), indent=2) + b"\n")


def _on_device(device: jax.Device) -> Callable[..., Any]:
    """Return a function that calls another with this device as the default, which JAX keeps for each thread."""

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        with jax.default_device(device):
            return function(*arguments)

    return call


def check_folder(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or a run that would be lost.

    Raises:
        InputError: what is there, and what to do.
    """
    if resume:
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"`{out}` is a file, expected a folder", "give `--out` another name")
    checkpoint = out / FOLDER / CHECKPOINT_FILE
    if checkpoint.is_file() and not overwrite:
        try:
            is_finished = read_position(checkpoint).is_finished
        except InputError:
            is_finished = False
        if not is_finished:
            raise InputError(
                f"`{out}` holds a run that is not finished",
                f"go on with `longshore train --resume {out}`, or begin again with `--overwrite`",
            )
    if is_bundle(out) and not overwrite:
        raise InputError(
            f"`{out}` holds a trained policy", "give `--out` another name, or replace it with `--overwrite`"
        )
    if out.is_dir() and any(out.iterdir()) and not is_bundle(out) and not (out / FOLDER / PLAN_FILE).is_file():
        raise InputError(f"`{out}` holds something that is no training run", "give `--out` a new folder")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a run's folder, so that no other process writes its log and checkpoint at the same time.

    Raises:
        InputError: another one does.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"another process trains in `{folder.parent}`", "wait for it, stop it, or give `--out` another name"
            ) from error
        yield
    finally:
        os.close(held)


def stored_plan(out: Path) -> Plan:
    """Return the plan of the run in a folder.

    Raises:
        InputError: there is none.
    """
    path = out / FOLDER / PLAN_FILE
    if not path.is_file():
        raise InputError(
            f"there is no training run in `{out}`", "name the folder that `longshore train --out` was given"
        )
    try:
        return read_plan(msgspec.json.decode(path.read_bytes()))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"`{path}` cannot be read: {error}", "begin again with `--overwrite`") from error


def _check_plan(out: Path, plan: Plan) -> None:
    differences = plan_differences(stored_plan(out).to_json(), plan)
    if differences:
        raise InputError(
            f"`{out}` holds a run of another plan: {'; '.join(differences)}",
            f"`longshore train --resume {out}` goes on with its own plan; or give another `--out`",
        )


@dataclass
class _Run:
    """One run in progress."""

    prepared: Prepared
    layout: Layout
    out: Path
    watchers: Watchers
    shapes: TrainState = field(init=False)
    standing: Standing = field(init=False)

    def begin(self, resume: bool) -> None:
        """Make the first state, or read the last one."""
        program, plan = self.prepared.program, self.prepared.plan
        self.data = self.layout.place_data(self.prepared.data)
        keys = first_keys(plan)
        self.shapes = jax.eval_shape(program.init, self.data, keys)
        if resume:
            state, position = read_checkpoint(self._path(CHECKPOINT_FILE), plan, self.shapes)
            decided = int(np.asarray(state.decided).min())
            self.standing = Standing(state, position.chunks, decided, position.seconds, position.is_finished)
            if position.made_by != self._position().made_by:
                self.watchers.tell(f"the run was begun with {position.made_by}: it goes on, but maybe not bit for bit")
        else:
            self._path(CHECKPOINT_FILE).unlink(missing_ok=True)
            write_plan(self.out, plan)
            self.standing = Standing(program.init(self.data, keys))

    def go_on(self, baselines: Callable[[], Mapping[str, float]], sinks: Sequence[OpenSink]) -> None:
        """Train to the end, or until asked to stop."""
        if self.standing.is_finished:
            return
        self.watchers.tell(f"compiling for {device_text(self.layout.devices)}")
        with ExitStack() as stack:
            stack.enter_context(_alone(self._path("")))
            opened: list[Sink] = []
            for open_sink in (*sinks, JsonLines):  # the log last: the others may read what it had
                opened.append(open_sink(self._path(""), self.prepared.plan, self.standing.chunks))
                stack.callback(opened[-1].close)
            self._train(stack.enter_context(Stopper(self._tell_stopping)), opened, baselines)

    def _train(self, stopper: Stopper, sinks: Sequence[Sink], baselines: Callable[[], Mapping[str, float]]) -> None:
        pace = _Pace()
        last_checkpoint, cost = time.monotonic(), 0.0
        for standing in train_chunks(self.prepared, self.data, self.standing, self.layout.place_state):
            self.standing, now = standing, time.monotonic()
            rate = standing.decisions_per_second
            record = make_record(standing.chunks, standing.seconds, rate, standing.figures, baselines())
            for sink in sinks:
                sink.write(record)
            best, share = float(np.asarray(standing.state.best_return).max()), standing.share(self.prepared)
            self.watchers.progress(Report(record, share, best, pace.left(now, share)))
            is_due = now - last_checkpoint >= max(_CHECKPOINT_SECONDS, cost / _CHECKPOINT_SHARE)
            if is_due or stopper.is_asked or standing.is_finished:
                write_checkpoint(self._path(CHECKPOINT_FILE), standing.state, self._position())
                last_checkpoint, cost = time.monotonic(), time.monotonic() - now
            if stopper.is_asked:
                return

    def _position(self) -> Position:
        return Position(
            plan=self.prepared.plan.to_json(),
            chunks=self.standing.chunks,
            seconds=self.standing.seconds,
            is_finished=self.standing.is_finished,
            made_by=export.versions(device_text(self.layout.devices)),
        )

    def _path(self, name: str) -> Path:
        return self.out / FOLDER / name

    def _tell_stopping(self) -> None:
        self.watchers.tell("stopping after this chunk, with a checkpoint; Ctrl-C again ends at once, without")


class _Pace:
    """How long is left, by the chunks after the first: that one is compiled too."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def left(self, now: float, share: float) -> float:
        """Return the seconds left when this share is done; nan = not known yet."""
        if self._first is None:
            self._first = now, share
            return float("nan")
        began, first_share = self._first
        gained = share - first_share
        return (now - began) / gained * (1 - share) if gained > 0 else float("nan")
