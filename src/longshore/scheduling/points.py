"""Points on the way of a scheduler at which proofs kill it. In the product nothing happens there."""

from collections.abc import Callable
from typing import Final

AFTER_ASSUME: Final = "after-assume"
BEFORE_BIND: Final = "before-bind"
AFTER_BIND: Final = "after-bind"
DURING_RELIST: Final = "during-relist"

Pass = Callable[[str], None]
"""Called with the point's name when it is passed."""


def go_on(name: str) -> None:
    """Pass a point."""
