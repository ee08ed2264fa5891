"""Answers of the API server as errors."""

import pickle

import pytest

from longshore.kube import errors


def answered(code: int, reason: str = "Why", retry_after: str | None = None) -> errors.ApiError:
    body = f'{{"kind":"Status","message":"the sentence","reason":"{reason}","code":{code}}}'.encode()
    return errors.from_answer(code, body, "GET /api/v1/pods", retry_after)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, errors.ApiError),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.Gone),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.ApiError),
    ],
)
def test_answers_have_a_type_of_their_own(code: int, kind: type[errors.ApiError]) -> None:
    error = answered(code, "Why")
    assert type(error) is kind
    assert (error.status, error.reason) == (code, "Why")
    assert "`GET /api/v1/pods` was answered with" in error.message
    assert "the sentence" in error.message


def test_answers_that_are_no_status_are_quoted() -> None:
    error = errors.from_answer(502, b"<html>\xff bad gateway</html>", "GET /x")
    assert "bad gateway" in error.message


@pytest.mark.parametrize(("header", "want"), [("7", 7.0), (None, None), ("Wed, 21 Oct", None), ("9" * 40, None)])
def test_retry_after_is_read_from_the_header(header: str | None, want: float | None) -> None:
    error = answered(429, retry_after=header)
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == want


def test_retry_after_is_read_from_the_status() -> None:
    body = b'{"code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":3}}'
    error = errors.from_answer(429, body, "GET /x")
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 3.0


def test_errors_say_whether_a_write_may_have_happened() -> None:
    assert answered(504).may_have_happened
    assert not answered(409).may_have_happened
    assert errors.Unreachable("lost").may_have_happened
    assert not errors.Unreachable("refused", was_sent=False).may_have_happened


def test_missing_rights_come_with_a_hint() -> None:
    assert "deploy/rbac.yaml" in str(answered(403))


def test_errors_travel_between_processes() -> None:
    again = pickle.loads(pickle.dumps(answered(429, retry_after="7")))
    assert isinstance(again, errors.TooManyRequests)
    assert again.retry_after == 7.0
