"""Deciding spelled out, with nothing kept and nothing left out: what the quick way is compared with."""

from dataclasses import replace

import numpy as np

from longshore import filters
from longshore.core.arrays.choose import choose
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.place import place
from longshore.core.words.decision import Decision
from longshore.core.words.pod import Pod
from longshore.deciding.decider import held_back_reason, sentence
from longshore.policies.base import Policy


def decide_plainly(encoded: Encoded, pod: Pod, policy: Policy) -> tuple[Decision, Encoded]:
    """Return the decision, with every node's score or rejection, and the cluster after it."""
    who = {"pod_namespace": pod.namespace, "pod_name": pod.name, "policy": policy.name}
    held_back = held_back_reason(encoded, pod)
    if held_back is not None:
        return Decision(**who, scores={}, rejections={}, pending_reason=held_back), encoded
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(pod))
    mask, rejections = filters.judge(encoded, int(pod_class), filters.filter_set(policy.filters))
    if not mask.any():
        reasons = [reason for one in rejections.values() for reason in one.reasons]
        told = sentence(len(encoded.node_names), {reason: reasons.count(reason) for reason in reasons})
        return Decision(**who, scores={}, rejections=rejections, pending_reason=told), encoded
    scores = policy.score(arrays, pod_class, mask)
    names = encoded.node_names
    node = _best(arrays, policy, scores, mask, may_defer=policy.may_defer)
    second = _best(arrays, policy, scores, mask & (np.arange(len(mask)) != node), may_defer=False)
    found = {
        **who,
        "scores": {names[row]: float(scores[row]) for row in np.flatnonzero(mask)},
        "rejections": rejections,
        "runner_up": None if second < 0 else names[second],
    }
    if node < 0:
        told = f"the policy prefers to wait: it scores every node that has room below 0, `{names[second]}` highest"
        return Decision(**found, pending_reason=told), encoded
    after = place(arrays, pod_class, np.asarray(node), policy.devices(arrays, pod_class)[node])
    return Decision(**found, node=names[node]), replace(encoded, arrays=after)


def _best(arrays, policy: Policy, scores, mask, *, may_defer: bool) -> int:
    ties = {"has_random_ties": policy.has_random_ties, "tie_tolerance": policy.tie_tolerance}
    return int(choose(arrays, scores, mask, may_defer=may_defer, **ties))
