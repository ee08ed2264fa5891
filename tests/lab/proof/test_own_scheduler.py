"""Our scheduler inside a block: it leads when the block begins, and has ended in order when it ends."""

import pytest

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.identity import Identity
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.own_scheduler import running_scheduler


async def test_it_leads_within_the_block(local_cluster: LocalCluster) -> None:
    identity = load_identity(local_cluster.kubeconfig_for("longshore-scheduler"))
    async with Client(identity) as client:
        async with running_scheduler(client, "some-name") as service:
            assert service.is_leading
        assert not service.is_leading


async def test_what_does_not_let_it_start_is_raised() -> None:
    async with Client(Identity("http://127.0.0.1:1")) as client:
        with pytest.raises(LongshoreError, match=r"127\.0\.0\.1:1"):
            async with running_scheduler(client):
                pytest.fail("it must not come that far")
