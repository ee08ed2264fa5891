"""Who may read metrics: what is asked of the API server, how often, and what a real one says."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError, Forbidden, Unreachable
from longshore.kube.identity import Identity
from longshore.kube.reviews import Reviewer, Verdict, may_i
from longshore_lab.cluster import LocalCluster
from support.http_server import HttpServer

USER = {"username": "system:serviceaccount:monitoring:prometheus", "groups": ["a"], "extra": {"k": ["v"]}}


class Api:
    """Knows one token, and what its owner may do."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.is_allowed = True
        self.refusal: int | None = None
        self.delay = 0.0

    async def answer(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.delay)
        body = await request.json()
        self.asked.append(body)
        if self.refusal is not None:
            return web.json_response({"kind": "Status", "message": "no"}, status=self.refusal)
        if body["kind"] == "TokenReview":
            is_known = body["spec"]["token"] == "good"
            return web.json_response({"status": {"authenticated": is_known, "user": USER if is_known else {}}})
        return web.json_response({"status": {"allowed": self.is_allowed}})


@contextlib.asynccontextmanager
async def reviewing(api: Api) -> AsyncIterator[tuple[Reviewer, list[float]]]:
    app = web.Application()
    app.router.add_post("/{path:.*}", api.answer)
    server = HttpServer(app)
    await server.start()
    clock = [0.0]
    try:
        async with Client(Identity(f"http://127.0.0.1:{server.port}")) as client:
            yield Reviewer(client, now=lambda: clock[0]), clock
    finally:
        await server.stop()


async def test_the_owner_of_the_token_is_asked_about() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, _):
        assert await reviewer.review("good", "get", "/metrics") is Verdict.GRANTED
    token, access = api.asked
    assert token["spec"] == {"token": "good"}
    assert access["spec"] == {
        "user": USER["username"],
        "uid": "",
        "groups": ["a"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_an_unknown_token_is_nobody_s_and_asks_no_further() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, _):
        assert await reviewer.review("bad", "get", "/metrics") is Verdict.UNKNOWN
    assert [one["kind"] for one in api.asked] == ["TokenReview"]


async def test_an_answer_is_kept_for_ten_seconds_and_no_longer() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, clock):
        assert await reviewer.review("good", "get", "/metrics") is Verdict.GRANTED
        api.is_allowed = False
        clock[0] = 9.9
        assert await reviewer.review("good", "get", "/metrics") is Verdict.GRANTED
        clock[0] = 10.1
        assert await reviewer.review("good", "get", "/metrics") is Verdict.FORBIDDEN


async def test_an_answer_for_one_path_and_verb_says_nothing_about_others() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, _):
        assert await reviewer.review("good", "get", "/metrics") is Verdict.GRANTED
        api.is_allowed = False
        assert await reviewer.review("good", "get", "/models") is Verdict.FORBIDDEN
        assert await reviewer.review("good", "post", "/metrics") is Verdict.FORBIDDEN
    attributes = [one["spec"]["nonResourceAttributes"] for one in api.asked if one["kind"] != "TokenReview"]
    assert attributes[1:] == [{"path": "/models", "verb": "get"}, {"path": "/metrics", "verb": "post"}]


async def test_tokens_that_nobody_knows_do_not_pile_up() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, _):
        for number in range(300):
            await reviewer.review(f"bad-{number}", "get", "/metrics")
        assert len(reviewer._kept) <= 256


async def test_who_asks_much_has_few_questions_under_way() -> None:
    api = Api()
    api.delay = 0.05
    async with reviewing(api) as (reviewer, _):
        async with asyncio.timeout(30):
            await asyncio.gather(*(reviewer.review("good", "get", "/metrics") for _ in range(20)))
        assert len(api.asked) <= 8, "those that wait find the answer that is there by then"


async def test_an_api_server_that_says_no_is_no_verdict_and_is_asked_again() -> None:
    api = Api()
    async with reviewing(api) as (reviewer, _):
        api.refusal = 403
        with pytest.raises(Forbidden):
            await reviewer.review("good", "get", "/metrics")
        api.refusal = None
        assert await reviewer.review("good", "get", "/metrics") is Verdict.GRANTED


async def test_an_api_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longshore.kube.reviews._TIMEOUT_SECONDS", 0.2)
    api = Api()
    api.delay = 30.0
    async with reviewing(api) as (reviewer, _):
        with pytest.raises(Unreachable):
            await asyncio.wait_for(reviewer.review("good", "get", "/metrics"), 20)


async def test_a_real_api_server_says_who_may(local_cluster: LocalCluster, cluster_namespace: str) -> None:
    """The asker's rights are upstream's `system:auth-delegator`; without them nobody gets an answer."""
    name = f"metrics-{cluster_namespace}"
    role = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    local_cluster.kubectl("create", "-f", "-", stdin=json.dumps({**kind, "metadata": {"name": name}, "rules": [role]}))
    account = f"--serviceaccount={cluster_namespace}:reader"
    local_cluster.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", account)
    tokens = {}
    for each in ("reader", "somebody"):
        local_cluster.kubectl("-n", cluster_namespace, "create", "serviceaccount", each)
        tokens[each] = local_cluster.kubectl("-n", cluster_namespace, "create", "token", each).strip()
    async with Client(load_identity(local_cluster.kubeconfig_for("longshore-plugin"))) as client:
        reviewer = Reviewer(client)
        assert await reviewer.review(tokens["reader"], "get", "/metrics") is Verdict.GRANTED
        assert await reviewer.review(tokens["somebody"], "get", "/metrics") is Verdict.FORBIDDEN
        assert await reviewer.review("nobody", "get", "/metrics") is Verdict.UNKNOWN
    async with Client(load_identity(local_cluster.kubeconfig_for("longshore-scheduler"))) as client:
        with pytest.raises(ApiError):
            await Reviewer(client).review(tokens["reader"], "get", "/metrics")


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_own_rights_are_asked_for(is_allowed: bool) -> None:
    api = Api()
    api.is_allowed = is_allowed
    async with reviewing(api) as (reviewer, _):
        assert await may_i(reviewer._client, "create", "pods/binding") is is_allowed
    (asked,) = api.asked
    assert asked["kind"] == "SelfSubjectAccessReview"
    wish = asked["spec"]["resourceAttributes"]
    assert wish == {"verb": "create", "resource": "pods", "subresource": "binding"}
