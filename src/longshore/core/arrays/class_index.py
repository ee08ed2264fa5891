"""Looks classes up by label and namespace, so that a selector is not asked about every class, and the other way round.

Most selectors want one value of one label: the classes that have it are a handful among thousands. What is found here
still has to be matched; what is not found cannot match. Called by `arrays.queries`.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import chain

from longshore.core.words.labels import Selector
from longshore.core.words.pod import PodSpec


class ClassIndex:
    """Classes by what selectors ask for."""

    def __init__(self) -> None:
        self._everyone = range(0)
        self._by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._by_namespace: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, spec: PodSpec, labels: Mapping[str, str]) -> None:
        """Add the class that comes next."""
        index = len(self._everyone)
        self._everyone = range(index + 1)
        self._by_namespace[spec.namespace].append(index)
        for pair in labels.items():
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


class SelectorIndex:
    """Selectors by what they ask for, so that a new class is not held against all of them."""

    def __init__(self) -> None:
        self._by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._by_namespace: defaultdict[str, list[int]] = defaultdict(list)
        self._others: list[int] = []

    def add(self, number: int, selector: Selector | None, namespaces: Collection[str] | None = None) -> None:
        """Add a selector under a number of the caller's.

        Args:
            number: what `candidates` returns for it.
            selector: what the labels must fulfil; None matches nothing, and is never returned.
            namespaces: where it looks; None = everywhere.
        """
        if selector is None:
            return
        wanted = next((one for one in selector.requirements if one.operator == "In"), None)
        if wanted is not None:
            for value in dict.fromkeys(wanted.values):
                self._by_label[wanted.key, value].append(number)
        elif namespaces is not None:
            for name in dict.fromkeys(namespaces):
                self._by_namespace[name].append(number)
        else:
            self._others.append(number)

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> list[int]:
        """Return the number of every selector that could match a pod, and of few others, in ascending order."""
        found = [*self._others, *self._by_namespace.get(namespace, ())]
        for pair in labels.items():
            found += self._by_label.get(pair, ())
        return sorted(found)
