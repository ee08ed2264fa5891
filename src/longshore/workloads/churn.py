"""A Poisson load on a cluster that changes: nodes fail, are drained, come back, and new ones join.

The pods are those of `poisson`. Failures and drains hit different nodes at random times; each comes back, empty, after
an exponential downtime, unless the trace has ended by then. Some nodes are not there at the start and join later.
"""

from dataclasses import dataclass, replace

from longshore.core.words.trace import Event, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.workloads.base import check_range, in_order, seconds
from longshore.workloads.draw import Draw
from longshore.workloads.poisson import Poisson


@dataclass(frozen=True)
class Churn:
    """Pods come and go, and so do nodes."""

    nodes: int = 8
    """Nodes in all, those that join later included."""
    pods: int | None = None
    """Pods in all; None = 60 a node, as of `poisson`."""
    load: float = 0.5
    """Offered load on all nodes; lower than `poisson`'s, since some nodes always are away."""
    failure_share: float = 0.25
    """Share of the nodes that fail once; far more than in life, so that a short trace shows it."""
    drain_share: float = 0.25
    """Share of the nodes that are drained once, as for an upgrade."""
    spare_share: float = 0.25
    """Share of the nodes that join after the start, as an autoscaler's do."""
    mean_downtime_seconds: float = 180.0
    """Mean seconds until a node is back: a reboot takes minutes."""

    def __post_init__(self) -> None:
        check_range(self, "nodes", 1)
        if self.pods is not None:
            check_range(self, "pods", 1)
        check_range(self, "load", 0, above=True)
        for field in ("failure_share", "drain_share", "spare_share"):
            check_range(self, field, 0, 1)
        check_range(self, "mean_downtime_seconds", 0)

    def trace(self, seed: int) -> Trace:
        """Make the trace; the seed draws the pods, which nodes change, and when."""
        pods = Poisson(nodes=self.nodes, pods=self.pods, load=self.load).trace(seed)
        end = pods.end or 0.0
        draw = Draw("churn", seed)
        names = draw.shuffled([node.name for node in pods.nodes])
        # At least one node is there all the time, whatever the shares.
        num_spare = min(round(self.spare_share * self.nodes), self.nodes - 1)
        num_fail, num_drain = round(self.failure_share * self.nodes), round(self.drain_share * self.nodes)
        spare, others = names[:num_spare], names[num_spare:-1]
        failing, draining = others[:num_fail], others[num_fail : num_fail + num_drain]
        changes: list[Event] = [NodeJoin(seconds(draw.uniform(0.0, end)), name) for name in spare]
        for name in failing + draining:
            time = seconds(draw.uniform(0.0, end))
            changes.append(NodeFail(time, name) if name in failing else NodeDrain(time, name))
            back = seconds(time + draw.exponential(self.mean_downtime_seconds))
            if back <= end:
                changes.append(NodeJoin(back, name))
        return replace(pods, events=in_order([*pods.events, *changes]), absent=frozenset(spare))
