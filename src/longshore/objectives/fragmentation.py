"""Fragmentation: minus the expected share of GPU that is free and of no use to typical pods.

    reward = - Σ_n F_n / (GPU capacity, or free GPU)          after the placement

F_n is FGD's expected unusable share of node n over the typical pods (`core/arrays/fragmentation.py`). By capacity, the
default, the sum of falls is what FGD descends; by what is idle, it is the fragmentation ratio that its authors plot.
Without GPUs, and with nothing idle, it is 0.
"""

from dataclasses import dataclass
from typing import Literal

from longshore.core.arrays.fragmentation import cluster_fragment
from longshore.core.arrays.gpu import free_milli
from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends


@dataclass(frozen=True)
class Fragmentation:
    """Reward for GPU shares that stay usable."""

    relative_to: Literal["capacity", "idle"] = "capacity"
    """What the unusable share is a share of."""

    def reward(self, step: Transition) -> Array:
        """Return -1 to 0."""
        arrays = step.after
        xp = namespace(arrays.state.gpu_used)
        milli = arrays.nodes.gpu_capacity if self.relative_to == "capacity" else xp.maximum(free_milli(arrays), 0)
        whole = xp.where(arrays.nodes.is_real[:, None], milli, 0).sum()
        return -(cluster_fragment(arrays) / xp.maximum(whole, 1))

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
