"""Small policies with random weights, for tests of what is done with a policy."""

from typing import Any

import numpy as np

from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import LOAD_SCALE, Bundle, Envelope, Interval, Weight
from longshore.core.network.forward import LOADS, POD_KINDS, Op

FEATURES = ("after_cpu_used", "node_is_on", "latency", "is_feasible")
HIDDEN = 6
OWN_FEATURES = ("after_cpu_used", "gpu_left_after", "gpu_waste_added", "gpu_devices", "pwr_watts_added")
"""Of the node alone."""


def deepsets_ops(reads: tuple[str, ...] = ("rows",)) -> tuple[Op, ...]:
    """Rows, their mean over the nodes, and their zone's, to one score."""
    return (
        Op("concat", reads, "all"),
        Op("linear", ("all",), "first", ("w1", "b1")),
        Op("relu", ("first",), "hidden"),
        Op("mean_nodes", ("hidden",), "mean"),
        Op("mean_zone", ("hidden",), "zone"),
        Op("mean_app", ("hidden",), "app"),
        Op("concat", ("hidden", "mean", "zone", "app"), "joined"),
        Op("linear", ("joined",), "score", ("w2", "b2")),
    )


def deepsets_tensors(width: int, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Draw the weights."""
    draw = np.random.default_rng(seed)
    shapes = {"w1": (width, HIDDEN), "b1": (HIDDEN,), "w2": (4 * HIDDEN, 1), "b2": (1,)}
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def make_bundle(**changes: Any) -> Bundle:
    """Return a policy; any field can be given another value."""
    values: dict[str, Any] = {
        "name": "sample",
        "features": feature_specs(FEATURES),
        "ops": deepsets_ops(),
        "tensors": deepsets_tensors(len(FEATURES)),
        "objective": "el-rl",
        "envelope": Envelope((0.0,) * len(FEATURES), (1.0, 0.5, 1.0, 1.0)),
        "provenance": {"learner": "dqn", "network": "deepsets", "workload": "test1", "config": {"lr": 0.001}},
        "metrics": {"reward": Interval(1.5, 1.25, 1.75), "steps_per_second": 1000.0},
    }
    return Bundle(**(values | changes))


def make_hybrid(prior: str, **changes: Any) -> Bundle:
    """Return a policy that scores by its prior alone, as hybrids do before they are trained."""
    scale = {"one": np.ones(1, np.float32)}
    return make_bundle(
        **({"ops": (Op("scale", ("prior",), "score", ("one",)),), "tensors": scale, "prior": prior} | changes)
    )


def make_dial(**changes: Any) -> Bundle:
    """Return a policy that is given weights of two terms."""
    fields = {
        "ops": deepsets_ops(("rows", "preference")),
        "tensors": deepsets_tensors(len(FEATURES) + 2),
        "preference": (Weight("latency", 0.5), Weight("watts", 0.5)),
    }
    return make_bundle(**(fields | changes))


def make_fixed(size: int, **changes: Any) -> Bundle:
    """Return a policy whose network takes all nodes' rows at once."""
    draw = np.random.default_rng(1)
    width = size * len(FEATURES)
    tensors = {"w": draw.normal(size=(width, size)).astype(np.float32), "b": np.zeros(size, np.float32)}
    fields = {
        "ops": (Op("flatten", ("rows",), "all"), Op("linear", ("all",), "score", ("w", "b"))),
        "tensors": tensors,
        "num_nodes": size,
    }
    return make_bundle(**(fields | changes))


def make_own(**changes: Any) -> Bundle:
    """Return a policy that looks at one node at a time, with weights for every kind of pod."""
    draw = np.random.default_rng(2)
    sets = (len(OWN_FEATURES), len(POD_KINDS))
    fields = {
        "features": feature_specs(OWN_FEATURES),
        "ops": (Op("mixed", ("rows", "pod_kind"), "score", ("weights", "biases")),),
        "tensors": {
            "weights": draw.normal(size=sets).astype(np.float32),
            "biases": draw.normal(size=len(POD_KINDS)).astype(np.float32),
        },
        "envelope": Envelope((-1.0,) * len(OWN_FEATURES), (1.0,) * len(OWN_FEATURES)),
    }
    return make_bundle(**(fields | changes))


def make_by_load(**changes: Any) -> Bundle:
    """Return one of those whose weights also depend on how full the cluster is."""
    draw = np.random.default_rng(3)
    sets = len(POD_KINDS) * len(LOADS)
    fields = {
        "ops": (
            Op("outer", ("pod_kind", "load"), "mix"),
            Op("mixed", ("rows", "mix"), "score", ("weights", "biases")),
        ),
        "tensors": {
            "weights": draw.normal(size=(len(OWN_FEATURES), sets)).astype(np.float32),
            "biases": draw.normal(size=sets).astype(np.float32),
        },
        "load": LOAD_SCALE,
    }
    return make_own(**(fields | changes))
