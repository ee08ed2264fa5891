"""A policy by what the user calls it: names win, folders work, weights go with a folder, the rest is answered."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longshore.core.arrays.feature_table import SIMULATOR, Feature
from longshore.core.arrays.features import chosen
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.deciding.find import check_size, find_live_policy, find_policy
from longshore.filters import feasible
from longshore.policies import REGISTRY
from longshore.policies.bundle_folder import write_folder
from support.bundle_samples import make_bundle, make_dial, make_fixed
from support.uniform import device_clusters


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_names_run_behind_upstream_filters_and_bundles_behind_their_own():
    write_folder(Path("runs/mine"), make_bundle())
    assert find_policy("kube-default").filters == "upstream"
    assert find_policy("runs/mine").filters == "upstream+latency"


def test_filters_that_are_given_count_for_both():
    write_folder(Path("mine"), make_bundle())
    assert find_policy("kube-default", "upstream+latency").filters == "upstream+latency"
    assert find_policy("mine", "upstream").filters == "upstream"


def test_a_name_wins_over_a_folder():
    write_folder(Path("random"), make_bundle())
    assert find_policy("random").score is REGISTRY.load("random").score
    assert find_policy("./random").score is not REGISTRY.load("random").score


def test_bundles_are_called_by_their_folders():
    write_folder(Path("runs/a"), make_bundle())
    write_folder(Path("runs/b"), make_bundle())
    assert [find_policy(text).name for text in ("runs/a", "runs/b/")] == ["runs/a", "runs/b"]


def test_a_live_policy_reads_its_bundle_once(monkeypatch: pytest.MonkeyPatch):
    write_folder(Path("mine"), make_bundle())
    opened: list[str] = []
    plain_open = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *given: (opened.append(self.name), plain_open(self, *given))[1])
    find_live_policy("mine", waits_for_readings=True)
    assert sorted(opened) == ["policy.json", "weights.safetensors"]


def test_weights_go_behind_the_folder():
    write_folder(Path("dial"), make_dial())
    policy = find_policy("dial/@watts=3+latency=1")
    assert policy.name == "dial@watts=3+latency=1"
    cluster = device_clusters(1)[0]
    pod_class = np.asarray(cluster.pod_class)
    mask = feasible(cluster.uniform, pod_class)
    found = policy.score(cluster.uniform, pod_class, mask)
    assert not np.allclose(found, find_policy("dial").score(cluster.uniform, pod_class, mask))


def test_a_folder_whose_name_looks_like_weights_is_a_folder():
    write_folder(Path("dial@watts=1"), make_bundle())
    assert find_policy("dial@watts=1").name == "dial@watts=1"


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
        find_policy(text)
    assert want in str(caught.value)


def test_an_unknown_filter_set_of_a_bundle_is_refused():
    write_folder(Path("mine"), make_bundle(filters="upstraem"))
    with pytest.raises(UnknownNameError, match="did you mean `upstream`"):
        find_policy("mine")


def test_shipped_bundles_are_known_by_name():
    assert find_policy("openb").name == "openb"
    assert find_policy("openb@watts=1").name == "openb@watts=1"


def test_a_name_serves_any_cluster_and_has_no_version():
    policy = find_live_policy("kube-default")
    check_size(policy, 7)
    assert (policy.name, policy.version, policy.num_nodes) == ("kube-default", "", None)


def test_a_bundle_is_known_by_the_hash_of_its_document():
    write_folder(Path("a"), make_bundle())
    write_folder(Path("b"), make_bundle(name="other"))
    versions = {find_live_policy(text).version for text in ("a", "b", "a")}
    assert len(versions) == 2
    assert all(len(version) == 64 for version in versions)


def test_weights_behind_the_folder_work_live_too():
    write_folder(Path("dial"), make_dial())
    assert find_live_policy("dial@watts=3+latency=1").name == "dial@watts=3+latency=1"


def test_a_network_of_fixed_size_is_refused_on_another_cluster():
    write_folder(Path("fixed"), make_fixed(5))
    policy = find_live_policy("fixed")
    check_size(policy, 5)
    with pytest.raises(InputError, match="exactly 5 nodes, and the cluster has 6") as refused:
        check_size(policy, 6)
    assert refused.value.exit_code == 2


def test_a_feature_that_no_live_cluster_tells_is_refused(monkeypatch: pytest.MonkeyPatch):
    bundle = make_bundle()
    write_folder(Path("mine"), bundle)
    name = bundle.feature_names[0]
    found = chosen(bundle.feature_names)

    def elsewhere(names: tuple[str, ...]) -> tuple[Feature, ...]:
        return (replace(found[0], where=(SIMULATOR,)), *found[1:])

    monkeypatch.setattr("longshore.deciding.find.chosen", elsewhere)
    with pytest.raises(InputError, match=f"`{name}`, which a live cluster does not tell"):
        find_live_policy("mine")


def test_what_is_neither_is_answered_at_the_start_of_a_scheduler():
    with pytest.raises(InputError, match="no policy and no folder"):
        find_live_policy("models/none")


def test_a_live_policy_may_wait_for_readings_where_limits_count():
    write_folder(Path("mine"), make_bundle())
    assert find_live_policy("mine").filters == "upstream+latency"
    assert find_live_policy("mine", waits_for_readings=True).filters == "upstream+known-latency"
    with pytest.raises(InputError, match="latency limits do not count"):
        find_live_policy("kube-default", waits_for_readings=True)
