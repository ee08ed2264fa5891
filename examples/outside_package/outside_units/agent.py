"""An agent from elsewhere: it sees what `longshore/Placement-v0` shows, and answers as that environment is answered."""


def choose(observation, action_mask):
    """Return an action: the last feasible node, or to wait where there is none."""
    nodes = action_mask[:-1].nonzero()[0]
    return nodes[-1] if len(nodes) else len(action_mask) - 1
