"""The bundles that the repository ships: they load, say what they are, and place pods without refusing any."""

from pathlib import Path

import jax
import numpy as np
import pytest

from longshore.policies import REGISTRY
from longshore.policies.bundle_folder import SHIPPED, find_bundles, read_folder
from longshore.policies.learned import learned
from longshore_studies.openb.filling import fill_all
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem, side_by_side
from studies.openb.tables.small_trace import TRACE, write_small_trace

jax.config.update("jax_enable_x64", True)
BUNDLES = find_bundles(SHIPPED)


def test_all_three_points_of_the_dial_are_there() -> None:
    assert [bundle.name for bundle in BUNDLES] == ["openb", "openb-nodes", "openb-power"]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_bundle_has_its_dial_at_one_end(bundle: Path) -> None:
    policy = read_folder(bundle)
    assert sorted(one.weight for one in policy.preference) == [0.0, 0.0, 1.0]
    assert policy.objective in [one.term for one in policy.preference if one.weight == 1.0]
    assert policy.name == bundle.name


def test_they_are_one_policy() -> None:
    first, *others = [read_folder(bundle) for bundle in BUNDLES]
    for other in others:
        assert other.ops == first.ops
        assert all(np.array_equal(leaf, other.tensors[name]) for name, leaf in first.tensors.items())


def test_on_a_cluster_they_never_saw_they_keep_their_promises(tmp_path: Path) -> None:
    folder = write_small_trace(tmp_path, num_nodes=40)
    problem = Problem(read_nodes(folder), read_pods(folder, TRACE))
    runs = side_by_side([problem.run(seed)[0] for seed in (1, 2, 3)])
    policies = {bundle.name: learned(read_folder(bundle)) for bundle in BUNDLES} | {"fgd": REGISTRY.load("fgd")}
    allocated, nodes_on = {}, {}
    for name, policy in policies.items():
        outcome = fill_all(policy, runs, problem.num_shares)
        assert not (np.asarray(outcome.had_room) & (np.asarray(outcome.node) < 0)).any()
        allocated[name] = np.asarray(outcome.milli).sum()
        nodes_on[name] = np.asarray(outcome.nodes_on)[:, : runs.pod_class.shape[1] // 4].sum()
    assert allocated["openb"] >= 0.98 * allocated["fgd"]
    assert nodes_on["openb-nodes"] < nodes_on["fgd"]
