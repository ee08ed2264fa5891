"""Training: the compiled loop, its checkpoints and logs, and the way from a plan to a bundle."""
