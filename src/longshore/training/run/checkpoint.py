"""Checkpoints: all that training changes, in one file of named arrays, so that a run can go on as if never stopped.

The file is safetensors: numbers, and a few words in its header; nothing in it can run. An array's name is its path in
the state's tree. It is written whole or not at all: what was there stays until all of the new is on the disk.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np
import safetensors
from safetensors import numpy as safetensors_numpy

from longshore.core.words.errors import InputError, LongshoreError
from longshore.training.program.chunk import TrainState
from longshore.training.run.plan import Plan, read_plan

FORMAT_VERSION = 1
_HEADER = "longshore"
_AGAIN = "begin again with `--overwrite`"


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands, beside its arrays."""

    plan: dict[str, Any]
    chunks: int
    """Done so far."""
    seconds: float
    """Of training so far."""
    is_finished: bool
    made_by: dict[str, str]
    """Versions and device: on others a run goes on, but not bit for bit."""
    format: int = FORMAT_VERSION


class Checkpoint(NamedTuple):
    """A run that can go on."""

    state: TrainState
    position: Position


def write_checkpoint(path: Path, state: TrainState, position: Position) -> None:
    """Write a checkpoint.

    Raises:
        LongshoreError: it cannot be written.
    """
    arrays = {name: np.asarray(leaf) for name, leaf in _named(state).items()}
    header = {_HEADER: msgspec.json.encode(position).decode()}
    write_whole(path, safetensors_numpy.save(arrays, header))


def read_checkpoint(path: Path, plan: Plan, like: TrainState) -> Checkpoint:
    """Read a checkpoint of this plan; `like` has the shapes and types that its arrays must have.

    Raises:
        InputError: it is not there, is damaged, is none of ours, or belongs to another plan.
    """
    position, arrays = _read(path)
    differences = plan_differences(position.plan, plan)
    if differences:
        raise InputError(
            f"the checkpoint `{path}` belongs to another plan: {'; '.join(differences)}",
            "resume with the flags of that run (or none), or give another `--out`",
        )
    wanted = _named(like)
    for name in [*wanted, *arrays]:
        expected, got = (_shape(source.get(name)) for source in (wanted, arrays))
        if expected != got:
            raise InputError(
                f"the checkpoint `{path}` does not fit: `{name}` is {got}, expected {expected}",
                f"it was written by another version of longshore; {_AGAIN}",
            )
    leaves = jax.device_put([arrays[name] for name in wanted], may_alias=False)  # training writes over them
    return Checkpoint(jax.tree.unflatten(jax.tree.structure(like), leaves), position)


def read_position(path: Path) -> Position:
    """Read where a run stands.

    Raises:
        InputError: as `read_checkpoint`.
    """
    return _read(path)[0]


def plan_differences(there: Mapping[str, Any], here: Plan) -> list[str]:
    """Say in what two plans differ, in words."""
    own = here.to_json()
    told = read_plan(there).to_json()
    return [f"`{name}` is {told[name]!r} there and {own[name]!r} here" for name in own if told[name] != own[name]]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        LongshoreError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise LongshoreError(
            f"cannot write `{path}`: {error.strerror}", "give `--out` a folder that you may write to, with room"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _read(path: Path) -> tuple[Position, dict[str, np.ndarray[Any, Any]]]:
    if not path.is_file():
        raise InputError(f"there is no checkpoint `{path}`", "leave `--resume` out to begin, or name another folder")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            words = file.metadata() or {}
            if _HEADER not in words:
                raise InputError(f"`{path}` is no checkpoint of longshore's", "name the folder of a training run")
            position = _position(path, words[_HEADER])
            return position, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise InputError(f"the checkpoint `{path}` is damaged or cut off: {error}", _AGAIN) from error
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {error.strerror}", "make it readable") from error


def _position(path: Path, text: str) -> Position:
    try:
        found = msgspec.json.decode(text, type=Position)
    except msgspec.DecodeError as error:
        raise InputError(f"the checkpoint `{path}` cannot be read: {error}", _AGAIN) from error
    if found.format != FORMAT_VERSION:
        raise InputError(
            f"the checkpoint `{path}` has the format {found.format}, expected {FORMAT_VERSION}",
            f"use the release of longshore that wrote it, or {_AGAIN}",
        )
    return found


def _named(state: TrainState) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]}


def _shape(leaf: Any) -> str:
    return "missing" if leaf is None else f"{np.dtype(leaf.dtype).name}{list(leaf.shape)}"
