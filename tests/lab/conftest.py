"""Fixtures of the lab's tests."""

from live_support import live_run

__all__ = ["live_run"]
