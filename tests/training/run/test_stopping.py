"""Ctrl-C: the first is a request, the second ends at once, and afterwards Python's own rule is back."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from longshore.training.run.stopping import INTERRUPTED_EXIT_CODE, Stopper


def test_the_first_is_a_request_and_is_told_once():
    told = threading.Event()
    with Stopper(told.set) as stopper:
        assert not stopper.is_asked
        signal.raise_signal(signal.SIGINT)
        assert told.wait(60)
        assert stopper.is_asked


def test_afterwards_it_interrupts_as_always():
    before = signal.getsignal(signal.SIGINT)
    with Stopper(lambda: None):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_the_second_ends_at_once_even_where_python_waits():
    script = (
        "import ctypes\n"
        "from longshore.training.run.stopping import Stopper\n"
        "with Stopper(lambda: print('heard', flush=True)):\n"
        "    print('ready', flush=True)\n"
        # Python's own handlers run only after this; ctypes goes on with the call when a signal comes.
        "    for _ in range(3): ctypes.CDLL(None).sleep(20)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "heard\n"
        started = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == INTERRUPTED_EXIT_CODE
        assert time.monotonic() - started < 5


def test_off_the_main_thread_it_leaves_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with Stopper(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
