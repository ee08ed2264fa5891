"""Fixtures of the tests of live clusters."""

from support.live_run import live_run

__all__ = ["live_run"]
