"""Rest: work gets its share of the time, and no more."""

import pytest

from longshore.scheduling.rest import Rest


def test_after_a_piece_of_work_there_is_a_rest_by_its_share():
    now = 0.0
    rest = Rest(0.25, lambda: now)
    assert rest.seconds() == 0
    with rest:
        now = 2.0
    assert rest.seconds() == 6.0
    now = 7.0
    assert rest.seconds() == 1.0
    now = 9.0
    assert rest.seconds() == 0


def test_work_that_fails_counts_as_well():
    now = 0.0
    rest = Rest(0.5, lambda: now)

    def work() -> None:
        nonlocal now
        now = 3.0
        raise ValueError

    with pytest.raises(ValueError), rest:
        work()
    assert rest.seconds() == 3.0
