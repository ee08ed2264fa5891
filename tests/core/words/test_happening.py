"""What can happen in a cluster."""

from longshore.core.words.happening import ANYTHING, Happening


def test_anything_is_every_happening() -> None:
    assert all(one in ANYTHING for one in Happening)
    assert not ANYTHING & Happening.NOTHING
