"""Nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""

from longshore.core.arrays.static import untainted
from longshore.core.words.happening import Happening
from longshore.filters.base import by_node

# What is asked for stands in core: spread constraints may leave out the nodes with such taints.
FILTER = by_node("TaintToleration", untainted, "node(s) had untolerated taint(s)", Happening.NODE_TAINTS)
