"""The oracle as a child process: cases go in by one pipe, upstream's answers come out by the other."""

import subprocess
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Any

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore_lab.build import require_program


class Status(msgspec.Struct, frozen=True):
    """A verdict of upstream's framework."""

    plugin: str
    code: str
    reasons: list[str]


class Scores(msgspec.Struct, frozen=True):
    """One plugin's scores by node, before and after normalisation."""

    raw: dict[str, int]
    normalized: dict[str, int]


class Answer(msgspec.Struct, frozen=True):
    """What upstream says about a case."""

    id: int | None
    """The case's own; none where the case could not be read that far."""
    nodes: dict[str, Status | None]
    scores: dict[str, Scores]
    totals: dict[str, int]
    prefilter: Status | None = None
    error: str | None = None
    seconds: float | None = None
    """What upstream's filter and score phases took, where the oracle was asked to time them."""


class Oracle:
    """A running oracle; use it as a context manager."""

    def __init__(self, *, is_timed: bool = False) -> None:
        command = [str(require_program("oracle")), "-workers", "1", *(["-timed"] if is_timed else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._decoder = msgspec.json.Decoder(Answer)

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def ask(self, cases: Sequence[bytes]) -> Iterator[Answer]:
        """Send cases (one JSON object each) and yield the answers in the same order.

        The sending starts at once, beside the caller, so that upstream works while the caller computes its own answers.
        """
        stdin, stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        sender = threading.Thread(target=_send, args=(stdin, cases), daemon=True)
        sender.start()
        return self._receive(stdout, sender, len(cases))

    def _receive(self, stdout: IO[bytes], sender: threading.Thread, count: int) -> Iterator[Answer]:
        for _ in range(count):
            line = stdout.readline()
            if not line:
                self._process.kill()
                reason = self._process.communicate()[1].decode(errors="replace")[-2000:]
                raise LongshoreError(f"the oracle ended before it answered every case: {reason or 'no message'}")
            yield self._decoder.decode(line)
        sender.join()


def _send(stdin: IO[bytes], cases: Sequence[bytes]) -> None:
    try:
        for case in cases:
            stdin.write(case + b"\n")
        stdin.flush()
    except (BrokenPipeError, ValueError):
        return  # ended, or closed meanwhile: the reading side sees that too, and says why


def _pipe(pipe: Any) -> IO[bytes]:
    assert pipe is not None  # Popen was asked for both pipes
    return pipe  # type: ignore[no-any-return]
