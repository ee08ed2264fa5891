"""SIGTERM during a command that has something to take down."""

import signal

import pytest

from longshore.cli.interruption import in_order


def test_in_order_lets_what_was_started_be_taken_down():
    steps = []
    with pytest.raises(KeyboardInterrupt), in_order():
        try:
            signal.raise_signal(signal.SIGTERM)
            steps.append("went on")
        finally:
            signal.raise_signal(signal.SIGTERM)  # who asks again does not cut it short
            steps.append("taken down")
    assert steps == ["taken down"]


def test_in_order_leaves_the_signal_as_it_was():
    before = signal.getsignal(signal.SIGTERM)
    with in_order():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
