"""From a cluster and a policy to decisions, without acting on them."""
