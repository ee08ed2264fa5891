"""What a scene takes note of: who waited when it happened, and when they were bound."""

import time
from pathlib import Path

import pytest

from longshore_lab.proof.pod_watch import PodWatch, Sighting
from longshore_lab.proof.scene import Scene


@pytest.fixture
def scene() -> Scene:
    watch = PodWatch()
    now = time.monotonic()
    watch.sightings = {
        "early": Sighting("mine/a", ["n"], now - 5.0),
        "waits": Sighting("mine/b"),
        "other": Sighting("other/c"),
    }
    return Scene(None, None, watch, "mine", 3, elects_leader=False, uids=["early", "waits"])


def test_pods_of_the_scene_that_were_not_bound_waited_also_those_still_to_come(scene: Scene) -> None:
    scene.strike()
    assert scene.num_waiting == 2
    assert (scene.num_bound, scene.num_bound_since()) == (1, 0)
    scene.watch.sightings["waits"].nodes.append("n")
    assert scene.num_bound_since() == 1


def test_a_pod_that_was_bound_after_the_strike_was_waiting(scene: Scene) -> None:
    scene.strike(at=time.monotonic() - 10.0)
    assert scene.num_waiting == 3


def test_recovery_is_over_when_the_last_pod_is_bound(scene: Scene) -> None:
    scene.strike()
    assert scene.recovery_seconds() == float("inf")
    scene.watch.sightings["waits"].bound_at = scene.struck_at + 3.0
    assert scene.recovery_seconds() == 3.0


def test_an_outage_is_timed(scene: Scene, tmp_path: Path) -> None:
    scene.strike(at=time.monotonic() - 2.0)
    scene.is_back()
    assert 2.0 <= scene.outage_seconds < 3.0
