"""Failpoints: they end the process, and only where they were asked for."""

import subprocess
import sys

import pytest

from longshore.core.words.errors import InputError
from longshore_lab.proof.failpoints import NAMES, Failpoint, from_environment


def test_without_the_variable_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("LONGSHORE_FAILPOINT", raising=False)
    point = from_environment()
    for name in NAMES:
        point(name)


@pytest.mark.parametrize(("text", "passes"), [("after-bind", 1), ("after-bind:3", 3)])
def test_the_process_is_killed_at_the_pass_that_was_asked_for(text: str, passes: int):
    program = (
        "from longshore_lab.proof.failpoints import from_environment\n"
        "point = from_environment()\n"
        "for i in range(1, 9):\n"
        "    point('before-bind')\n"
        "    print(i, flush=True)\n"
        "    point('after-bind')\n"
    )
    environment = {"LONGSHORE_FAILPOINT": text, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert done.stdout.split() == [str(i) for i in range(1, passes + 1)]


@pytest.mark.parametrize("text", ["somewhere", "after-bind:x", "after-bind:-1"])
def test_a_point_that_does_not_exist_is_refused(text: str):
    with pytest.raises(InputError, match="after-assume"):
        Failpoint(text)
