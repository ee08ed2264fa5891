"""A trained policy: what it reads, its network, what it was trained for, and the check that it can run.

Everything but the tensors stands in `policy.json` (`network.bundle_files`). The descriptions of the fields are those of
the reference page.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from longshore.core.arrays.choose import TIE_TOLERANCE
from longshore.core.arrays.features import names_of
from longshore.core.network.forward import (
    LOAD,
    PREFERENCE,
    PRIOR,
    ROWS,
    SCORE,
    Inputs,
    Op,
    check,
    forward,
    reads,
    tensor_names,
)
from longshore.core.network.weights import DTYPES
from longshore.core.words.errors import InputError

MAX_NODES = 10_000
"""Of a network of fixed size: no tensor within the limits serves more."""
_FIXED_KINDS = ("flatten", "lookup")
"""Operations whose tensors serve one number of nodes only."""
_TRIAL_NODES = 3


class Weight(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One term of the objective, and how much it counts."""

    term: str
    weight: float


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The smallest and largest value of every feature in training, in the order of the features."""

    low: tuple[float, ...]
    high: tuple[float, ...]


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result over several seeds: its mean and the ends of its interval."""

    mean: float
    low: float
    high: float


class LoadScale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the network's input `load` is measured: when CPU counts as scarce beside the GPUs; all above 0."""

    cpu_beforehand: float
    """The share of the CPU that counts as used in an empty cluster: so the first few pods do not decide."""
    gpus_beforehand: float
    """The same of the GPUs."""
    scarce_from: float
    """CPU in use for each GPU in use, both as shares of what there is: up to here CPU is not scarce. At 1 both are used
    up together."""
    scarce_over: float
    """So much further on it is wholly scarce."""
    little_below: float
    """Of the GPUs: while a smaller share is in use, CPU is that much less scarce, whatever else runs there."""


LOAD_SCALE = LoadScale(0.024, 0.03, scarce_from=0.9, scarce_over=1.05 - 0.9, little_below=0.1)
"""What training measures by, and what bundles of format 1 mean, which do not say it."""


def _about(description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description)


class BundleFacts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All of a policy but its tensors."""

    name: Annotated[str, _about("what it is called; one printable line")]
    features: Annotated[tuple[str, ...], _about("the features that it reads, `name@version`, in the columns' order")]
    ops: Annotated[tuple[Op, ...], _about("the network: operations, each with its inputs, output and tensors")]
    prior: Annotated[str | None, _about("the heuristic that it corrects, by its name; null = none")] = None
    preference: Annotated[
        tuple[Weight, ...], _about("the terms whose weights can be given at run time, with their defaults")
    ] = ()
    filters: Annotated[str, _about("the filter set that it runs behind")] = "upstream+latency"
    objective: Annotated[str, _about("what it was trained for, as `--objective` takes it")]
    envelope: Annotated[Envelope, _about("per feature the smallest and largest value in training")]
    provenance: Annotated[
        dict[str, Any], _about("how it was trained: learner, network, config, workload, seeds, versions, date, steps")
    ] = msgspec.field(default_factory=dict)
    metrics: Annotated[
        dict[str, float | Interval], _about("results by name: a number, or mean, low and high of an interval")
    ] = msgspec.field(default_factory=dict)
    num_nodes: Annotated[int | None, _about("the number of nodes of a network of fixed size; null = any number")] = None
    may_defer: Annotated[
        bool, _about("scores say by how much a node is better than waiting; a pod for which all are below 0 waits")
    ] = False
    tie_tolerance: Annotated[
        float, _about("nodes whose scores are within this of the best tie; ties go to the lowest name")
    ] = TIE_TOLERANCE
    load: Annotated[
        LoadScale | None, _about("how the input `load` is measured; null where the network does not read it")
    ] = None


class Bundle(BundleFacts, frozen=True, kw_only=True, eq=False):
    """A trained policy as data: it can score nodes (`policies.learned`) and be stored (`network.bundle_files`)."""

    tensors: dict[str, np.ndarray[Any, Any]]
    version: str = ""
    """SHA-256 of the `policy.json` that it was read from, which names the weights' own; empty = it was never stored."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features without their versions."""
        return names_of(self.features)


