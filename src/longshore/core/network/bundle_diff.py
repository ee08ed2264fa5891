"""What differs between two policies, field by field."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from longshore.core.network.bundle import Bundle
from longshore.core.network.forward import Op
from longshore.core.network.model_card import figure_text, plain

_ABSENT = "-"


class Difference(NamedTuple):
    """One thing that is not the same in both."""

    what: str
    first: str
    second: str


def diff_bundles(first: Bundle, second: Bundle) -> list[Difference]:
    """Return what differs; nothing, if the policies are the same in all that they say and compute."""
    return [found for found in _pairs(first, second) if found.first != found.second]


def largest_weight_change(first: Bundle, second: Bundle) -> tuple[str, float] | None:
    """Return the tensor that changed most and by how much; None if no tensor of both, in one shape, changed."""
    changes = {
        name: float(np.abs(tensor.astype(np.float64) - second.tensors[name]).max(initial=0.0))
        for name, tensor in first.tensors.items()
        if name in second.tensors and second.tensors[name].shape == tensor.shape
    }
    name = max(changes, key=lambda name: changes[name], default="")
    return (name, changes[name]) if changes.get(name) else None


def _pairs(first: Bundle, second: Bundle) -> Iterator[Difference]:
    for field in ("name", "objective", "prior", "filters", "num_nodes", "may_defer", "load"):
        yield Difference(field, plain(getattr(first, field)), plain(getattr(second, field)))
    yield _listed("features", first.features, second.features)
    yield _listed("operations", [_op_text(op) for op in first.ops], [_op_text(op) for op in second.ops])
    ours, theirs = ({one.term: f"{one.weight:g}" for one in bundle.preference} for bundle in (first, second))
    yield from _by_key("preference", ours, theirs)
    yield from _by_key("envelope", _envelope(first), _envelope(second))
    yield from _by_key("provenance", _flat(first.provenance), _flat(second.provenance))
    ours, theirs = (
        {name: figure_text(figure) for name, figure in bundle.metrics.items()} for bundle in (first, second)
    )
    yield from _by_key("metrics", ours, theirs)
    ours, theirs = (
        {name: f"{tensor.dtype} {list(tensor.shape)}" for name, tensor in bundle.tensors.items()}
        for bundle in (first, second)
    )
    yield from _by_key("tensor", ours, theirs)
    change = largest_weight_change(first, second)
    if change is not None:
        yield Difference(f"largest weight change: {change[0]}", "0", f"{change[1]:.6g}")


def _listed(what: str, first: tuple[str, ...] | list[str], second: tuple[str, ...] | list[str]) -> Difference:
    """Show what only one of two lists has; the same members in another order are shown whole."""
    only_first = [item for item in first if item not in second]
    only_second = [item for item in second if item not in first]
    if not only_first and not only_second:
        return Difference(what, ", ".join(first), ", ".join(second))
    return Difference(what, ", ".join(only_first) or _ABSENT, ", ".join(only_second) or _ABSENT)


def _by_key(what: str, first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Difference]:
    for name in dict.fromkeys([*first, *second]):
        yield Difference(f"{what}: {name}", first.get(name, _ABSENT), second.get(name, _ABSENT))


def _flat(values: Mapping[str, object], before: str = "") -> dict[str, str]:
    """Return nested values by dotted names, so that one changed setting is one line."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = plain(value)
    return found


def _envelope(bundle: Bundle) -> dict[str, str]:
    bounds = zip(bundle.features, bundle.envelope.low, bundle.envelope.high, strict=True)
    return {spec: f"{low:.4g} to {high:.4g}" for spec, low, high in bounds}


def _op_text(op: Op) -> str:
    tensors = f" [{', '.join(op.tensors)}]" if op.tensors else ""
    return f"{op.output} = {op.kind}({', '.join(op.inputs)}){tensors}"
