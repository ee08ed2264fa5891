"""The node with the fewest pods."""

from longshore.policies.base import Policy


def score(arrays, pod_class, feasible):
    """Return one number per node; the feasible node with the highest is chosen."""
    return -arrays.state.pod_count.astype("float64")


POLICY = Policy(score)
