"""A client that holds bindings back lets everything else pass."""

import pytest

from longshore.kube.errors import NotFound, Unreachable
from longshore.kube.identity import Identity
from longshore.kube.writes import bind
from longshore_lab.proof.held_client import HeldClient
from support.kube_server import ApiServer, running


async def test_bindings_are_held_until_they_are_let_go() -> None:
    server = ApiServer()
    async with running(server), HeldClient(Identity(server.url)) as client:
        with pytest.raises(Unreachable) as held:
            await bind(client, "ns", "p", "uid", "node-1")
        assert not held.value.may_have_happened
        assert client.targets == {"/api/v1/namespaces/ns/pods/p/binding": "node-1"}
        assert client.tried_at.keys() == {"node-1"}
        await client.request("GET", "/api/v1/pods")
        client.is_holding = False
        with pytest.raises(NotFound):  # it reaches the server, which has no such path
            await bind(client, "ns", "p", "uid", "node-1")
