"""A training run: from a plan by checkpoints and logs to a bundle, here or on a Ray cluster."""
