"""Fixtures of the lab's tests."""

from support.live_run import live_run

__all__ = ["live_run"]
