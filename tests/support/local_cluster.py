"""A real cluster for end-to-end tests: small, shared by the tests of one worker, and surely taken down again."""

import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from longshore.live.api import answers, call, until
from longshore_lab import build
from longshore_lab.cluster import ClusterOptions, LocalCluster, cluster_names, down, temporary

_TEST_NAME = re.compile(r"test-(\d+)-[0-9a-f]+")


def running_cluster(**options: Any) -> AbstractContextManager[LocalCluster]:
    """Give a cluster of one's own, for tests that break or fill it; `options` are those of ClusterOptions."""
    return temporary(ClusterOptions(name=f"test-{os.getpid()}-{uuid.uuid4().hex[:8]}", **options))


@contextmanager
def namespace_in(cluster: LocalCluster) -> Iterator[str]:
    """Give a new namespace in which pods can be created."""
    name = f"test-{uuid.uuid4().hex[:8]}"

    async def create(client: Any) -> None:
        await client.request(
            "POST",
            "/api/v1/namespaces",
            body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        )
        path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        assert await until(lambda: answers(client, path), 30.0)

    async def delete(client: Any) -> None:
        await client.request("DELETE", f"/api/v1/namespaces/{name}")

    call(cluster.kubeconfig, create)
    try:
        yield name
    finally:
        call(cluster.kubeconfig, delete)


def is_built() -> bool:
    """Say whether the programs of a cluster are there."""
    return all(build.program_path(name).is_file() for name in build.PROGRAMS) and build.stages_folder().is_dir()


@pytest.fixture(scope="session")
def built_programs(require_component: Callable[[str, str, bool], None]) -> None:
    """Answer missing programs as any missing component: skip, or fail in CI."""
    require_component("the programs of a cluster", build.BUILD_COMMAND, is_built())
    _clear_away_left_overs()


@pytest.fixture(scope="session")
def local_cluster(built_programs: None) -> Iterator[LocalCluster]:
    """Give a cluster with 5 KWOK nodes and stock kube-scheduler, shared: use a namespace of your own in it."""
    with running_cluster(nodes=5, node_cpu="16", node_memory="64Gi") as cluster:
        yield cluster


@pytest.fixture
def cluster_namespace(local_cluster: LocalCluster) -> Iterator[str]:
    """Give a new namespace in the shared cluster, deleted afterwards."""
    with namespace_in(local_cluster) as name:
        yield name


def _clear_away_left_overs() -> None:
    """Take down what a test run that was killed has left."""
    for name in cluster_names():
        found = _TEST_NAME.fullmatch(name)
        if found and not Path(f"/proc/{found.group(1)}").exists():
            down(name)
