"""The objects that pods' constraints refer to, by name: each can be put and dropped alone, as a cluster has 100,000."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from longshore.core.words.labels import Labels
from longshore.core.words.pod import Owner, PodSpec
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
)

Word = Namespace | Service | Controller | PersistentVolume | PersistentVolumeClaim


class Objects:
    """Namespaces, services, controllers, volumes and claims."""

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self.namespaces: dict[str, Namespace] = {}
        self.services: dict[tuple[str, str], Service] = {}
        self.controllers: dict[tuple[str, Owner], Controller] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
        self.namespace_labels: dict[str, dict[str, str]] = {}
        self._selectors: defaultdict[tuple[str, tuple[str, str]], dict[str, Labels]] = defaultdict(dict)
        """By namespace and one label of the selector: the services' selectors by their names."""
        for word in words:
            self.put(word)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Objects":
        """Return those of a snapshot."""
        kinds = (snapshot.namespaces, snapshot.services, snapshot.controllers, snapshot.volumes, snapshot.claims)
        return cls(word for words in kinds for word in words)

    def in_snapshot(self) -> Mapping[str, tuple[Any, ...]]:
        """Return them as the fields of a snapshot; takes time by their number."""
        names = ("namespaces", "services", "controllers", "volumes", "claims")
        return {name: tuple(getattr(self, name).values()) for name in names}

    def selectors(self, namespace: str, label: tuple[str, str]) -> Iterable[Labels]:
        """Return the services' selectors that are kept under a label: each is under one of its own."""
        return self._selectors[namespace, label].values() if (namespace, label) in self._selectors else ()

    def bound_volumes(self, spec: PodSpec) -> list[PersistentVolume]:
        """List the volumes that a pod's claims are bound to."""
        names = [volume.name for volume in spec.volumes if volume.source == "persistentVolumeClaim"]
        claims = [self.claims.get((spec.namespace, name)) for name in names]
        found = [self.volumes.get(claim.volume_name) for claim in claims if claim is not None]
        return [volume for volume in found if volume is not None]

    def put(self, word: Word) -> None:
        """Take an object, in the place of one of the same name."""
        match word:
            case Namespace():
                self.namespaces[word.name] = word
                self.namespace_labels[word.name] = dict(word.labels)
            case Service():
                self.drop(word)
                self.services[word.namespace, word.name] = word
                # A service without a selector selects nothing, not everything; an empty one adds nothing.
                if word.selector:
                    fewest = min(word.selector, key=lambda label: len(self._selectors.get((word.namespace, label), ())))
                    self._selectors[word.namespace, fewest][word.name] = word.selector
            case Controller():
                self.controllers[_owner(word)] = word
            case PersistentVolume():
                self.volumes[word.name] = word
            case PersistentVolumeClaim():
                self.claims[word.namespace, word.name] = word

    def drop(self, word: Word) -> None:
        """Forget the object of that kind and name; one that is not known is fine."""
        match word:
            case Namespace():
                self.namespaces.pop(word.name, None)
                self.namespace_labels.pop(word.name, None)
            case Service():
                before = self.services.pop((word.namespace, word.name), None)
                for label in (before.selector if before is not None else None) or ():
                    kept = self._selectors.get((word.namespace, label))
                    if kept is not None and kept.pop(word.name, None) is not None and not kept:
                        del self._selectors[word.namespace, label]
            case Controller():
                self.controllers.pop(_owner(word), None)
            case PersistentVolume():
                self.volumes.pop(word.name, None)
            case PersistentVolumeClaim():
                self.claims.pop((word.namespace, word.name), None)


def _owner(word: Controller) -> tuple[str, Owner]:
    return word.namespace, Owner(word.api_version, word.kind, word.name)
