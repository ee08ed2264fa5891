"""Scripted watch streams that go wrong: after each, the cache equals a fresh list."""

import asyncio
from collections.abc import Callable

import pytest

from support.kube_follower import Follower, following, fresh
from support.kube_server import Answer, ApiServer, Frames, error_event, event, running, status, until


@pytest.fixture
def server() -> ApiServer:
    made = ApiServer()
    for name in ("a", "b", "c"):
        made.put(name)
    return made


def happenings(server: ApiServer) -> list[bytes]:
    """Let something happen, and return the lines that a watch would send about it."""
    lines = [
        event("ADDED", server.put("d")),
        event("MODIFIED", server.put("a", nodeName="node-1")),
        event("DELETED", server.delete("b")),
        event("ADDED", server.put("b", nodeName="node-2")),
        event("MODIFIED", server.put("a", nodeName="node-1", priority=7)),
        event("DELETED", server.delete("c")),
    ]
    server.bookmark()
    return lines


async def watched_as(
    follower: Follower, frames: Callable[[list[bytes]], tuple[bytes, ...]], ending: str = "freeze"
) -> None:
    """Let something happen that a synced follower learns from a scripted watch."""
    await follower.catches_up()
    server = follower.server
    await server.stop()
    lines = happenings(server)
    assert follower.cache.snapshot() != fresh(server).snapshot()
    server.scripted_watches.append(Frames(frames(lines), ending))
    await server.start()


