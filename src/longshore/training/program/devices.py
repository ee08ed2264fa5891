"""Which devices a run uses, and how its arrays lie on them.

Several devices share one program: the trainings of several seeds are dealt out where their number allows it, which
needs no talk between devices; otherwise the environments of each training are.
"""

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from longshore.core.words.errors import InputError
from longshore.training.program.chunk import Data, TrainState

_AXIS = "devices"
KINDS = ("cpu", "gpu")


def find_devices(kind: str | None = None) -> tuple[jax.Device, ...]:
    """Return all devices of a kind; None = those that JAX prefers.

    Raises:
        InputError: an unknown kind, or there is none on this machine.
    """
    if kind is None:
        return tuple(jax.devices())
    if kind not in KINDS:
        raise InputError(f"got the device `{kind}`, expected one of: {', '.join(KINDS)}")
    try:
        return tuple(jax.devices(kind))
    except RuntimeError as error:
        raise InputError(
            f"there is no {kind} that JAX can use on this machine: {error}",
            "leave `--device` out; for NVIDIA install `jax[cuda13]` of the same version" if kind == "gpu" else None,
        ) from error


def device_text(devices: tuple[jax.Device, ...]) -> str:
    """Name the devices for people."""
    return f"{len(devices)} of {devices[0].device_kind}" if len(devices) > 1 else devices[0].device_kind


class Layout:
    """Where the arrays of a run lie."""

    def __init__(self, devices: tuple[jax.Device, ...], seeds: int, envs: int | None) -> None:
        """Deal out `seeds` trainings or, within each, `envs` environments (None = there are none)."""
        number = len(devices)
        self.is_over_seeds = number > 1 and seeds % number == 0
        self.is_over_envs = number > 1 and not self.is_over_seeds and envs is not None and envs % number == 0
        self.devices = devices if self.is_over_seeds or self.is_over_envs else devices[:1]
        self._mesh = Mesh(self.devices, (_AXIS,))

    def place_data(self, data: Data) -> Data:
        """Give every device all that is read."""
        placed: Data = jax.device_put(data, self._sharding())
        return placed

    def place_state(self, state: TrainState) -> TrainState:
        """Lay a state out; costs nothing where it lies so already."""
        whole = self._sharding(_AXIS) if self.is_over_seeds else self._sharding()
        if state.envs is None or not self.is_over_envs:
            placed: TrainState = jax.device_put(state, whole)
            return placed
        envs = jax.device_put(state.envs, self._sharding(None, _AXIS))
        rest: TrainState = jax.device_put(state._replace(envs=None), whole)
        return rest._replace(envs=envs)

    def _sharding(self, *axes: str | None) -> NamedSharding:
        return NamedSharding(self._mesh, PartitionSpec(*axes))
