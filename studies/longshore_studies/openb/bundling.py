"""From trainings on filling clusters to a bundle: one policy for several goals, mixed by weights given at run time.

Each goal was trained for itself. Their scores are weighted sums of the same features, so that a mix of the goals is a
mix of the weights: the policy with its dial at one end is the policy of that goal, and in between it trades.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longshore.agents.networks.base import Sizes
from longshore.agents.networks.kinds import Kinds
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import chosen, columns, feature_specs
from longshore.core.arrays.place import place
from longshore.core.network.bundle import LOAD_SCALE, Bundle, Envelope, Interval, Weight
from longshore.core.network.forward import LOADS, POD_KINDS, needed, tensor_names
from longshore.policies.base import Policy
from longshore_studies.openb.filling import fill_all
from longshore_studies.openb.tables.problem import Problem, side_by_side
from longshore_studies.openb.training import FEATURES, TIE_TOLERANCE, WEIGHT, Tensors, by_load, has_load

TERMS: Mapping[str, str] = {"allocation": "fragmentation", "power": "watts", "nodes": "ee"}
"""The objective's term that each goal stands for, as `--objective` names it."""
_MANY = 100
"""So many decisions of a run are looked at for the envelope."""


def join(by_goal: Mapping[str, Tensors]) -> Tensors:
    """Return the tensors of one policy whose preference has one term for each goal, in their order.

    The network's mix is (kind of pod) x (load) x (term), terms side by side.
    """
    goals = [by_load(one) for one in by_goal.values()]
    (weight, bias) = sorted(goals[0], key=lambda name: -goals[0][name].ndim)
    weights = np.stack([np.asarray(one[weight]) for one in goals], axis=-1)
    biases = np.stack([np.asarray(one[bias]) for one in goals], axis=-1)
    return {weight: weights.reshape(weights.shape[0], -1), bias: biases.reshape(-1)}


def split(policy: Bundle) -> dict[str, Tensors]:
    """Return the tensors of every goal of a joint policy, as trainings go on from them: the reverse of `join`."""
    names = {term: goal for goal, term in TERMS.items()}
    goals = [names[one.term] for one in policy.preference]
    return {
        goal: _without_load(
            {name: leaf.reshape(*leaf.shape[:-1], -1, len(goals))[..., which] for name, leaf in policy.tensors.items()}
        )
        for which, goal in enumerate(goals)
    }


def _without_load(tensors: Tensors) -> Tensors:
    """Return one set of weights for each kind of pod where these do not follow the cluster."""
    if not has_load(tensors):
        return tensors
    plain = {name: leaf[..., :: len(LOADS)] for name, leaf in tensors.items()}
    is_same = all(np.array_equal(leaf, tensors[name]) for name, leaf in by_load(plain).items())
    return plain if is_same else tensors


def make_bundle(
    name: str,
    by_goal: Mapping[str, Tensors],
    goal: str,
    envelope: Envelope,
    provenance: Mapping[str, Any],
    metrics: Mapping[str, float | Interval],
) -> Bundle:
    """Return the joint policy with its dial set to one goal."""
    network = Kinds(by_load=True).build(Sizes(len(FEATURES), 0, len(by_goal)))
    ops = needed(network.ops)
    joined = join(by_goal)
    assert joined.keys() == set(tensor_names(ops))
    assert joined[WEIGHT].shape == (len(FEATURES), len(POD_KINDS) * len(LOADS) * len(by_goal))
    return Bundle(
        name=name,
        features=feature_specs(FEATURES),
        ops=ops,
        tensors={tensor: np.asarray(leaf, np.float32) for tensor, leaf in joined.items()},
        preference=tuple(Weight(TERMS[one], float(one == goal)) for one in by_goal),
        filters="upstream",
        objective=TERMS[goal],
        envelope=envelope,
        provenance=dict(provenance),
        metrics=dict(metrics),
        tie_tolerance=TIE_TOLERANCE,
        load=LOAD_SCALE,
    )


def wider(one: Envelope, other: Envelope) -> Envelope:
    """Return the envelope of what either has met."""
    return Envelope(tuple(map(min, one.low, other.low)), tuple(map(max, one.high, other.high)))


def envelope_of(problem: Problem, policies: Sequence[Policy], seed: int) -> Envelope:
    """Play a run with each policy and see between which values each feature lies, over all nodes."""
    low, high = np.full(len(FEATURES), np.inf), np.full(len(FEATURES), -np.inf)
    for policy in policies:
        run, _ = problem.run(seed)
        outcome = fill_all(policy, side_by_side([run]), problem.num_shares)
        nodes, on_device = np.asarray(outcome.node[0]), np.asarray(outcome.on_device[0])
        arrays, step = run.arrays, max(len(nodes) // _MANY, 1)
        for number, (pod_class, node) in enumerate(zip(run.pod_class, nodes, strict=False)):
            if number % step == 0:
                rows = columns(View(arrays, pod_class, arrays.nodes.is_real), chosen(FEATURES))
                low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
            if node >= 0:
                milli = on_device[number] * arrays.classes.gpu_milli[pod_class]
                arrays = place(arrays, pod_class, node, milli)
    margin = np.maximum(0.05 * (high - low), 1e-3)
    return Envelope(tuple((low - margin).tolist()), tuple((high + margin).tolist()))
