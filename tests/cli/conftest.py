"""Fixtures of the commands' tests."""

from support.live_run import live_run

__all__ = ["live_run"]
