"""What machines cost and draw by their instance type, as the user's files say. Pure: bytes in, nodes out.

    currency: USD                               types:
    types:                                        m5.large: [6, 19]         # watts at even steps of CPU use, idle first
      m5.large: {on-demand: 0.096, spot: 0.035}   "m5.*": {idle: 8, full: 30}
      "c6i.*": 0.17

A type may be a pattern (`*`, `?`); the exact name counts first, then the first pattern that fits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Annotated, Generic, TypeVar

import msgspec

from longshore.core.words.errors import InputError
from longshore.core.words.node import POWER, PRICE, Node, NodePower

Value = TypeVar("Value")

TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
SPOT_LABELS = (
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
)
"""By which the clouds and Karpenter tell nodes that may be taken back at any time."""
_LARGEST = 1e9
_Amount = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]


class Price(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, frozen=True):
    """What an hour of a type costs."""

    on_demand: _Amount
    spot: _Amount | None = None
    """None = as on demand."""


class Draw(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a type draws, linear between its ends."""

    idle: _Amount
    full: _Amount


class _PriceFile(msgspec.Struct, forbid_unknown_fields=True):
    types: dict[str, Price | _Amount]
    currency: str = ""


class _PowerFile(msgspec.Struct, forbid_unknown_fields=True):
    types: dict[str, Draw | Annotated[list[_Amount], msgspec.Meta(min_length=2, max_length=1001)]]


@dataclass(frozen=True)
class ByType(Generic[Value]):
    """Values by names and patterns of instance types."""

    values: Mapping[str, Value] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """Return what is said of a type; None = nothing."""
        if name in self.values:
            return self.values[name]
        return next((value for pattern, value in self.values.items() if fnmatchcase(name, pattern)), None)


@dataclass(frozen=True)
class Rates:
    """Prices and power models by instance type."""

    prices: ByType[Price] = field(default_factory=ByType)
    power: ByType[NodePower] = field(default_factory=ByType)
    currency: str = ""

    def of(self, node: Node) -> Node:
        """Return the node with what the files say of its type; the rest stays."""
        name = instance_type(node)
        price, power = self.prices.find(name), self.power.find(name)
        if price is not None:
            is_cheaper = price.spot is not None and is_spot(node)
            cost = price.spot if is_cheaper and price.spot is not None else price.on_demand
            node = replace(node, cost_per_hour=cost, assumed=_without(node, PRICE))
        if power is not None:
            node = replace(node, power=power, assumed=_without(node, POWER))
        return node

    def of_all(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """Return all nodes so."""
        return tuple(map(self.of, nodes))


def instance_type(node: Node) -> str:
    """Return a node's instance type; empty = it has none."""
    labels = dict(node.labels)
    return next((labels[key] for key in TYPE_LABELS if key in labels), "")


def is_spot(node: Node) -> bool:
    """Say whether a node may be taken back at any time."""
    return any(pair in SPOT_LABELS for pair in node.labels)


def read_prices(data: bytes, name: str) -> tuple[ByType[Price], str]:
    """Read a file of prices; return them and the currency.

    Raises:
        InputError: it is no such file; the message names it.
    """
    found = _read(data, name, _PriceFile, "`types: {m5.large: {on-demand: 0.096, spot: 0.035}}`")
    types = {key: value if isinstance(value, Price) else Price(value) for key, value in found.types.items()}
    return ByType(types), found.currency


def read_power(data: bytes, name: str) -> ByType[NodePower]:
    """Read a file of power models.

    Raises:
        InputError: it is no such file; the message names it.
    """
    found = _read(data, name, _PowerFile, "`types: {m5.large: {idle: 6, full: 19}}`, or watts at even steps of CPU use")
    curves = {
        key: (value.idle, value.full) if isinstance(value, Draw) else tuple(value) for key, value in found.types.items()
    }
    return ByType({key: NodePower(curve) for key, curve in curves.items()})


def _read(data: bytes, name: str, kind: type[Value], example: str) -> Value:
    try:
        return msgspec.yaml.decode(data, type=kind)
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError) as error:
        reason = str(error).replace(" - at `$.", " at `").splitlines()[0]
        raise InputError(f"cannot read `{name}`: {reason}", f"expected for instance {example}") from error


def _without(node: Node, kind: str) -> tuple[str, ...]:
    return tuple(one for one in node.assumed if one != kind)