async def test_cache_is_right_after_reordered_events(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await watched_as(follower, lambda lines: tuple(reversed(lines)))
        await follower.catches_up()
        assert follower.num_lists <= 2  # a version that goes back may be that of a store that was set back


async def test_cache_is_right_after_duplicated_events(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await watched_as(follower, lambda lines: (*lines, *lines, lines[0], lines[2]))
        await follower.catches_up()
        assert follower.num_lists <= 2


async def test_cache_is_right_after_dropped_events_and_a_new_list(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await watched_as(follower, lambda lines: (lines[0], lines[4], error_event(410, "Expired")), "close")
        await follower.catches_up()
        assert follower.num_lists == 2


async def test_cache_is_right_after_a_frozen_stream(server: ApiServer) -> None:
    server.scripted_watches.append(Frames((), "freeze"))
    options = {"lists_by_stream": False, "idle_seconds": 0.05}
    async with running(server), following(server, **options) as follower:
        await until(lambda: follower.num_lists == 1)
        server.put("d")
        await follower.catches_up()
        assert len(follower.waits) >= 1


async def test_cache_is_right_after_410_as_an_answer(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        happenings(server)
        server.compact()
        await server.start()
        await follower.catches_up()
        assert follower.num_lists == 2


async def test_cache_is_right_after_410_as_an_event(server: ApiServer) -> None:
    async with running(server), following(server, lists_by_stream=False) as follower:
        server.scripted_watches.append(Frames((error_event(410, "Expired"),)))
        await until(lambda: follower.num_lists == 1)
        happenings(server)
        await follower.catches_up()
        assert follower.num_lists == 2
        assert follower.waits == [0.0], "a server that only keeps no longer history is asked again at once"


async def test_a_server_that_starts_again_is_not_waited_for_long(server: ApiServer) -> None:
    """Away for three tries, it then refuses for a moment (RBAC has read no rules) and has no history."""
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        await until(lambda: len(follower.waits) >= 4)
        happenings(server)
        server.compact()
        server.scripted_watches.append(Answer(403, status(403, "Forbidden")))
        num_away = len(follower.waits)
        await server.start()
        await follower.catches_up()
        assert max(follower.waits) <= 4.0, "no connection, no load: tries stay frequent"
        refused, gone = follower.waits[-2:]
        assert len(follower.waits) > num_away
        assert refused <= 1.6, "the count starts anew once it answers"
        assert gone == 0.0


async def test_a_server_that_has_no_history_twice_is_waited_for(server: ApiServer) -> None:
    expired = (error_event(410, "Expired"),)
    server.scripted_watches += [Frames(expired, "close"), Frames(expired, "close")]
    async with running(server), following(server, lists_by_stream=False) as follower:
        await until(lambda: len(follower.waits) >= 2)
        await follower.catches_up()
        assert follower.waits[0] == 0.0
        assert follower.waits[1] > 0.5


async def test_cache_is_right_after_429_and_its_wait_is_kept(server: ApiServer) -> None:
    busy = Answer(429, status(429, "TooManyRequests"), {"Retry-After": "7"})
    server.scripted_watches.append(busy)
    async with running(server), following(server, lists_by_stream=False) as follower:
        await until(lambda: follower.num_lists == 1)
        happenings(server)
        await follower.catches_up()
        assert follower.waits == [7.0]
        assert follower.num_lists == 1


@pytest.mark.parametrize(
    "garbage",
    [b"{not json}\n", b"\xff\xfe\n", b'{"type":"ADDED"}\n', b'["x"]\n', b'{"type":"PARTY","object":{}}\n'],
    ids=["no JSON", "no text", "no object", "no event", "an unknown event"],
)
async def test_cache_is_right_after_malformed_lines(server: ApiServer, garbage: bytes) -> None:
    async with running(server), following(server) as follower:
        await watched_as(follower, lambda lines: (lines[0], garbage, lines[1]))
        await follower.catches_up()
        assert follower.num_lists == 2


async def test_cache_is_right_after_a_malformed_list(server: ApiServer) -> None:
    server.scripted_lists.append(Answer(200, b'{"metadata":{},"items":[{"metadata":{"name":"gho'))
    async with running(server), following(server, lists_by_stream=False) as follower:
        await follower.catches_up()
        assert len(follower.waits) == 1


async def test_cache_is_right_after_a_reset_in_the_middle_of_a_line(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await watched_as(follower, lambda lines: (lines[0], lines[1][:40]), "reset")
        await follower.catches_up()
        assert follower.num_lists == 1, "what was cut off is asked for again, and nothing else"


async def test_cache_is_right_after_a_reset_in_the_middle_of_a_streaming_list(server: ApiServer) -> None:
    first = event("ADDED", server.objects["a"])
    server.scripted_watches.append(Frames((first, first[:20]), "reset"))
    async with running(server), following(server) as follower:
        await follower.catches_up()
        assert follower.num_lists == 1


async def test_cache_is_right_after_a_restart_with_a_kept_history(server: ApiServer) -> None:
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        happenings(server)
        await server.start()
        await follower.catches_up()
        assert follower.num_lists == 1


@pytest.mark.parametrize("happens", [True, False])
async def test_cache_is_right_after_the_store_was_set_back(server: ApiServer, happens: bool) -> None:
    """A real server sends no older bookmark, and to a watch from a version that it does not know yet nothing at all."""
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        server.version = 50
        server.history.clear()
        del server.objects["b"]
        await server.start()
        if happens:
            server.put("z")
        await follower.catches_up()
        assert follower.num_lists >= 2


async def test_cache_is_right_after_a_store_set_back_that_refuses_everybody_at_first(server: ApiServer) -> None:
    """As an API server does that has not read who may do what."""
    async with running(server), following(server) as follower:
        await follower.catches_up()
        await server.stop()
        server.version = 50
        server.history.clear()
        del server.objects["b"]
        server.scripted_lists.extend([Answer(403, status(403, "Forbidden"))] * 2)
        await server.start()
        await follower.catches_up()
        assert follower.num_lists >= 2


async def test_changes_during_faults_are_not_lost(server: ApiServer) -> None:
    """All faults one after the other, with changes between them."""
    faults = [
        Frames((b"nonsense\n",)),
        Answer(503, b"<html>no server behind the proxy</html>"),
        Frames((error_event(410, "Expired"),)),
        Answer(429, status(429, "TooManyRequests"), {"Retry-After": "1"}),
        Frames((b'{"type":"MODI',), "reset"),
        Frames((error_event(500, "InternalError"),)),
    ]
    async with running(server), following(server, idle_seconds=0.2) as follower:
        await follower.catches_up()
        for i, fault in enumerate(faults):
            server.scripted_watches.append(fault)
            await server.stop()
            server.put(f"new-{i}")
            server.put("a", priority=i)
            await server.start()
            await until(lambda: not server.scripted_watches)
            await asyncio.sleep(0)
        await follower.catches_up()
