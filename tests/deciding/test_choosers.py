"""A policy by what the user calls it: names win, folders work, weights go with a folder, the rest is answered."""

from pathlib import Path

import numpy as np
import pytest

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.deciding.choosers import find_chooser
from longshore.filters import feasible, filter_set
from longshore.policies import REGISTRY
from longshore.policies.bundle_folder import write_folder
from support.bundle_samples import make_dial, make_policy
from support.uniform import device_clusters


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_names_run_behind_upstream_filters_and_bundles_behind_their_own():
    write_folder(Path("runs/mine"), make_policy())
    assert find_chooser("kube-default").filters == filter_set("upstream")
    assert find_chooser("runs/mine").filters == filter_set("upstream+latency")


def test_filters_that_are_given_count_for_both():
    write_folder(Path("mine"), make_policy())
    assert find_chooser("kube-default", "upstream+latency").filters == filter_set("upstream+latency")
    assert find_chooser("mine", "upstream").filters == filter_set("upstream")


def test_a_name_wins_over_a_folder():
    write_folder(Path("random"), make_policy())
    assert find_chooser("random").heuristic is REGISTRY.load("random")
    assert find_chooser("./random").heuristic is not REGISTRY.load("random")


def test_bundles_are_called_by_their_folders():
    write_folder(Path("runs/a"), make_policy())
    write_folder(Path("runs/b"), make_policy())
    assert [find_chooser(text).name for text in ("runs/a", "runs/b/")] == ["runs/a", "runs/b"]


def test_weights_go_behind_the_folder():
    write_folder(Path("dial"), make_dial())
    chooser = find_chooser("dial/@watts=3+latency=1")
    assert chooser.name == "dial@watts=3+latency=1"
    cluster = device_clusters(1)[0]
    pod_class = np.asarray(cluster.pod_class)
    mask = feasible(cluster.uniform, pod_class)
    found = chooser.heuristic.score(cluster.uniform, pod_class, mask)
    assert not np.allclose(found, find_chooser("dial").heuristic.score(cluster.uniform, pod_class, mask))


def test_a_folder_whose_name_looks_like_weights_is_a_folder():
    write_folder(Path("dial@watts=1"), make_policy())
    assert find_chooser("dial@watts=1").name == "dial@watts=1"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("runs/none", "no policy and no folder of that name\nhint: `longshore list policies`"),
        ("kube-defalt", "no policy and no folder of that name\nhint: did you mean `kube-default`?"),
        ("x" * 5000, "no policy and no folder"),
        ("dial@watts=1+watts=2", "got the preference `watts=1+watts=2`, expected each term once"),
        ("dial@watts=much", "got the preference `watts=much`, expected `term=weight`"),
        ("dial@wats=1", "got the preference `wats`"),
        (".", "has no `policy.json`"),
    ],
)
def test_what_is_neither_is_answered(text: str, want: str):
    write_folder(Path("dial"), make_dial())
    with pytest.raises(InputError) as caught:
        find_chooser(text)
    assert want in str(caught.value)


def test_an_unknown_filter_set_of_a_bundle_is_refused():
    write_folder(Path("mine"), make_policy(filters="upstraem"))
    with pytest.raises(UnknownNameError, match="did you mean `upstream`"):
        find_chooser("mine")