def check_bundle(bundle: Bundle) -> None:
    """Refuse a policy that could not run, or that says something impossible.

    Raises:
        InputError: what was got, what was expected, and what to do.
    """
    if not bundle.name or not bundle.name.isprintable():
        raise InputError(f"got the name {bundle.name!r}, expected one printable line", "give the policy another name")
    names_of(bundle.features)
    if any(".py:" in text for text in (bundle.prior or "", bundle.filters)):
        raise InputError(
            f"got the prior `{bundle.prior}` and the filters `{bundle.filters}`, expected names that are installed",
            "a bundle names no files: a package gives its code a name by an entry point",
        )
    _check_envelope(bundle)
    _check_numbers(bundle)
    _check_load(bundle)
    _check_tensors(bundle)
    _check_size(bundle)
    try:
        check(bundle.ops, bundle.tensors, _widths(bundle), bundle.num_nodes)
    except InputError as error:
        raise InputError(
            f"the network cannot run: {error.message}",
            error.hint
            or "weights and operations are of different policies, or of another version of longshore; take all files "
            "of one bundle, or train it again",
        ) from error
    _try(bundle)


def is_fixed_size(bundle: BundleFacts) -> bool:
    """Tell whether the network serves one number of nodes only."""
    return any(op.kind in _FIXED_KINDS for op in bundle.ops)


def blank_inputs(bundle: BundleFacts, num_nodes: int) -> Inputs:
    """Return inputs of the right shapes, all zero."""
    widths = _widths(bundle)
    return Inputs(
        rows=np.zeros((num_nodes, widths[ROWS]), np.float32),
        is_real=np.ones(num_nodes, bool),
        zone=np.zeros(num_nodes, np.int32),
        app=np.zeros(num_nodes, np.float32),
        near=np.zeros((num_nodes, 0), np.float32),
        prior=np.zeros((num_nodes, widths[PRIOR]), np.float32),
        preference=np.zeros(widths[PREFERENCE], np.float32),
    )


def _widths(bundle: BundleFacts) -> dict[str, int]:
    return {
        ROWS: len(bundle.features),
        PRIOR: 0 if bundle.prior is None else 1,
        PREFERENCE: len(bundle.preference),
    }


def _check_envelope(bundle: BundleFacts) -> None:
    low, high = bundle.envelope.low, bundle.envelope.high
    if not len(low) == len(high) == len(bundle.features):
        raise InputError(
            f"got an envelope of {len(low)} and {len(high)} values, expected {len(bundle.features)} of each",
            "the envelope has one value per feature",
        )
    for spec, least, most in zip(bundle.features, low, high, strict=True):
        if not (math.isfinite(least) and math.isfinite(most) and least <= most):
            raise InputError(
                f"feature `{spec}`: got the envelope {least} to {most}, expected finite numbers in this order",
                "train the policy again",
            )


def _check_numbers(bundle: BundleFacts) -> None:
    terms = [one.term for one in bundle.preference]
    if len(set(terms)) < len(terms):
        raise InputError(f"got the preference terms {terms}, expected each once", "leave doubles out")
    for one in bundle.preference:
        if not (math.isfinite(one.weight) and one.weight >= 0):
            raise InputError(f"preference `{one.term}`: got {one.weight}, expected a finite weight of 0 or more")
    if not (math.isfinite(bundle.tie_tolerance) and bundle.tie_tolerance >= 0):
        raise InputError(f"got the tie tolerance {bundle.tie_tolerance}, expected a finite number of 0 or more")
    for name, figure in bundle.metrics.items():
        parts = (figure.mean, figure.low, figure.high) if isinstance(figure, Interval) else (figure,)
        if not all(math.isfinite(part) for part in parts):
            raise InputError(f"metric `{name}`: got {figure}, expected finite numbers", "leave it out")


