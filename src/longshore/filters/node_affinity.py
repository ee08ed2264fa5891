"""Nodes that the pod's node selector and required node affinity match."""

from longshore.core.arrays.static import selected
from longshore.core.words.happening import Happening
from longshore.filters.base import by_node

# What is asked for stands in core: spread constraints leave out the nodes that do not match.
_REASON = "node(s) didn't match Pod's node affinity/selector"
FILTER = by_node("NodeAffinity", selected, _REASON, Happening.NODE_LABELS)
