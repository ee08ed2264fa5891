"""Trained policies as bytes: bundles, their weights, and the interpreter of their networks."""
