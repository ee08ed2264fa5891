"""Good bundles for the plugin, and every way to spoil one on the disk.

What is changed is put in place at once, as by a mounted ConfigMap: the folder that the plugin looks at is a link, and
the link is exchanged.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import Bundle, Envelope
from longshore.core.network.bundle_files import POLICY_FILE, WEIGHTS_FILE
from longshore.core.network.forward import Op
from longshore.policies.bundle_folder import write_folder

UNREADABLE: Final = Path("/proc/self/mem")
"""It can be opened, and reading its first byte is an I/O error, as on a broken disk; also for root."""
_LARGE = 3e38
"""A weight that is finite, and with which no score is."""


def packing_bundle(name: str = "packing") -> Bundle:
    """Return a policy that fills the fullest node, as upstream's scores never do."""
    return _policy(name, {"after_cpu_used": 1.0}, Envelope((0.0,), (1.0,)))


def reading_bundle() -> Bundle:
    """Return a policy that reads a measured latency, trained where it was never long."""
    return _policy("near", {"after_cpu_used": 0.1, "latency": -1.0}, Envelope((0.0, 0.0), (1.0, 0.6)))


def overflowing_bundle() -> Bundle:
    """Return a policy with finite weights whose scores are not: a check of the weights alone does not find it."""
    policy = packing_bundle("overflowing")
    ops = (Op("linear", ("rows",), "first", ("w", "b")), Op("linear", ("first",), "score", ("w", "b")))
    tensors = {"w": np.full((1, 1), _LARGE, np.float32), "b": np.full(1, _LARGE, np.float32)}
    return msgspec.structs.replace(policy, ops=ops, tensors=tensors)


def _policy(name: str, weights: dict[str, float], envelope: Envelope) -> Bundle:
    return Bundle(
        name=name,
        features=feature_specs(tuple(weights)),
        ops=(Op("linear", ("rows",), "score", ("w", "b")),),
        tensors={"w": np.array([[weight] for weight in weights.values()], np.float32), "b": np.zeros(1, np.float32)},
        objective="ee",
        envelope=envelope,
        provenance={},
        metrics={},
    )


class ModelLink:
    """The folder that the plugin reads: a link to the present state, exchanged at once for the next."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        self._states = 0

    def put(self, policy: Bundle) -> None:
        """Put a good bundle in place."""
        write_folder(self._next(), policy)
        self._exchange()

    def spoil(self, damage: Callable[[Path], None]) -> None:
        """Put a copy in place to which something has happened."""
        state = self._next()
        shutil.copytree(self.path, state)
        damage(state)
        self._exchange()

    def _next(self) -> Path:
        return self.path.with_name(f"state-{self._states}")

    def _exchange(self) -> None:
        link = self.path.with_name("link")
        link.symlink_to(self._next().name)
        link.replace(self.path)
        self._states += 1


def truncated(folder: Path) -> None:
    """Cut the weights off in the middle."""
    weights = folder / WEIGHTS_FILE
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def unknown_feature(folder: Path) -> None:
    """Let it read what nobody computes, and the checksum be right."""
    name = "colour@1"
    _edit(folder, features=[name], feature_hash=hashlib.sha256(name.encode()).hexdigest())


def newer_format(folder: Path) -> None:
    """Let it be of a format that is still to come."""
    _edit(folder, format=99)


def random_bytes(folder: Path) -> None:
    """Put noise into both files; always the same."""
    random = np.random.default_rng(7)
    for name in (POLICY_FILE, WEIGHTS_FILE):
        (folder / name).write_bytes(random.bytes(4096))


def nan_weights(folder: Path) -> None:
    """Let the last weight be NaN, and the checksum be right."""
    weights = folder / WEIGHTS_FILE
    data = weights.read_bytes()[:-4] + np.float32(np.nan).tobytes()
    weights.write_bytes(data)
    _edit(folder, weights_sha256=hashlib.sha256(data).hexdigest())


def overflowing(folder: Path) -> None:
    """Let the scores be infinite, from weights that are not."""
    write_folder(folder, overflowing_bundle())


def deleted(folder: Path) -> None:
    """Leave nothing."""
    shutil.rmtree(folder)


def unreadable(folder: Path) -> None:
    """Let reading the weights end in an I/O error."""
    (folder / WEIGHTS_FILE).unlink()
    (folder / WEIGHTS_FILE).symlink_to(UNREADABLE)


def not_a_folder(folder: Path) -> None:
    """Put a file where the folder was."""
    shutil.rmtree(folder)
    folder.write_bytes(b"")


def pipe(folder: Path) -> None:
    """Put a pipe that nobody writes to where the weights were: who opens it waits for ever."""
    (folder / WEIGHTS_FILE).unlink()
    os.mkfifo(folder / WEIGHTS_FILE)


def _edit(folder: Path, **fields: Any) -> None:
    policy = folder / POLICY_FILE
    policy.write_bytes(msgspec.json.encode({**msgspec.json.decode(policy.read_bytes()), **fields}))
