"""Fixtures of the tests of the lab's commands."""

from support.live_run import live_run

__all__ = ["live_run"]
