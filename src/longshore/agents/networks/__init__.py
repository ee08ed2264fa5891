"""Networks: each turns a cluster and a pod into a score per node, written as a list of operations."""
