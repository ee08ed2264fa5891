"""What a run writes down after every chunk, and where to: JSON Lines always, other places when asked for.

A sink takes records. It is opened with the number of chunks that are done already: a run that goes on from a checkpoint
writes the chunks after it again, and what an earlier try had written of them is dropped.
"""

import importlib
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from longshore.core.words.errors import ComponentMissingError, LongshoreError
from longshore.training.run.plan import Plan

LOG_FILE, TENSORBOARD_FOLDER = "log.jsonl", "tensorboard"
ACTIONS = "actions"
BASELINE = "baseline"
_COUNTED = ("decided",)


class Record(NamedTuple):
    """One chunk."""

    chunk: int
    """From 1."""
    decided: int
    """Decisions so far, of the seed that has made the fewest: the horizontal axis."""
    seconds: float
    """Of training so far."""
    scalars: dict[str, float]
    """By name, the mean over seeds; `baseline/NAME` is what that policy earns on the selection traces."""
    seeds: dict[str, list[float]]
    """Each seed's own."""
    actions: list[float]
    """Share of the decisions that chose each node; empty for populations."""


class Sink(Protocol):
    """Takes records."""

    def write(self, record: Record) -> None:
        """Take one."""
        ...

    def close(self) -> None:
        """Write out what is left."""
        ...


OpenSink = Callable[[Path, Plan, int], Sink]
"""(the run's folder, its plan, chunks that are done) -> a sink."""


def make_record(
    chunk: int,
    seconds: float,
    steps_per_second: float,
    figures: Mapping[str, np.ndarray[Any, Any]],
    baselines: Mapping[str, float],
) -> Record:
    """Turn a chunk's figures [seeds, ...] into a record."""
    own = {name: values.astype(float) for name, values in figures.items() if values.ndim == 1 and name not in _COUNTED}
    scalars = {name: float(values.mean()) for name, values in own.items()}
    scalars |= {"steps_per_second": steps_per_second}
    scalars |= {f"{BASELINE}/{name}": value for name, value in baselines.items()}
    actions = figures[ACTIONS].mean(axis=0).tolist() if ACTIONS in figures else []
    return Record(
        chunk=chunk,
        decided=int(figures["decided"].min()),
        seconds=seconds,
        scalars=scalars,
        seeds={name: values.tolist() for name, values in own.items()},
        actions=actions,
    )


class JsonLines:
    """One JSON object a line, each on the disk before the next chunk begins."""

    def __init__(self, folder: Path, _plan: Plan, done: int) -> None:
        """Keep the lines of the first `done` chunks."""
        self._path = folder / LOG_FILE
        try:
            kept = [record for record in read_log(self._path) if record["chunk"] <= done] if done else []
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
        except OSError as error:
            raise LongshoreError(
                f"cannot write `{self._path}`: {error.strerror}", "give `--out` a folder that you may write to"
            ) from error
        for record in kept:
            self._append(record)

    def write(self, record: Record) -> None:
        """Append a line."""
        self._append(record._asdict())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        self._file.write(msgspec.json.encode(_finite(record)) + b"\n")
        self._file.flush()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a run's log; a last line that was cut off is passed over."""
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            break
    return found


class TensorBoard:
    """Event files that TensorBoard shows (`longshore tensorboard`)."""

    def __init__(self, folder: Path, _plan: Plan, done: int) -> None:
        writer = _optional("tensorboardX", "pip install 'longshore[train]'").SummaryWriter
        # Steps are decisions; what an earlier try wrote after the checkpoint is told to be void.
        last = [record["decided"] for record in read_log(folder / LOG_FILE) if record["chunk"] <= done]
        target = str(folder / TENSORBOARD_FOLDER)
        if not done:  # a run that begins again shows no curves of the one before
            shutil.rmtree(target, ignore_errors=True)
        self._writer = writer(target, purge_step=last[-1] + 1) if last and done else writer(target)

    def write(self, record: Record) -> None:
        """Add scalars, and the choices as a histogram over nodes."""
        for name, value in record.scalars.items():
            self._writer.add_scalar(name, value, record.decided)
        if record.actions:
            shares = np.array(record.actions)
            nodes = np.arange(len(shares))
            self._writer.add_histogram_raw(
                ACTIONS,
                min=0,
                max=len(shares) - 1,
                num=float(shares.sum()),
                sum=float((shares * nodes).sum()),
                sum_squares=float((shares * nodes**2).sum()),
                bucket_limits=(nodes + 0.5).tolist(),
                bucket_counts=shares.tolist(),
                global_step=record.decided,
            )
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()


def weights_and_biases(project: str) -> OpenSink:
    """Return a sink to a project of Weights & Biases."""
    package = _optional("wandb", "pip install wandb")

    def open_sink(folder: Path, plan: Plan, _done: int) -> Sink:
        run = package.init(project=project, dir=str(folder), config=plan.to_json(), name=folder.parent.name)
        return _Calls(lambda record: run.log(_named(record), step=record.decided), run.finish)

    return open_sink


def mlflow(address: str) -> OpenSink:
    """Return a sink to an MLflow server, or to a folder of files that one reads."""
    package = _optional("mlflow", "pip install mlflow")

    def open_sink(folder: Path, plan: Plan, _done: int) -> Sink:
        package.set_tracking_uri(address)
        package.start_run(run_name=folder.parent.name)
        package.log_params({name: str(value) for name, value in plan.to_json().items()})
        return _Calls(lambda record: package.log_metrics(_named(record), step=record.decided), package.end_run)

    return open_sink


class _Calls(NamedTuple):
    """A sink of two functions."""

    write: Callable[[Record], Any]
    close: Callable[[], Any]


def _named(record: Record) -> dict[str, float]:
    actions = {f"{ACTIONS}/{node}": share for node, share in enumerate(record.actions)}
    return {**record.scalars, "seconds": record.seconds, **actions}


def _optional(name: str, provided_by: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ComponentMissingError(name, provided_by) from error


def _finite(value: Any) -> Any:
    """Replace what JSON cannot say by null."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
