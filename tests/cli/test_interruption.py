"""Ctrl-C and SIGTERM: commands end in order, and leave the signals as they were."""

import asyncio
import signal
import threading

import pytest
import uvloop

from longshore.cli.interruption import in_order, stop_event


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


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_event_is_set_by_either_signal_which_is_then_as_it_was(run, number):
    async def work():
        before = signal.getsignal(signal.SIGTERM)
        async with stop_event() as stop:
            signal.raise_signal(number)
            await asyncio.wait_for(stop.wait(), 60)
        assert signal.getsignal(signal.SIGTERM) is before

    before = signal.getsignal(signal.SIGINT)
    with in_order():  # as in a command that has a cluster to take down
        run(work())
    assert signal.getsignal(signal.SIGINT) is before


def test_in_order_changes_nothing_in_another_thread():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work():
        with in_order():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
