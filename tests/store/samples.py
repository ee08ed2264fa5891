"""Records for the tests of this room."""

from typing import Any

from longshore.core.words.decision import Decision


def sample(number: int = 0, **changes: Any) -> Decision:
    """Return a record that differs from others by its number."""
    fields: dict[str, Any] = {
        "time_us": 1_700_000_000_000_000 + number,
        "mode": "standalone",
        "pod_namespace": "shop",
        "pod_name": f"pod-{number}",
        "pod_uid": f"uid-{number}",
        "policy": "el-rl",
        "policy_version": "ab12",
        "scheduler_name": "longshore",
        "node": "node-1",
        "runner_up": "node-2",
        "score": 0.75,
        "num_nodes": 1000,
        "num_feasible": 998,
        "candidates": (("node-1", 0.75), ("node-2", 0.5)),
        "terms": {"watts": -12.5},
        "reasons": {"Insufficient cpu": 2},
        "latency_us": 640,
    }
    return Decision(**{**fields, **changes})
