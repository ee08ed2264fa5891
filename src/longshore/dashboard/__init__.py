"""What people look at: views over the cluster, the store and a scheduler's metrics."""
