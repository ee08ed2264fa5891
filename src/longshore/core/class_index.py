"""Looks classes up by label and by namespace, so that a selector is not asked about every class.

Most selectors want one value of one label: the classes that have it are a handful among thousands. What is found here
still has to be matched; what is not found cannot match. Called by `core.queries`.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from longshore.core.labels import Selector
from longshore.core.pod import PodSpec


class ClassIndex:
    """The classes of one snapshot, by what selectors ask for."""

    def __init__(self, specs: Sequence[PodSpec], labels: Sequence[Mapping[str, str]]) -> None:
        self._everyone = range(len(specs))
        self._by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._by_namespace: defaultdict[str, list[int]] = defaultdict(list)
        for index, (spec, pairs) in enumerate(zip(specs, labels, strict=True)):
            self._by_namespace[spec.namespace].append(index)
            for pair in pairs.items():
                self._by_label[pair].append(index)

    def candidates(self, selector: Selector | None, namespaces: Collection[str] | None = None) -> list[int]:
        """Return every class that the selector could match, and few others.

        Args:
            selector: what the labels must fulfil; None matches nothing.
            namespaces: where to look; None = everywhere.
        """
        if selector is None:
            return []
        narrowings = [
            [self._by_label.get((requirement.key, value), []) for value in dict.fromkeys(requirement.values)]
            for requirement in selector.requirements
            if requirement.operator == "In"
        ]
        if namespaces is not None:
            narrowings.append([self._by_namespace.get(name, []) for name in namespaces])
        fewest = min(narrowings, key=lambda lists: sum(map(len, lists)), default=[self._everyone])
        return sorted(chain.from_iterable(fewest))
