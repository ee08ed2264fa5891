"""A pod's way from the watch to its binding: the modules that are handed the pod, as `architecture.md` lists them."""

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from longshore.core.arrays.population import PodClass
from longshore.core.words.pod import Pod
from longshore.kube import wire
from longshore.kube.cache import PodChange
from longshore.kube.reflector import WatchBatch
from longshore.scheduling.queue import Waiting
from support.fake_api import FakeApi
from support.scheduler import scheduling, until

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "concepts" / "architecture.md"
SHAPES = (WatchBatch, wire.Pod, PodChange, Pod, Waiting, PodClass)
MOST_MODULES = 16


@contextmanager
def modules_handed(pod_name: str) -> Iterator[set[str]]:
    """Collect the modules of which a function is called with the pod, in one of its shapes or by its name.

    The words themselves do not count; all filters are one, and so is the policy, which is asked by the pod's class.
    """
    found: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        parts = frame.f_globals.get("__name__", "").split(".")
        if event != "call" or parts[0] != "longshore" or parts[1:3] == ["core", "words"]:
            return
        given = frame.f_locals.values()
        if parts[1] in ("filters", "policies"):
            found.add(f"{parts[1]}/")
        elif any(isinstance(one, SHAPES) or (isinstance(one, str) and one == pod_name) for one in given):
            found.add("/".join(parts[1:]) + ".py")

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("policy", ["kube-default", "openb"])
async def test_the_modules_of_a_pods_way_are_those_that_are_listed(policy: str):
    api = FakeApi()
    api.node("a")
    api.node("b")
    async with scheduling(api, policy=policy):
        api.pod("first")  # of the same class: what happens for each class once is not on every pod's way
        await until(lambda: api.node_of("first"))
        await asyncio.sleep(0.05)
        with modules_handed("second") as handed:
            api.pod("second")
            await until(lambda: api.node_of("second"))
    text = ARCHITECTURE.read_text(encoding="utf-8").partition("## A pod's way")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\d+\. `([^`]+)`", text, re.MULTILINE))
    assert handed == listed
    assert len(listed) <= MOST_MODULES
