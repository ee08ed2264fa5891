"""Policies for a live cluster: found by name or folder, refused where they cannot serve."""

from dataclasses import replace
from pathlib import Path

import pytest

from longshore.core.arrays import features
from longshore.core.words.errors import InputError
from longshore.deciding.live_policy import find_live_policy
from longshore.policies.bundle_folder import write_folder
from support.bundle_samples import make_dial, make_fixed, make_policy


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_name_serves_any_cluster_and_has_no_version():
    policy = find_live_policy("kube-default")
    policy.check_cluster(7)
    assert (policy.chooser.name, policy.version, policy.num_nodes) == ("kube-default", "", None)


def test_a_bundle_is_known_by_the_hash_of_its_document():
    write_folder(Path("a"), make_policy())
    write_folder(Path("b"), make_policy(name="other"))
    versions = {find_live_policy(text).version for text in ("a", "b", "a")}
    assert len(versions) == 2
    assert all(len(version) == 64 for version in versions)


def test_weights_behind_the_folder_work_too():
    write_folder(Path("dial"), make_dial())
    assert find_live_policy("dial@watts=3+latency=1").chooser.name == "dial@watts=3+latency=1"


def test_a_network_of_fixed_size_is_refused_on_another_cluster():
    write_folder(Path("fixed"), make_fixed(5))
    policy = find_live_policy("fixed")
    policy.check_cluster(5)
    with pytest.raises(InputError, match="exactly 5 nodes, and the cluster has 6") as refused:
        policy.check_cluster(6)
    assert refused.value.exit_code == 2


def test_a_feature_that_no_live_cluster_tells_is_refused(monkeypatch: pytest.MonkeyPatch):
    policy = make_policy()
    write_folder(Path("mine"), policy)
    name = policy.feature_names[0]
    found = features.chosen(policy.feature_names)

    def elsewhere(names: tuple[str, ...]) -> tuple[features.Feature, ...]:
        return (replace(found[0], where=(features.SIMULATOR,)), *found[1:])

    monkeypatch.setattr("longshore.deciding.live_policy.chosen", elsewhere)
    with pytest.raises(InputError, match=f"`{name}`, which a live cluster does not tell"):
        find_live_policy("mine")


def test_what_is_neither_name_nor_folder_is_answered():
    with pytest.raises(InputError, match="no policy and no folder"):
        find_live_policy("models/none")
