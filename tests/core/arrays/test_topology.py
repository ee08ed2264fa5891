"""Counting by topology domain, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.topology import domain_sums, domain_table, eligible_nodes, matching_pods
from longshore.core.words.labels import Selector
from longshore.core.words.pod import NodeSelectorTerm, SpreadConstraint
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import assert_same_trees, to_jax

NUM_NODES = 5


def cluster() -> ClusterArrays:
    return encode(make_snapshot(*(make_node(f"n{i}") for i in range(NUM_NODES)))).arrays


# 0 = the node lacks the key; the largest number is that of five nodes with five values, none of them empty.
domains = arrays_of.arrays(np.int32, (3, NUM_NODES), elements=st.integers(0, NUM_NODES + 1))
counts = arrays_of.arrays(np.int64, (3, NUM_NODES), elements=st.integers(-100, 1000))
masks = arrays_of.arrays(bool, (3, NUM_NODES))


@given(counts, domains)
def test_domain_sums_give_every_node_the_sum_of_its_domain(values: np.ndarray, domain: np.ndarray) -> None:
    want = np.zeros_like(values)
    for term, node in np.ndindex(values.shape):
        if domain[term, node]:
            want[term, node] = sum(values[term, domain[term] == domain[term, node]])
    np.testing.assert_array_equal(domain_sums(cluster(), values, domain), want)


@given(counts, domains, masks)
def test_domain_table_counts_eligible_nodes_with_the_key(
    values: np.ndarray, domain: np.ndarray, eligible: np.ndarray
) -> None:
    sums, nodes = domain_table(cluster(), values, domain, eligible)
    for term in range(3):
        for number in range(NUM_NODES + 2):
            inside = [n for n in range(NUM_NODES) if number and domain[term, n] == number and eligible[term, n]]
            assert sums[term, number] == sum(values[term, n] for n in inside)
            assert nodes[term, number] == len(inside)


@settings(max_examples=20)
@given(counts, domains, masks)
def test_domain_counts_are_equal_in_jax(values: np.ndarray, domain: np.ndarray, eligible: np.ndarray) -> None:
    arrays = cluster()
    there, jax_values, jax_domain, jax_eligible = to_jax((arrays, values, domain, eligible))
    assert_same_trees(domain_sums(there, jax_values, jax_domain), domain_sums(arrays, values, domain))
    assert_same_trees(
        domain_table(there, jax_values, jax_domain, jax_eligible), domain_table(arrays, values, domain, eligible)
    )


@pytest.mark.parametrize(
    ("honors_affinity", "honors_taints", "want_eligible"),
    [
        pytest.param(True, True, [True, False, False, False], id="both policies"),
        pytest.param(True, False, [True, True, False, False], id="node affinity only, the default"),
        pytest.param(False, True, [True, False, True, False], id="taints only"),
        pytest.param(False, False, [True, True, True, False], id="neither: every real node"),
    ],
)
def test_eligible_nodes_follow_the_policies(
    honors_affinity: bool, honors_taints: bool, want_eligible: list[bool]
) -> None:
    ssd = make_node("a").label("disk", "ssd")
    constraint = SpreadConstraint(1, "zone", True, Selector(), 1, honors_affinity, honors_taints)
    pod = make_pod("p").node_selector("disk", "ssd").spec(spread=(constraint,))
    tainted = make_node("b").label("disk", "ssd").taint("dirty")
    encoded = encode(make_snapshot(ssd, tainted, make_node("c"), pod), padded_nodes=4)
    arrays = encoded.arrays
    assert eligible_nodes(arrays, np.asarray(0), arrays.classes.hard_spread).tolist() == [want_eligible]


def test_no_affinity_terms_left_means_that_no_node_is_eligible() -> None:
    constraint = SpreadConstraint(1, "zone", True, Selector())
    pod = make_pod("p").spec(spread=(constraint,), node_affinity=(NodeSelectorTerm(),))
    arrays = encode(make_snapshot(make_node("a"), pod)).arrays
    assert not eligible_nodes(arrays, np.asarray(0), arrays.classes.hard_spread).any()


@given(counts, domains, masks, arrays_of.arrays(bool, NUM_NODES), arrays_of.arrays(bool, 3))
@settings(max_examples=60)
def test_matching_pods_are_alike_in_both_libraries(
    values: np.ndarray, domain: np.ndarray, eligible: np.ndarray, scored: np.ndarray, is_hostname: np.ndarray
) -> None:
    arrays, domain = cluster(), np.maximum(domain, 1)
    found, sizes = matching_pods(arrays, values, domain, eligible, scored, is_hostname)
    rest = to_jax((values, domain, eligible, scored, is_hostname))
    jax_found, jax_sizes = matching_pods(to_jax(arrays), *rest)
    np.testing.assert_array_equal(found, jax_found)
    np.testing.assert_array_equal(sizes, jax_sizes)
    for term in np.flatnonzero(is_hostname):
        assert found[term].tolist() == values[term].tolist()
        assert sizes[term] == scored.sum()
