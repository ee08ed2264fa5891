"""Age: what is too old is not known."""

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import SourceReadings, TimedReadings

BATCH = SourceReadings(
    {"old": TimedReadings(NodeReadings(watts=1.0), 100.0), "new": TimedReadings(NodeReadings(watts=2.0), 150.0)}
)


def test_readings_beyond_the_limit_are_unknown():
    assert BATCH.known(161.0, 60.0) == {"old": NodeReadings(), "new": NodeReadings(watts=2.0)}


def test_readings_at_the_limit_are_known():
    assert BATCH.known(160.0, 60.0)["old"] == NodeReadings(watts=1.0)


def test_readings_from_the_future_do_not_stay_known_for_ever():
    assert BATCH.known(50.0, 60.0) == {"old": NodeReadings(watts=1.0), "new": NodeReadings()}


def test_age_is_that_of_the_newest():
    assert BATCH.age_seconds(161.0, 60.0) == 11.0


def test_age_of_nothing_is_none():
    assert SourceReadings().age_seconds(5.0, 60.0) is None


def test_a_clock_ahead_of_ours_makes_no_negative_age():
    assert BATCH.age_seconds(149.0, 60.0) == 0.0


def test_a_node_far_ahead_of_our_clock_says_nothing_about_the_age_of_the_others():
    ahead = SourceReadings({**BATCH.nodes, "ahead": TimedReadings(NodeReadings(), 10_000.0)})
    assert ahead.age_seconds(161.0, 60.0) == 11.0