def _check_load(bundle: BundleFacts) -> None:
    if (bundle.load is not None) != reads(bundle.ops, LOAD):
        raise InputError(
            f"got the load scale {bundle.load}, expected one where the network reads `load`, and only there",
            "`LOAD_SCALE` is what training measures by",
        )
    for name, value in () if bundle.load is None else msgspec.structs.asdict(bundle.load).items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"load: got {name} {value}, expected a finite number above 0")


def _check_tensors(bundle: Bundle) -> None:
    used, given = set(tensor_names(bundle.ops)), set(bundle.tensors)
    if used != given:
        wrong = [f"lack {_listed(used - given)}"] * bool(used - given)
        wrong += [f"hold {_listed(given - used)}, which no operation reads"] * bool(given - used)
        raise InputError(
            f"the weights do not belong to the network: they {' and '.join(wrong)}",
            "take policy.json and weights.safetensors of the same bundle",
        )
    for name, tensor in bundle.tensors.items():
        if tensor.dtype not in DTYPES.values():
            raise InputError(
                f"tensor `{name}`: got the type {tensor.dtype}, expected float32, int32 or int64", "convert it first"
            )
        if not np.isfinite(tensor).all():
            raise InputError(
                f"tensor `{name}` holds numbers that are not finite (NaN or infinity)",
                "the training has diverged; train again with a smaller learning rate, or take an earlier checkpoint",
            )


def _listed(names: set[str], most: int = 5) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _check_size(bundle: BundleFacts) -> None:
    if is_fixed_size(bundle) != (bundle.num_nodes is not None):
        raise InputError(
            f"got num_nodes {bundle.num_nodes}, expected "
            + (
                "a number: the network is of fixed size"
                if is_fixed_size(bundle)
                else "null: the network serves any size"
            ),
            "set num_nodes for networks of fixed size, and only for them",
        )
    if bundle.num_nodes is not None and not 1 <= bundle.num_nodes <= MAX_NODES:
        raise InputError(f"got num_nodes {bundle.num_nodes}, expected 1 to {MAX_NODES}", "train a smaller network")


def _try(bundle: Bundle) -> None:
    """Run the network once: what depends on the number of nodes shows only then."""
    num_nodes = bundle.num_nodes or _TRIAL_NODES
    try:
        with np.errstate(all="ignore"):  # only shapes count here
            shape = forward(bundle.ops, bundle.tensors, blank_inputs(bundle, num_nodes))[SCORE].shape
    except ValueError as error:
        raise InputError(
            f"the network cannot run on {num_nodes} nodes: {error}", "take all files of one bundle, or train it again"
        ) from error
    if shape != (num_nodes,):
        raise InputError(f"got scores of shape {shape}, expected ({num_nodes},)", "`score` is one number per node")


def weight_values(bundle: BundleFacts, given: Mapping[str, float] | None = None) -> np.ndarray[Any, Any]:
    """Return the preference as the network reads it [terms]: the given weights, or the defaults.

    Terms that are not given weigh 0. Only proportions matter: given weights are scaled to the sum of the defaults,
    which is what the network has met in training.

    Raises:
        InputError: the policy has no such term, or the weights are no weights.
    """
    defaults = np.array([one.weight for one in bundle.preference], np.float32)
    if given is None:
        return defaults
    terms = [one.term for one in bundle.preference]
    if not terms:
        raise InputError(f"policy `{bundle.name}` has no preference that could be given", "name its folder alone")
    for term, weight in given.items():
        if term not in terms:
            raise InputError(
                f"got the preference `{term}`, expected one of: {', '.join(terms)}",
                f"policy `{bundle.name}` was trained with these terms",
            )
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"preference `{term}`: got {weight}, expected a finite weight of 0 or more")
    total = sum(given.values())
    if not total > 0:
        raise InputError("got a preference that weighs nothing, expected at least one weight above 0")
    weights = np.array([given.get(term, 0.0) for term in terms]) / total
    return (weights * (float(defaults.sum()) or 1.0)).astype(np.float32)
