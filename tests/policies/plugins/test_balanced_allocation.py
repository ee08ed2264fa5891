"""Tests of NodeResourcesBalancedAllocation: the change in balance that 1.36 scores, by hand."""

import jax
import numpy as np
import pytest

from longshore.policies.plugins.balanced_allocation import PLUGIN
from policies.plugins.scoring import score
from support.builders import PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import to_jax

NAME = "NodeResourcesBalancedAllocation"
NODE = make_node("a").cpu("4").memory("8Gi")


def test_a_balance_on_the_edge_of_an_integer_is_the_same_in_jax() -> None:
    # Under vmap the node is one and the pods are many; XLA then divides by a rounded reciprocal if it is let, which
    # puts some of these uses (2 %, 4 %, …) on the other side of a whole percent.
    pods = [make_pod(f"p{i}").cpu(98 * i) for i in range(1, 51)]
    encoded = encode(make_snapshot(make_node("a").cpu(4900), *pods))
    classes, feasible = np.arange(len(pods)), np.array([True])
    want = [PLUGIN.raw(encoded.arrays, pod_class, feasible) for pod_class in classes]
    got = jax.jit(jax.vmap(PLUGIN.raw, in_axes=(None, 0, None)))(to_jax(encoded.arrays), classes, feasible)
    np.testing.assert_array_equal(np.asarray(got), np.stack(want))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(make_pod("old"), make_pod("new").cpu("1").memory("2Gi"), 75, id="balance stays: 100 to 100"),
        pytest.param(make_pod("old"), make_pod("new").cpu("2"), 62, id="from 100 to 75: 50 + 25 / 2, rounded down"),
        pytest.param(make_pod("old"), make_pod("new").cpu("4"), 50, id="from 100 to 50: the worst"),
        pytest.param(make_pod("old").cpu("4"), make_pod("new").memory("8Gi"), 100, id="from 50 to 100: the best"),
        pytest.param(make_pod("old").cpu("2"), make_pod("new").memory("4Gi"), 87, id="from 75 to 100"),
        pytest.param(make_pod("old").cpu("4"), make_pod("new").cpu("4"), 75, id="no more than all counts"),
    ],
)
def test_the_score_is_the_change_in_balance(old: PodBuilder, new: PodBuilder, want: int) -> None:
    assert score(NAME, NODE, old.on("a"), new) == ({"a": want}, {"a": want})


def test_a_pod_without_requests_is_not_scored() -> None:
    assert score(NAME, NODE, make_pod("new")).raw == {"a": 0}
    assert score(NAME, NODE, make_pod("new").resource("example.com/dongle", 1)).raw == {"a": 0}


def test_existing_pods_count_with_their_requests_only() -> None:
    # Were the default of 100m and 200Mi counted, the balance before would be uneven.
    assert score(NAME, NODE, make_pod("old").on("a"), make_pod("new").cpu("1").memory("2Gi")).raw == {"a": 75}


def test_a_node_without_one_of_the_resources_is_always_balanced() -> None:
    assert score(NAME, NODE.memory(0), make_pod("new").cpu("4")).raw == {"a": 75}
