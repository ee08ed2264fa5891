"""Disruption budgets, as preemption reads them: which pods could not be evicted without breaking one. Pure."""

from collections.abc import Iterable, Sequence

from longshore.core.words.labels import find_unparsable
from longshore.core.words.pod import Pod
from longshore.kube.context import DisruptionBudget


def covers(budget: DisruptionBudget, pod: Pod) -> bool:
    """Say whether evicting the pod takes one from the budget; an empty selector selects nobody here, as upstream."""
    if pod.namespace != budget.namespace or not pod.spec.labels or pod.name in budget.disrupted_pods:
        return False
    if budget.selector is None or budget.selector.is_empty or find_unparsable((budget.selector,)) is not None:
        return False
    return budget.selector.matches(dict(pod.spec.labels))


def violating(pods: Sequence[Pod], budgets: Iterable[DisruptionBudget]) -> list[bool]:
    """Say for each pod whether evicting it, after those before it, would break a budget."""
    namespaces = {pod.namespace for pod in pods}
    relevant = [budget for budget in budgets if budget.namespace in namespaces]
    left = [budget.disruptions_allowed for budget in relevant]
    found = []
    for pod in pods:
        is_violating = False
        for i, budget in enumerate(relevant):
            if covers(budget, pod):
                left[i] -= 1
                is_violating |= left[i] < 0
        found.append(is_violating)
    return found
