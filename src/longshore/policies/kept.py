"""What is computed for classes of pods and kept between decisions: one interface for all who keep something.

Nodes, readings, tables and classes count as the same while they are the same arrays: whoever changes them gives new
arrays, as everything in this project does. What pods change is written in place: values that depend on that are brought
up to date by whoever keeps them.
"""

from typing import Generic, TypeVar

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.words.scope import Scope

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by class of pods; all are dropped when what their scope names is another array."""

    def __init__(self, scope: Scope) -> None:
        """Take what the values depend on: on readings too, or (`Scope.NODE`) on nodes, tables and classes alone."""
        self._has_readings = scope is Scope.READINGS
        self._arrays: ClusterArrays | None = None
        self._values: dict[int, Value] = {}

    def is_for(self, arrays: ClusterArrays) -> bool:
        """Say whether what is kept holds for a cluster; where it does not, it is dropped, and from now on it does."""
        before, self._arrays = self._arrays, arrays
        if before is None or not _is_same(before, arrays, has_readings=self._has_readings):
            self._values.clear()
            return False
        return True

    def find(self, arrays: ClusterArrays, pod_class: int) -> Value | None:
        """Return what is kept for a class; None = nothing that holds for the cluster."""
        if arrays is not self._arrays and not self.is_for(arrays):
            return None
        value = self._values.pop(pod_class, None)
        return None if value is None else self._values.setdefault(pod_class, value)

    def put(self, pod_class: int, value: Value, most: int | None = None) -> Value:
        """Keep a value, of at most so many; the class that was not asked for the longest goes first."""
        self._values.pop(pod_class, None)
        while most is not None and len(self._values) >= most:
            del self._values[next(iter(self._values))]
        self._values[pod_class] = value
        return value


def _is_same(one: ClusterArrays, other: ClusterArrays, *, has_readings: bool) -> bool:
    """Tell whether two clusters differ at most in what runs there and, unless readings count, in what was read."""
    if has_readings and one.readings is not other.readings:
        return False
    if one.nodes is other.nodes and one.tables is other.tables and one.classes is other.classes:
        return True
    pairs = ((one.nodes, other.nodes), (one.tables, other.tables), (one.classes, other.classes))
    return all(x is y for a, b in pairs for x, y in zip(a, b, strict=True))
