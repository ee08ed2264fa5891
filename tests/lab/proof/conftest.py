"""A bare control plane for the proofs of the plugin, shared by their tests."""

from collections.abc import Callable, Iterator

import pytest

from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.plugin_process import PROGRAM
from longshore_lab.proof.live_oracle import cluster_without_controllers


@pytest.fixture(scope="session")
def built_plugin(built_programs: None, require_component: Callable[[str, str, bool], None]) -> None:
    """Answer a missing kube-scheduler of ours as any missing component: skip, or fail in CI."""
    require_component(PROGRAM, build.BUILD_COMMAND, build.program_path(PROGRAM).is_file())


@pytest.fixture(scope="session")
def plugin_cluster(built_plugin: None) -> Iterator[LocalCluster]:
    """Give a cluster with stock kube-scheduler and without controllers; each proof clears away what it puts there."""
    with cluster_without_controllers() as cluster:
        yield cluster
