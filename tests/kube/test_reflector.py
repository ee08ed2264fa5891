"""The reflector: lists in pages or by a stream, watches that go on where they ended, the pace of its retries."""

import asyncio
import random

import pytest

from longshore.kube import errors
from longshore.kube.client import Client
from longshore.kube.identity import Identity
from longshore.kube.reflector import Reflector, Stage, run_reflectors
from longshore.kube.resources import PODS
from support.kube_follower import following
from support.kube_server import Answer, ApiServer, Frames, event, running, status, until


def server_with(*names: str, **options: bool) -> ApiServer:
    server = ApiServer(**options)
    for name in names:
        server.put(name)
    return server


async def test_reflector_lists_by_a_stream_and_watches_on_it() -> None:
    async with running(server_with("a", "b", "c")) as server, following(server) as follower:
        await follower.catches_up()
        server.put("d")
        server.put("a", nodeName="n")
        server.delete("b")
        await follower.catches_up()
        assert len(server.requests) == 1
        assert server.requests[0]["sendInitialEvents"] == "true"
        assert server.requests[0]["resourceVersionMatch"] == "NotOlderThan"


async def test_reflector_lists_by_pages_where_streams_are_refused() -> None:
    async with running(server_with("a", "b", "c", has_streaming_lists=False)) as server, following(server) as follower:
        await follower.catches_up()
        server.put("d")
        await follower.catches_up()
        lists = [query for query in server.requests if "watch" not in query]
        assert [query.get("continue") for query in lists] == [None, "103:2"]
        assert {query["limit"] for query in lists} == {"2"}
        assert follower.waits == []


async def test_reflector_asks_only_for_pods_that_have_not_ended() -> None:
    async with running(server_with("a")) as server, following(server, lists_by_stream=False) as follower:
        await follower.catches_up()
        await until(lambda: len(server.requests) == 2)
        selectors = {query["fieldSelector"] for query in server.requests}
        assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}


async def test_reflector_starts_the_list_again_when_its_token_expires() -> None:
    async with running(server_with("a", "b", "c")) as server, following(server, lists_by_stream=False) as follower:
        server.scripted_lists.append(Answer(200, b'{"metadata":{"resourceVersion":"1","continue":"1:2"},"items":[]}'))
        server.compact()
        await follower.catches_up()
        assert [batch.stage for batch in follower.batches].count(Stage.LIST_BEGINS) == 2
        assert follower.num_lists == 1


async def test_reflector_goes_on_from_the_last_event_after_a_watch_ends() -> None:
    server = server_with("a")
    async with running(server), following(server, lists_by_stream=False) as follower:
        newer = server.put("b")
        server.scripted_watches.append(Frames((event("ADDED", newer),)))
        await follower.catches_up()
        await until(lambda: len(server.requests) == 3)
        assert server.requests[2]["resourceVersion"] == newer["metadata"]["resourceVersion"]
        assert follower.num_lists == 1


def watches(server: ApiServer) -> list[dict[str, str]]:
    """Return the requests for a watch so far."""
    return [query for query in server.requests if "watch" in query]


async def test_reflector_goes_on_from_the_last_bookmark() -> None:
    server = server_with("a")
    async with running(server), following(server) as follower:
        await follower.catches_up()
        server.version += 50
        server.bookmark()
        await until(lambda: follower.batches[-1].resource_version == str(server.version))
        await server.stop()
        await server.start()
        await until(lambda: len(watches(server)) == 2)
        assert watches(server)[1]["resourceVersion"] == str(server.version)


async def test_reflector_asks_for_watches_of_random_length() -> None:
    async with running(server_with("a")) as server, following(server, lists_by_stream=False) as follower:
        server.scripted_watches.extend([Frames(()), Frames(())])
        await until(lambda: len(watches(server)) == 3)
        lengths = {int(query["timeoutSeconds"]) for query in watches(server)}
        assert len(lengths) > 1
        assert all(300 <= length <= 600 for length in lengths)
        await follower.catches_up()


