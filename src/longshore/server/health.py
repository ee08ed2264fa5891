"""Health, readiness and metrics of a process.

A check returns None when all is well, else a sentence; an answer lists the failing ones. Checks run in the event loop,
as what they look at lives there.
"""

from collections.abc import Callable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.responses import PlainTextResponse, Response

from longshore.server.application import Question

Check = Callable[[], str | None]
"""Returns None when all is well, else what is wrong, in a sentence."""
Checks = Mapping[str, Check]


async def healthz(checks: Checks, _: Question) -> Response:
    """Say whether the process works: `ok`, or 503 with what does not, so that it is restarted."""
    return _state(checks)


async def readyz(checks: Checks, _: Question) -> Response:
    """Say whether the process may be given work: `ok`, or 503 with what is missing."""
    return _state(checks)


def metrics(registry: CollectorRegistry, _: Question) -> Response:
    """Show the metrics in Prometheus' text format."""
    # In a thread: a large page takes as long as several decisions.
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _state(checks: Checks) -> Response:
    """Answer `ok`, or 503 with every check, the failing ones with their reasons."""
    results = {name: _ask(check) for name, check in checks.items()}
    if not any(results.values()):
        return PlainTextResponse("ok\n")
    lines = [f"[-] {name}: {reason}" if reason else f"[+] {name}" for name, reason in results.items()]
    return PlainTextResponse("\n".join(lines) + "\n", status_code=503)


def _ask(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that fails is an answer, and no reason to fail ourselves
        return f"the check failed: {type(error).__name__}: {error}"
