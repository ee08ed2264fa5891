"""A network as a list of operations, and the interpreter that runs one: NumPy when live, JAX when trained.

A network is data: it can be trained, stored in a bundle, read by another language, and checked before it runs. Each
operation reads named values, maybe tensors, and writes one value. A value is per node, [nodes, width], or of the whole
cluster, [width]; where both meet, that of the cluster is repeated for every node. Pools are over all real nodes, so
that the same tensors serve a cluster of any size (`flatten` excepted, which is how a fixed-size network is written).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from longshore.core.arrays.ops import (
    Array,
    dot,
    largest_row,
    namespace,
    row_product,
    sum_groups,
    weighted_sum,
    without_warnings,
)
from longshore.core.words.errors import InputError, UnknownNameError

ROWS, PRIOR, PREFERENCE, POD_KIND, LOAD = "rows", "prior", "preference", "pod_kind", "load"
INPUTS = (ROWS, PRIOR, PREFERENCE, POD_KIND, LOAD)
"""The values that are there before the first operation."""
SCORE, CONTEXT = "score", "context"
"""Every network writes `score`, [nodes] or [nodes, 1]; those that learn values also `context`, [width]."""
MAX_WIDTH = 65_536
"""Of all values together: repeated `concat` would else ask for more memory than there is, from a small file."""


POD_KINDS = (
    "cpu",
    "share below 250",
    "share below 500",
    "share below 750",
    "share below 1000",
    "one GPU",
    "two GPUs",
    "four GPUs",
    "more GPUs",
)
"""Kinds of pods by the GPU that they want: none, parts of one by quarters (in milli), one, two, up to four, more."""
LOADS = ("empty", "full", "cpu scarce")
"""What a cluster is like: how much of its GPUs is free, how much is in use, which sum to 1, and how near the CPU beside
them is to being used up before they are, from 0 to 1."""


_ZERO, _INFINITY = np.float32(0), np.float32(np.inf)
_FEW = 1 << 15
"""Numbers, up to which NumPy is given whole arrays of zeros or ones that are kept."""


class Op(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation."""

    kind: str
    """A name of `KINDS`."""
    inputs: tuple[str, ...]
    output: str
    tensors: tuple[str, ...] = ()


class Inputs(NamedTuple):
    """What a network is told about one cluster and one pod."""

    rows: Array  # [nodes, features] float32
    is_real: Array  # [nodes] bool
    zone: Array  # [nodes] int32; equal = same zone, 0 = none
    app: Array  # [nodes] float32; pods of the same owner or service on the node
    near: Array  # [nodes, zones] float32; how near the other zones' nodes are, 0 = not known; column = `zone`
    prior: Array  # [nodes, 1] float32; minus the node's place by a heuristic, 0 = its choice
    preference: Array  # [terms] float32; weights of the objective's terms, given at run time
    pod_kind: Array = np.zeros(len(POD_KINDS), np.float32)  # [pod kinds] float32; 1 for the pod's, 0 for the others
    load: Array = np.array([1, 0, 0], np.float32)  # [3] float32; how much the cluster is like each of `LOADS`


Tensors = Mapping[str, Array]


class BoundOp(NamedTuple):
    """An operation with all that is known before it runs: looked up once and not at every decision."""

    run: Callable[[list[Array], list[Array], Inputs], Array]
    inputs: tuple[str, ...]
    tensors: list[Array]
    output: str


def bind(ops: Sequence[Op], tensors: Tensors) -> tuple[BoundOp, ...]:
    """Look up what operations run and read."""
    return tuple(
        BoundOp(KINDS[op.kind].run, op.inputs, [tensors[name] for name in op.tensors], op.output) for op in ops
    )


@without_warnings
def run(
    bound: Sequence[BoundOp], inputs: Inputs, known: Mapping[str, Array] = MappingProxyType({})
) -> dict[str, Array]:
    """Run operations and return every value by name; `score` comes as [nodes].

    Values that are `known` are there from the start, for operations that go on from them.
    """
    values = {
        ROWS: inputs.rows,
        PRIOR: inputs.prior,
        PREFERENCE: inputs.preference,
        POD_KIND: inputs.pod_kind,
        LOAD: inputs.load,
        **known,
    }
    for operate, names, tensors, output in bound:
        values[output] = operate(list(map(values.__getitem__, names)), tensors, inputs)
    score = values[SCORE]
    values[SCORE] = score[:, 0] if score.ndim == 2 else score
    return values


