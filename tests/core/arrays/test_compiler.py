"""The arrays of a live cluster: tables that grow keep what they hold."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import rich_snapshot
from longshore.core.arrays.compiler import Compiler
from longshore.core.arrays.encode import encode
from longshore.core.arrays.population import Population
from longshore.core.words.objects import Objects
from longshore.filters import static_parts
from support.builders import make_node, make_pod


@given(st.integers(0, 2**31))
@settings(max_examples=20)
def test_classes_compiled_one_by_one_are_those_compiled_at_once(seed: int) -> None:
    snapshot = rich_snapshot(seed)
    parts, population = static_parts(), Population()
    fresh = encode(snapshot, parts)
    for pod in snapshot.pods:
        population.put(pod, population.class_of(pod.spec))
    classes = [population.class_of(spec) for spec in fresh.specs]
    live = Compiler(Objects.of(snapshot), snapshot.nodes, classes, parts)
    for one in classes:
        live.compile([one])
    arrays, num_nodes = live.arrays, len(snapshot.nodes)
    for one in classes:
        mine, theirs = one.index, fresh.class_index[one.spec]
        for name in ("request", "nonzero_request", "score_request", "latency_hard_ms", "gpu_milli", "affinity_self"):
            found, want = getattr(arrays.classes, name)[mine], getattr(fresh.arrays.classes, name)[theirs]
            assert np.array_equal(found, want), name
        for part in parts:
            found, want = part.mask(arrays, np.asarray(mine)), part.mask(fresh.arrays, np.asarray(theirs))
            assert np.array_equal(found[:num_nodes], want[:num_nodes]), part.filter
        for name in ("ports", "affinity", "anti_affinity", "repelled_by", "preferred", "hard_spread", "soft_spread"):
            mine_of, theirs_of = getattr(arrays.classes, name), getattr(fresh.arrays.classes, name)
            if name != "ports":
                mine_of, theirs_of = mine_of.query, theirs_of.query
            counted = arrays.state.counts[mine_of[mine]].sum(axis=0)
            want = fresh.arrays.state.counts[theirs_of[theirs]].sum(axis=0)
            assert np.array_equal(counted[:num_nodes], want[:num_nodes]), name


def test_a_resource_without_a_column_is_noticed() -> None:
    live = Compiler(Objects(), (make_node("a").build(),), ())
    population = Population()
    assert live.has_columns_for(population.class_of(make_pod("a").cpu(5).build().spec))
    assert not live.has_columns_for(population.class_of(make_pod("a").resource("example.com/x", 1).build().spec))
