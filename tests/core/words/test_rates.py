"""Prices and power models by instance type."""

import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.node import Node
from longshore.core.words.rates import Rates, instance_type, is_spot, read_power, read_prices
from support.builders import make_node

PRICES = b"""
currency: USD
types:
  m5.large: {on-demand: 0.096, spot: 0.035}
  "m5.*": 0.2
"""
POWER = b"types: {m5.large: {idle: 6, full: 19}, 'c?.metal': [120, 200, 320]}"


def of_type(name: str, **labels: str) -> Node:
    node = make_node("n").unannotated().label("node.kubernetes.io/instance-type", name)
    for key, value in labels.items():
        node = node.label(key, value)
    return node.build()


def rates() -> Rates:
    prices, currency = read_prices(PRICES, "prices.yaml")
    return Rates(prices, read_power(POWER, "power.yaml"), currency)


def test_a_type_has_its_price_and_its_watts_and_they_are_not_assumed() -> None:
    node = rates().of(of_type("m5.large"))
    assert (node.cost_per_hour, node.power.watts_at_load) == (0.096, (6.0, 19.0))
    assert node.assumed == ("carbon",)
    assert rates().currency == "USD"


def test_a_pattern_serves_types_that_are_not_named() -> None:
    node = rates().of(of_type("m5.xlarge"))
    assert (node.cost_per_hour, node.assumed) == (0.2, ("carbon", "power"))
    assert rates().of(of_type("c5.metal")).power.watts_at_load == (120.0, 200.0, 320.0)


def test_a_type_that_nobody_names_stays_as_it_is() -> None:
    for node in (of_type("r5.large"), make_node("n").unannotated().build()):
        assert rates().of_all([node]) == (node,)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("karpenter.sh/capacity-type", "spot"),
        ("eks.amazonaws.com/capacityType", "SPOT"),
        ("cloud.google.com/gke-spot", "true"),
        ("kubernetes.azure.com/scalesetpriority", "spot"),
    ],
)
def test_spot_nodes_have_the_spot_price_where_there_is_one(key: str, value: str) -> None:
    assert is_spot(of_type("m5.large", **{key: value}))
    assert rates().of(of_type("m5.large", **{key: value})).cost_per_hour == 0.035
    assert rates().of(of_type("m5.xlarge", **{key: value})).cost_per_hour == 0.2
    assert not is_spot(of_type("m5.large", **{key: "on-demand"}))


def test_the_type_is_read_from_the_old_label_too() -> None:
    node = make_node("n").label("beta.kubernetes.io/instance-type", "m5.large").build()
    assert instance_type(node) == "m5.large"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cannot read `p.yaml`"),
        (b"types: {a: cheap}", "types"),
        (b"types: {a: -1}", "types"),
        (b"types: {a: {on-demand: 1, stop: 2}}", "stop"),
        (b"typs: {a: 1}", "typs"),
        (b"types: {a: 1e999}", "types"),
        (b"\xff\xfe", "cannot read `p.yaml`"),
        (b"types: [1", "cannot read `p.yaml`"),
    ],
)
def test_a_file_of_something_else_is_refused_with_the_place(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=r"p\.yaml") as caught:
        read_prices(data, "p.yaml")
    assert says in caught.value.message


@pytest.mark.parametrize("data", [b"types: {a: [1]}", b"types: {a: {idle: 1}}", b"types: {a: {idle: 1, full: .nan}}"])
def test_a_curve_needs_two_points(data: bytes) -> None:
    with pytest.raises(InputError):
        read_power(data, "p.yaml")
