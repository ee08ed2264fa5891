"""Which requests a disturbance takes; what it does to them is seen through the proxy."""

import pytest

from longshore_lab.proof.api_call import ApiCall, Calls
from longshore_lab.proof.disturbances import Disturbance, HistoryGone, Refused

LIST, BINDING = ApiCall("list", "pods"), ApiCall("create", "pods", "binding", "a", "p")


@pytest.mark.parametrize(
    ("disturbance", "expected"),
    [
        (Disturbance(), [True] * 5),
        (Disturbance(Calls(("list",))), [False] * 5),
        (Disturbance(limit=2), [True, True, False, False, False]),
        (Disturbance(one_in=2), [False, True, False, True, False]),
        (Disturbance(one_in=2, limit=1), [False, True, False, False, False]),
    ],
    ids=["all", "others", "the first two", "every second", "one of every second"],
)
def test_requests_that_are_taken(disturbance: Disturbance, expected: list[bool]) -> None:
    assert [disturbance.takes(BINDING) for _ in range(5)] == expected
    assert disturbance.count == sum(expected)


def test_requests_of_others_take_no_turn() -> None:
    disturbance = Disturbance(Calls(("create",)), one_in=2)
    assert [disturbance.takes(call) for call in (BINDING, LIST, BINDING)] == [False, False, True]


async def test_errors_look_as_the_servers_own() -> None:
    refused = await Refused(status=429, retry_after=3).before()
    assert refused is not None
    assert (refused.status, refused.headers) == (429, {"Retry-After": "3"})
    assert b'"reason":"TooManyRequests"' in refused.body
    gone = await HistoryGone().before()
    assert gone is not None
    assert (gone.status, gone.body[-2:]) == (200, b"}\n")
