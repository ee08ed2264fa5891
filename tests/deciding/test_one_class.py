"""One class: asked about it, the arrays that were cut down answer as the whole ones do."""

import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Rejection
from longshore.deciding.one_class import one_class
from longshore.deciding.trial_room import is_node_local
from support.builders import random_snapshot
from support.compiling import encode

NAMES = filters.filter_set("upstream+latency")


def answers(encoded: Encoded, pod_class: int) -> tuple[list[bool], dict[str, Rejection]]:
    mask, rejections = filters.judge(encoded, pod_class, NAMES)
    return mask.tolist(), rejections


@pytest.mark.parametrize("seed", range(8))
def test_every_class_gets_the_same_answers_from_its_own_arrays(seed: int):
    encoded = encode(random_snapshot(seed))
    for pod_class in range(len(encoded.specs)):
        cut, queries = one_class(encoded, pod_class)
        assert answers(cut, 0) == answers(encoded, pod_class)
        assert len(cut.arrays.state.counts) == len(queries) < len(encoded.arrays.state.counts)


@pytest.mark.parametrize("seed", range(8))
def test_a_class_that_no_other_node_concerns_gets_them_from_some_nodes_alone(seed: int):
    encoded = encode(random_snapshot(seed))
    rows, num_local = np.array([4, 1, 2]), 0
    for pod_class in range(len(encoded.specs)):
        if is_node_local(encoded, pod_class, NAMES):
            num_local += 1
            mask, rejections = answers(encoded, pod_class)
            names = {encoded.node_names[row] for row in rows}
            want = {name: each for name, each in rejections.items() if name in names}
            assert answers(one_class(encoded, pod_class, rows)[0], 0) == ([mask[row] for row in rows], want)
    assert num_local


def test_the_cut_arrays_are_copies_of_what_changes():
    encoded = encode(random_snapshot(1))
    before = encoded.arrays.state.counts.copy()
    one_class(encoded, 0)[0].arrays.state.counts[:] = 99
    assert np.array_equal(encoded.arrays.state.counts, before)
