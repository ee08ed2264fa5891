"""A workload's traces by seed, all compiled to one shape, so that one compiled program plays every one of them.

Sizes that depend on the pods are rounded up to powers of two, with a quarter of headroom for tables whose size follows
from what is drawn, and never shrink: after the first seeds nothing is compiled again. Used by the Gymnasium face, and
by training, where an environment meets a new trace every episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import jax
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.simulator.params import Compiled, SimParams, compile_trace
from longshore.workloads.base import Workload

Shapes = tuple[tuple[int, ...], ...]
"""The shape of every array of `SimParams`, in the order in which JAX lists them."""


@dataclass
class TraceSource:
    """Makes traces; remembers the largest sizes that it has met."""

    workload: Workload
    lag_seconds: float = 0.0
    kept: range = range(0)
    """Seeds whose traces are compiled once and kept."""
    num_nodes: int = field(init=False)
    """Rows of the node axis; the same for every seed."""
    has_gpus: bool = field(init=False)
    """Some node has a GPU."""
    has_node_events: bool = field(init=False, default=False)
    """Some trace so far has nodes that fail, drain or join."""
    shapes: Shapes = field(init=False, default=())
    """Of the latest parameters. When they have grown, parameters that were made before no longer fit the others."""
    _found: dict[int, SimParams] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        nodes = self.workload.trace(0).nodes
        self.num_nodes, self.has_gpus = len(nodes), any(node.gpu_count for node in nodes)
        self._num_pods, self._num_events = 1, 1

    def params(self, seed: int) -> SimParams:
        """Return the compiled trace of a seed, filled up to the common shape.

        Raises:
            InputError: the traces of this workload cannot share a shape.
        """
        found = self._found.get(seed)
        if found is not None and _shapes(found) == self.shapes:
            return found
        compiled = self.compiled(seed)
        self.shapes = _larger(self.shapes, _rounded_shapes(compiled.params))
        found = _filled_up(compiled.params, self.shapes)
        if seed in self.kept:
            self._found[seed] = found
        return found

    def compiled(self, seed: int) -> Compiled:
        """Return the compiled trace of a seed with its names, in its own shape."""
        trace = self.workload.trace(seed)
        changes_nodes = any(isinstance(event, NodeFail | NodeDrain | NodeJoin) for event in trace.events)
        self.has_node_events = self.has_node_events or changes_nodes
        return self._compile(trace, seed)

    def params_of(self, seeds: Sequence[int]) -> list[SimParams]:
        """Return the compiled traces of several seeds, all of one shape."""
        found = [self.params(seed) for seed in seeds]
        return [
            one if _shapes(one) == self.shapes else self.params(seed) for seed, one in zip(seeds, found, strict=True)
        ]

    def _compile(self, trace: Trace, seed: int) -> Compiled:
        if len(trace.nodes) > self.num_nodes:
            raise InputError(
                f"the trace of seed {seed} has {len(trace.nodes)} nodes, that of seed 0 has {self.num_nodes}",
                "give every trace of a workload the same number of nodes; those that come later may be `absent`",
            )
        num_pods = sum(isinstance(event, Create) for event in trace.events)
        self._num_pods = max(self._num_pods, _rounded(num_pods))
        self._num_events = max(self._num_events, _rounded(len(trace.events)))
        return compile_trace(
            trace,
            lag_seconds=self.lag_seconds,
            seed=seed % 2**32,
            padded_nodes=self.num_nodes,
            padded_pods=self._num_pods,
            padded_events=self._num_events,
        )


def _rounded(number: int) -> int:
    """Round up to a power of two; 0 stays 0, since an empty table switches its filter off."""
    return 1 << (number - 1).bit_length() if number else 0


def _rounded_shapes(params: SimParams) -> Shapes:
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        axes = _axes_by_pods(tuple(jax.tree_util.keystr(path, simple=True, separator="/").split("/")), np.ndim(leaf))
        roomy = (_rounded(size + size // 4) if axis in axes else size for axis, size in enumerate(np.shape(leaf)))
        found.append(tuple(roomy))
    return tuple(found)


def _axes_by_pods(path: tuple[str, ...], rank: int) -> tuple[int, ...]:
    """Return the axes of an array whose size depends on the pods and not on the nodes."""
    match path:
        case ("cluster", "tables", "match"):
            return (0, 1)
        case ("cluster", "tables", "log_size" | "typical_rest" | "typical_pressure"):
            return ()
        case ("cluster", "tables", _) | ("cluster", "state", "counts") | ("cluster", "nodes", "domain"):
            return (0,)
        case ("cluster", "classes", "request" | "nonzero_request" | "score_request") | ("latency_ms",):
            return (0,)
        case ("cluster", "classes", *_):
            return tuple(range(rank))
    return ()


def _shapes(params: SimParams) -> Shapes:
    return tuple(np.shape(leaf) for leaf in jax.tree.leaves(params))


def _larger(one: Shapes, other: Shapes) -> Shapes:
    if not one:
        return other
    return tuple(tuple(map(max, a, b)) for a, b in zip(one, other, strict=True))


def _filled_up(params: SimParams, shapes: Shapes) -> SimParams:
    leaves, structure = jax.tree.flatten(params)
    filled: SimParams = jax.tree.unflatten(structure, map(_zero_filled, leaves, shapes))
    if filled.cluster.nodes.power_curve.shape != params.cluster.nodes.power_curve.shape:
        raise InputError(
            "the traces' nodes have power curves with different numbers of points",
            "give the nodes of all traces of a workload curves of one length",
        )
    return filled


def _zero_filled(array: Array, shape: tuple[int, ...]) -> Array:
    """Zeros are padding in every table whose size depends on the pods: row 0 is neutral, query 0 counts nothing."""
    if np.shape(array) == shape:
        return array
    return np.pad(array, [(0, new - old) for old, new in zip(np.shape(array), shape, strict=True)])
