"""What speaks HTTP: health, readiness and metrics of a process."""