def forward(ops: Sequence[Op], tensors: Tensors, inputs: Inputs) -> dict[str, Array]:
    """Run operations once, with these tensors: as `run`."""
    return run(bind(ops, tensors), inputs)


class Kind(NamedTuple):
    """What an operation does."""

    run: Callable[[list[Array], list[Array], Inputs], Array]
    num_inputs: int | None
    """None = one or more."""
    num_tensors: int
    description: str


def _linear(given: list[Array], tensors: list[Array], _inputs: Inputs) -> Array:
    product = row_product(given[0], tensors[0])
    product += tensors[1]  # in NumPy without another array; JAX makes one
    return product


def _relu(given: list[Array], _tensors: list[Array], _inputs: Inputs) -> Array:
    xp, value = namespace(given[0]), given[0]
    if xp is not np:
        return xp.maximum(value, 0)
    # The same in NumPy, where `maximum` with one number is three times slower; of many rows the zeros would be, too.
    return np.maximum(value, _zeros(value.shape)) if value.size <= _FEW else value.clip(_ZERO, _INFINITY)


@lru_cache(maxsize=8)
def _zeros(shape: tuple[int, ...]) -> Array:
    return np.zeros(shape, np.float32)


@lru_cache(maxsize=8)
def _shares(number: int) -> Array:
    """Return what each of so many nodes counts in their mean."""
    return np.full(number, 1 / max(number, 1), np.float32)


def _tanh(given: list[Array], _tensors: list[Array], _inputs: Inputs) -> Array:
    return namespace(given[0]).tanh(given[0])


def _add(given: list[Array], _tensors: list[Array], _inputs: Inputs) -> Array:
    total = given[0]
    for value in given[1:]:
        total = total + value
    return total


def _scale(given: list[Array], tensors: list[Array], _inputs: Inputs) -> Array:
    return given[0] * tensors[0]


def _outer(given: list[Array], _tensors: list[Array], _inputs: Inputs) -> Array:
    product = given[0][..., :, None] * given[1][..., None, :]
    return product.reshape(*product.shape[:-2], -1)


def _mixed(given: list[Array], tensors: list[Array], _inputs: Inputs) -> Array:
    """Multiply rows by a vector that is mixed from the columns of a matrix; the mix may differ from row to row."""
    rows, mix = given
    weights, bias = dot(mix, tensors[0].T), dot(mix, tensors[1])
    if weights.ndim == 1:
        return row_product(rows, weights[:, None]) + bias
    if namespace(rows) is np:
        return (rows * weights).sum(axis=1, keepdims=True) + bias[:, None]
    # Column by column: XLA then never writes the rows to memory, which takes several times longer than all the rest.
    total = bias
    for column in range(rows.shape[-1]):
        total = total + rows[..., column] * weights[:, column]
    return total[:, None]


