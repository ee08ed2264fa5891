"""Learners: each turns experience into better tensors of a network (or into a table)."""
