"""A scheduler as a process that can be killed, and is started again when it dies, as a Deployment does."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from longshore.core.words.errors import LongshoreError
from longshore_lab.proof.failpoints import VARIABLE

_COMMAND = (sys.executable, "-m", "longshore_lab.proof.failpoints", "schedule")
_RESTART_SECONDS = 0.2
_POLL_SECONDS = 0.02
_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
SCHEDULES, WAITS = "scheduling pods with", "waiting to take over"
"""What it says when it decides, and when another holds the lease."""


class SupervisedProcess:
    """One replica of any scheduler under a supervisor."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str], once: Mapping[str, str]
    ) -> None:
        """Take what is started.

        Args:
            command: the program with its arguments.
            log: where what it says is added to.
            environment: added to our own.
            once: the same for the first start only.
        """
        self._command, self._log = command, log
        self._environment, self._once = environment, once
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self.died_at: list[float] = []
        """When a process ended without being asked to, by the monotonic clock."""

    async def start(self, says: str = SCHEDULES) -> None:
        """Start it and wait until it says something."""
        offset = self._log.stat().st_size if self._log.exists() else 0
        self._supervisor = asyncio.create_task(self._supervise())
        ends = time.monotonic() + _READY_SECONDS
        while says not in self.said(offset):
            if time.monotonic() > ends or self._supervisor.done():
                raise LongshoreError(f"the scheduler did not say `{says}`: {self.said(offset)[-2000:]}")
            await asyncio.sleep(_POLL_SECONDS)

    def said(self, offset: int = 0) -> str:
        """Return what it has said from a place of the log on."""
        if not self._log.exists():
            return ""
        with self._log.open("rb") as file:
            file.seek(offset)
            return file.read().decode("utf-8", "replace")

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        assert self._process is not None
        self._process.kill()

    def pause(self) -> None:
        """Stop the process in its tracks."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def stop(self) -> None:
        """End it in order."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise LongshoreError(f"the scheduler did not end in order: {self.said()[-2000:]}") from None

    async def _supervise(self) -> None:
        """Start it again whenever it dies; what killed it first does so once."""
        once = self._once
        while True:
            environment = {**os.environ, **self._environment, **once}
            with self._log.open("ab") as output:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=environment
                )
            await self._process.wait()
            self.died_at.append(time.monotonic())
            once = {}
            await asyncio.sleep(_RESTART_SECONDS)


class SchedulerProcess(SupervisedProcess):
    """One replica of `longshore schedule`."""

    def __init__(
        self,
        kubeconfig: Path,
        log: Path,
        *,
        elects_leader: bool,
        failpoint: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        command = [*_COMMAND, f"--kubeconfig={kubeconfig}", "--store=none"]
        if not elects_leader:
            command.append("--no-leader-elect")
        super().__init__(command, log, {VARIABLE: "", **(environment or {})}, {VARIABLE: failpoint})