def _concat(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    xp = namespace(given[0])
    if sum([value.ndim for value in given]) == len(given):
        return xp.concatenate(given)
    nodes = inputs.is_real.shape[0]
    spread = [xp.broadcast_to(value, (nodes, value.shape[-1])) if value.ndim == 1 else value for value in given]
    return xp.concatenate(spread, axis=1)


def _mean_nodes(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    xp, is_real = namespace(given[0]), inputs.is_real
    # As a product with 0 and 1: several times faster in NumPy than choosing, then adding up.
    if xp is not np:
        weights = is_real.astype(given[0].dtype)
        return weighted_sum(weights, given[0]) / xp.maximum(weights.sum(), 1)
    number = int(np.count_nonzero(is_real))
    if number == is_real.size <= _FEW and given[0].dtype == np.float32:
        return weighted_sum(_shares(number), given[0])
    return weighted_sum(is_real.astype(given[0].dtype), given[0]) / max(number, 1)


def _max_nodes(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    xp = namespace(given[0])
    if xp is np and np.count_nonzero(inputs.is_real) == inputs.is_real.size:
        return largest_row(given[0])
    most = xp.where(inputs.is_real[:, None], given[0], -xp.inf).max(axis=0)
    return xp.where(inputs.is_real.any(), most, 0).astype(given[0].dtype)


def _mean_zone(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    """Every node gets the mean over the real nodes of its zone; one without a zone stands for itself."""
    sums, counts = _zone_sums(given[0], inputs)
    mean = sums / namespace(given[0]).maximum(counts, 1)[:, None]
    return _of_own_zone(mean, given[0], inputs)


def _mean_near(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    """Every node gets the mean over the real nodes that are in a zone, each as near as its zone is, its own zone 1.

    A node without a zone stands for itself in place of its own zone, and for nobody else: no latency to it is known.
    """
    xp = namespace(given[0])
    sums, counts = _zone_sums(given[0], inputs)
    # By zones, not by pairs of nodes: a cluster has thousands of these and a handful of those.
    zones = inputs.near.shape[1]
    weight = xp.where(inputs.zone > 0, counts[inputs.zone], 1) + row_product(inputs.near, counts[:zones, None])[:, 0]
    share = (1 / xp.where(weight > 0, weight, 1)).astype(given[0].dtype)[:, None]
    return share * _of_own_zone(sums, given[0], inputs) + row_product(share * inputs.near, sums[:zones])


def _zone_sums(rows: Array, inputs: Inputs) -> tuple[Array, Array]:
    """Return the sum over the real nodes of every zone, and how many they are."""
    is_numpy = namespace(rows) is np
    # Zones are numbered from 1, the empty name included; where shapes must be known beforehand, there may be as many as
    # nodes.
    most = int(inputs.zone.max(initial=0)) + 1 if is_numpy else rows.shape[0] + 2
    return sum_groups(rows, inputs.is_real & (inputs.zone > 0), inputs.zone, max(most, inputs.near.shape[1]))


def _of_own_zone(by_zone: Array, rows: Array, inputs: Inputs) -> Array:
    xp = namespace(rows)
    own = by_zone.take(inputs.zone, axis=0)
    if xp is np and inputs.zone.all():
        return own
    return xp.where((inputs.zone > 0)[:, None], own, rows)


def _mean_app(given: list[Array], _tensors: list[Array], inputs: Inputs) -> Array:
    """The mean over the nodes that run pods of the same owner or service, each as often as it runs one; else 0."""
    xp = namespace(given[0])
    weights = xp.where(inputs.is_real, inputs.app, 0).astype(given[0].dtype)
    return weighted_sum(weights, given[0]) / xp.maximum(weights.sum(), 1)


def _flatten(given: list[Array], _tensors: list[Array], _inputs: Inputs) -> Array:
    return given[0].reshape(-1)


def _lookup(given: list[Array], tensors: list[Array], _inputs: Inputs) -> Array:
    """Read a table by what is free on the nodes, sorted, and by what pods ask for: a Q-table as a policy.

    The first column of the rows is what is free on each node, the others (the same for all nodes) what pods ask for;
    `edges` cut them into buckets. A state's key has the nodes' buckets in ascending order as digits, then the pods'.
    Nodes in one bucket are alike: they share the first place among them. The table has a value for every place and,
    last, for waiting; a node's score is by how much it is better than waiting, 0 in a state that was never seen.
    """
    xp = namespace(given[0])
    keys, values, edges = (xp.asarray(tensor) for tensor in tensors)  # a traced number indexes only its own kind
    buckets = (given[0][:, :, None] >= edges).sum(axis=-1)
    place = (buckets[None, :, 0] < buckets[:, None, 0]).sum(axis=1)
    key = table_key(xp.concatenate([xp.sort(buckets[:, 0]), buckets[:, 1:].max(axis=0)]), edges.shape[0] + 1)
    row = xp.minimum(xp.searchsorted(keys, key), keys.shape[0] - 1)
    found = values[row]
    return xp.where(keys[row] == key, found[place] - found[-1], 0).astype(values.dtype)


def table_key(digits: Array, base: int) -> Array:
    """Return digits [..., n] as one number."""
    xp = namespace(digits)
    return (digits.astype(xp.int64) * base ** xp.arange(digits.shape[-1], dtype=xp.int64)).sum(axis=-1)


KINDS: dict[str, Kind] = {
    "linear": Kind(_linear, 1, 2, "value · matrix + vector"),
    "relu": Kind(_relu, 1, 0, "max(value, 0)"),
    "tanh": Kind(_tanh, 1, 0, "tanh(value)"),
    "add": Kind(_add, None, 0, "sum of the values"),
    "scale": Kind(_scale, 1, 1, "value · vector, element by element"),
    "mixed": Kind(_mixed, 2, 2, "value · (matrix · mix) + vector · mix"),
    "outer": Kind(_outer, 2, 0, "every element of one value times every element of another"),
    "concat": Kind(_concat, None, 0, "values side by side"),
    "mean_nodes": Kind(_mean_nodes, 1, 0, "mean over the real nodes"),
    "max_nodes": Kind(_max_nodes, 1, 0, "largest over the real nodes"),
    "mean_zone": Kind(_mean_zone, 1, 0, "for every node, the mean over the real nodes of its zone"),
    "mean_near": Kind(_mean_near, 1, 0, "for every node, the mean over the real nodes, each as near as its zone"),
    "mean_app": Kind(_mean_app, 1, 0, "mean over the nodes that run pods of the same owner or service"),
    "flatten": Kind(_flatten, 1, 0, "all nodes' rows as one vector, which fixes the number of nodes"),
    "lookup": Kind(_lookup, 1, 3, "a table by the sorted buckets of what is free and what is asked for"),
}

ROW_KINDS = frozenset(("linear", "relu", "tanh", "add", "scale", "mixed", "outer", "concat"))
"""Operations that make of a node's row what they make of it in any other cluster."""


def needed(ops: Sequence[Op], output: str = SCORE) -> tuple[Op, ...]:
    """Return the operations that a value depends on, in order: what a policy needs of what was trained."""
    kept: list[Op] = []
    wanted = {output}
    for op in reversed(ops):
        if op.output in wanted:
            wanted |= set(op.inputs)
            kept.append(op)
    return tuple(reversed(kept))


def reads(ops: Sequence[Op], name: str) -> bool:
    """Tell whether an operation reads a value."""
    return any(name in op.inputs for op in ops)


def is_linear_in(name: str, ops: Sequence[Op]) -> bool:
    """Tell whether the score is a sum of what it would be for each element of a value alone, times that element.

    So it is where the value takes part in nothing but the mix of the operation that writes the score.
    """
    mixes = {name}
    for op in ops:
        read = [given in mixes for given in op.inputs]
        match op.kind:
            case "outer" if sum(read) == 1:
                mixes.add(op.output)
            case "mixed" if read == [False, True]:
                if op.output != SCORE:
                    return False
            case _ if any(read) or op.output == SCORE:
                return False
    return True


def tensor_names(ops: Sequence[Op]) -> tuple[str, ...]:
    """Return the tensors that operations read, each once."""
    return tuple(dict.fromkeys(name for op in ops for name in op.tensors))


def check(
    ops: Sequence[Op],
    tensors: Mapping[str, np.ndarray[Any, Any]],
    widths: Mapping[str, int],
    num_nodes: int | None = None,
) -> None:
    """Refuse a network that could not run, whatever the cluster: unknown names, shapes that do not fit.

    Args:
        ops: the operations.
        tensors: by name.
        widths: of each of `INPUTS`.
        num_nodes: of a network of fixed size, if known: what `flatten` makes is then checked too.

    Raises:
        InputError: what was got, and what was expected.
    """
    shapes: dict[str, tuple[bool, int | None]] = {
        ROWS: (True, widths[ROWS]),
        PRIOR: (True, widths[PRIOR]),
        PREFERENCE: (False, widths[PREFERENCE]),
        POD_KIND: (False, len(POD_KINDS)),
        LOAD: (False, len(LOADS)),
    }
    total_width = 0
    for number, op in enumerate(ops):
        where = f"operation {number} (`{op.kind}`)"
        if op.kind not in KINDS:
            raise UnknownNameError("operation", op.kind, KINDS)
        kind = KINDS[op.kind]
        if len(op.tensors) != kind.num_tensors or len(op.inputs) != (kind.num_inputs or max(len(op.inputs), 1)):
            raise InputError(
                f"{where}: got {len(op.inputs)} values and {len(op.tensors)} tensors, "
                f"expected {kind.num_inputs or 'one or more'} and {kind.num_tensors}"
            )
        for name, known in [*((name, shapes) for name in op.inputs), *((name, tensors) for name in op.tensors)]:
            if name not in known:
                raise InputError(f"{where}: reads `{name}`, which nothing before it writes")
        if op.output in shapes:
            what = "is an input" if op.output in INPUTS else "an operation before it writes"
            raise InputError(f"{where}: writes `{op.output}`, which {what}")
        shapes[op.output] = _shape(where, op, [shapes[name] for name in op.inputs], tensors, num_nodes)
        total_width += shapes[op.output][1] or 0
        if total_width > MAX_WIDTH:
            raise InputError(f"{where}: the values so far are {total_width} wide, expected at most {MAX_WIDTH}")
    if SCORE not in shapes:
        raise InputError("no operation writes `score`", "the last operation of a network writes the nodes' scores")
    is_per_node, width = shapes[SCORE]
    if is_per_node and width != 1:
        raise InputError(f"got a `score` of width {width}, expected one number per node")


def _shape(
    where: str,
    op: Op,
    given: list[tuple[bool, int | None]],
    tensors: Mapping[str, np.ndarray[Any, Any]],
    num_nodes: int | None,
) -> tuple[bool, int | None]:
    """Return (is it per node, its width; None = as wide as the cluster has nodes, times something)."""
    per_node = any(is_rows for is_rows, _ in given)
    widths = [width for _, width in given]
    match op.kind:
        case "linear":
            matrix, vector = (tensors[name].shape for name in op.tensors)
            expected = widths[0]
            if len(matrix) != 2 or vector != matrix[1:] or (expected is not None and matrix[0] != expected):
                raise InputError(f"{where}: got tensors {matrix} and {vector}, expected ({expected}, n) and (n,)")
            return per_node, matrix[1]
        case "scale":
            shape = tensors[op.tensors[0]].shape
            if shape != (widths[0],):
                raise InputError(f"{where}: got a tensor {shape}, expected ({widths[0]},)")
            return per_node, widths[0]
        case "outer":
            return per_node, None if None in widths else (widths[0] or 0) * (widths[1] or 0)
        case "mixed":
            matrix, vector = (tensors[name].shape for name in op.tensors)
            wide, sets = widths
            if matrix != (wide, sets) or vector != (sets,):
                raise InputError(f"{where}: got tensors {matrix} and {vector}, expected {(wide, sets)} and {(sets,)}")
            return per_node, 1
        case "add":
            if len(set(widths)) > 1:
                raise InputError(f"{where}: got values of widths {widths}, expected equal ones")
            return per_node, widths[0]
        case "concat":
            return per_node, None if None in widths else sum(width or 0 for width in widths)
        case "lookup":
            keys, values, edges = (tensors[name].shape for name in op.tensors)
            if len(keys) != 1 or len(values) != 2 or keys[0] != values[0] or keys[0] == 0 or len(edges) != 1:
                raise InputError(f"{where}: got tensors {keys}, {values} and {edges}, expected (n,), (n, m) and (k,)")
            if num_nodes is not None and values[1] != num_nodes + 1:
                raise InputError(f"{where}: got a table of width {values[1]}, expected {num_nodes + 1}")
            return True, 1
        case "mean_nodes" | "max_nodes" | "mean_app" | "mean_zone" | "mean_near" | "flatten":
            if not per_node:
                raise InputError(f"{where}: got a value of the whole cluster, expected one per node")
            if op.kind == "flatten":
                return False, None if num_nodes is None or widths[0] is None else num_nodes * widths[0]
            return op.kind in ("mean_zone", "mean_near"), widths[0]
    return per_node, widths[0]
