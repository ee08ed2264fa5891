"""What users do with a live cluster: record it, run a workload in it, and place its pods from Gymnasium."""