async def test_reflector_waits_longer_after_each_failure_up_to_a_limit() -> None:
    async with running(server_with("a")) as server, following(server) as follower:
        server.scripted_watches.extend([Answer(500, status(500, "InternalError"))] * 9)
        await follower.catches_up()
        assert len(follower.waits) == 9
        for i, wait in enumerate(follower.waits):
            base = min(0.8 * 2**i, 30.0)
            assert base <= wait <= 2 * base


async def test_reflector_waits_little_again_after_a_success() -> None:
    async with running(server_with("a")) as server, following(server) as follower:
        server.scripted_watches.extend([Answer(500, status(500, "InternalError"))] * 6)
        await follower.catches_up()
        server.scripted_watches.append(Answer(500, status(500, "InternalError")))
        await server.stop()
        await server.start()
        await until(lambda: len(follower.waits) >= 7)
        assert follower.waits[6] <= 1.6


async def test_reflector_waits_little_again_after_a_long_silence() -> None:
    now = [0.0]
    server = server_with("a")
    async with running(server), following(server, lists_by_stream=False, now=lambda: now[0]) as follower:
        server.scripted_watches.extend([Answer(500, status(500, "InternalError"))] * 6)
        await until(lambda: len(server.requests) == 8)
        now[0] += 121.0
        await server.stop()
        await server.start()
        await until(lambda: len(follower.waits) >= 7)
        assert follower.waits[6] <= 1.6


async def test_reflector_knocks_often_at_a_server_that_does_not_listen() -> None:
    server = server_with("a")
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        await until(lambda: len(follower.waits) > 12)
        assert max(follower.waits) <= 10.0
        await server.start()
        await follower.catches_up()


@pytest.mark.parametrize(("code", "wanted"), [(401, errors.Unauthorized), (403, errors.Forbidden)])
async def test_reflector_gives_up_where_it_may_not_list(code: int, wanted: type[errors.ApiError]) -> None:
    async with running(server_with("a")) as server, Client(Identity(server.url)) as client:
        server.scripted_watches.append(Answer(code, status(code, "No", "pods is forbidden: User longshore")))
        with pytest.raises(wanted, match="pods is forbidden"):
            await run_reflectors([Reflector(client, PODS, lambda batch: None)])


async def test_reflector_goes_on_when_rights_are_taken_away_later() -> None:
    async with running(server_with("a")) as server, following(server) as follower:
        await follower.catches_up()
        server.scripted_watches.extend([Answer(403, status(403, "Forbidden"))] * 2)
        await server.stop()
        await server.start()
        server.put("b")
        await follower.catches_up()


async def test_reflector_gives_out_objects_that_it_cannot_read_with_the_reason() -> None:
    server = server_with("good")
    server.put("odd", priority="high")
    for by_stream in (True, False):
        async with running(server), following(server, lists_by_stream=by_stream, page_size=5) as follower:
            await until(lambda: follower.cache.is_synced("Pod"))
            odd = follower.cache.pod("default/odd")
            assert odd is not None
            assert "priority" in (odd.error or "")
            assert follower.cache.pod("default/good").pod is not None


async def test_reflectors_end_together() -> None:
    ended = []

    class Endless(Reflector):
        async def run(self) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(self.resource.name)

    class Failing(Reflector):
        async def run(self) -> None:
            raise errors.Forbidden(403, "Forbidden", "no")

    arguments = (None, PODS, lambda batch: None)
    with pytest.raises(errors.Forbidden):
        await run_reflectors([Endless(*arguments), Failing(*arguments, rng=random.Random(0))])
    assert ended == ["pods"]


async def test_silence_is_measured_and_ends_with_any_word() -> None:
    now = [0.0]
    async with running(server_with("a")) as server, following(server, now=lambda: now[0]) as follower:
        await follower.catches_up()
        now[0] = 50.0
        assert follower.reflector.silent_seconds == 50
        server.bookmark()
        await until(lambda: follower.reflector.silent_seconds == 0, "that a bookmark is a word")
