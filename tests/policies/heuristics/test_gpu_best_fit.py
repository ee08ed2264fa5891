"""FGD's BestFit: hand-computed values, min-max over the feasible nodes only."""

import numpy as np

from longshore.policies.heuristics.gpu_best_fit import POLICY
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


def test_score_is_scaled_between_the_feasible_nodes() -> None:
    nodes = (make_node("a").cpu(64_000).gpu(4), make_node("b").cpu(96_000).gpu(8), make_node("c").cpu(32_000).gpu(2))
    arrays = encode(make_snapshot(*nodes, make_pod("p").cpu(8000).gpu(1, 500))).arrays
    # Left over: a 56000 and 3500, b 88000 and 7500, c 24000 and 1500; so raw 56, 18 (18.75) and 81 (81.25).
    every = POLICY.score(arrays, 0, np.array([True, True, True]))
    assert every.tolist() == [100 * (56 - 18) // 63, 0, 100]
    assert POLICY.score(arrays, 0, np.array([True, True, False]))[:2].tolist() == [100, 0]


def test_score_is_zero_if_all_feasible_nodes_are_equal() -> None:
    arrays = encode(make_snapshot(make_node("a").gpu(1), make_node("b").gpu(1), make_pod("p").gpu(1))).arrays
    assert POLICY.score(arrays, 0, np.array([True, True])).tolist() == [0, 0]


def test_raw_score_is_cut_towards_zero_on_nodes_beyond_the_scale() -> None:
    # Left over: 256000 and 0 give exactly 0; 257000 gives -0.39, which is cut to 0 and not to -1.
    nodes = (make_node("a").cpu(257_000), make_node("b").cpu(258_000), make_node("c").cpu(261_000))
    arrays = encode(make_snapshot(*nodes, make_pod("p").cpu(1000))).arrays
    assert POLICY.score(arrays, 0, np.array([True, True, True])).tolist() == [100, 100, 0]
