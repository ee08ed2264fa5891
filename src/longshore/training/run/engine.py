"""Where jobs run: in this process, or on a Ray cluster that is there already.

A job is a pure function of plain values to plain values (bytes for tensors), so that one whose worker died is simply
done again, with the same result. While it runs it may report how far it is, and be told to stop. Nothing here imports
JAX: a worker has its settings before the job's own modules are read.
"""

import importlib
import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError

Values = dict[str, Any]
"""What goes into a job and comes out of it: what JSON can say, and bytes."""

Report = Callable[[int, float], bool]
"""(number of the step, value) -> whether to stop. A job that is done again reports the same steps again."""

Job = Callable[[Values, Report], Values]

Watch = Callable[[int, int, float], bool]
"""(ticket, number of the step, value) -> whether the job should stop."""

ENGINES = ("local", "ray")
# How often a job is done again whose worker died, and how often we look whether something was reported.
_RETRIES, _POLL_SECONDS = 3, 0.2
_KNOCK_SECONDS = 5.0
_HOW_TO_START = (
    "start one: `ray start --head` on one machine, `ray start --address HOST:6379` on the others, and give "
    "`--ray-address HOST:6379` if this machine is none of them; or leave `--engine ray` out"
)


class Finished(NamedTuple):
    """A job that came to its end."""

    ticket: int
    values: Values | None
    """None = it failed."""
    error: Exception | None


class Engine(Protocol):
    """Runs jobs."""

    @property
    def width(self) -> int:
        """How many run at once."""
        ...

    def start(self, job: Job, values: Values, watch: Watch | None = None) -> int:
        """Take a job, which runs when there is room; return its ticket."""
        ...

    def wait(self) -> Finished:
        """Wait until one of the jobs that were started is done; each is returned once."""
        ...

    def close(self) -> None:
        """Stop what is running, and let go of the workers."""
        ...


def make_engine(name: str, *, jobs: int | None = None, address: str = "auto", gpus_per_job: float = 0.0) -> Engine:
    """Return an engine by its name; `jobs` is how many run at once, None = one here, as many as fit on Ray.

    Raises:
        UnknownNameError: there is no such engine.
        LongshoreError: there is no Ray, or no cluster.
    """
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    if jobs is not None and jobs < 1:
        raise InputError(f"got {jobs} jobs at once, expected 1 or more")
    return LocalEngine(jobs or 1) if name == "local" else RayEngine(address, jobs=jobs, gpus_per_job=gpus_per_job)


def run_all(engine: Engine, job: Job, values: Sequence[Values], watch: Watch | None = None) -> list[Values]:
    """Run a job on each of `values`; return the results in their order. The engine must have no other jobs.

    Raises:
        Exception: what the first job that failed has raised.
    """
    place = {engine.start(job, one, watch): number for number, one in enumerate(values)}
    found: dict[int, Values] = {}
    while len(found) < len(values):
        finished = engine.wait()
        if finished.error is not None:
            raise finished.error
        assert finished.values is not None
        found[place[finished.ticket]] = finished.values
    return [found[number] for number in range(len(values))]


class LocalEngine:
    """Jobs in threads of this process: compiled programs run beside each other."""

    def __init__(self, jobs: int = 1) -> None:
        self.width = jobs
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="longshore-job")
        self._pending: dict[Future[Values], int] = {}
        self._started = 0
        self._is_closing = threading.Event()

    def start(self, job: Job, values: Values, watch: Watch | None = None) -> int:
        """Queue a job."""
        ticket = self._started
        self._started += 1

        def report(step: int, value: float) -> bool:
            return self._is_closing.is_set() or (watch is not None and watch(ticket, step, value))

        self._pending[self._pool.submit(job, values, report)] = ticket
        return ticket

    def wait(self) -> Finished:
        """Wait for the next one; of several that are done, the one that was started first."""
        _check_pending(self._pending)
        done = wait(self._pending, return_when=FIRST_COMPLETED).done
        future = min(done, key=self._pending.__getitem__)
        ticket = self._pending.pop(future)
        error = future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        return Finished(ticket, None if error else future.result(), error)

    def close(self) -> None:
        """Let running jobs end at their next report."""
        self._is_closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class RayEngine:
    """Jobs as tasks of a Ray cluster; one whose worker or machine dies is done again elsewhere."""

    def __init__(
        self, address: str = "auto", *, jobs: int | None = None, cpus_per_job: float = 1.0, gpus_per_job: float = 0.0
    ) -> None:
        self._ray = importlib.import_module("ray")
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _connect(self._ray, address)
        fitting = int(self._ray.cluster_resources().get("CPU", 0) // cpus_per_job)
        self.width = max(min(jobs or fitting, fitting), 1)
        self._task = self._ray.remote(
            num_cpus=cpus_per_job, num_gpus=gpus_per_job, max_retries=_RETRIES, retry_exceptions=False
        )(_run_job)
        self._mailbox = _start_mailbox(self._ray)
        self._pending: dict[Any, int] = {}
        self._watches: dict[int, Watch] = {}
        self._started = 0

    def start(self, job: Job, values: Values, watch: Watch | None = None) -> int:
        """Hand a job to the cluster; what cannot run yet waits there."""
        ticket = self._started
        self._started += 1
        if watch is not None:
            self._watches[ticket] = watch
        pickled = self._ray.cloudpickle.dumps(job)
        mailbox = self._mailbox if watch is not None else None
        self._pending[self._task.remote(pickled, values, ticket, mailbox, _jax_settings())] = ticket
        return ticket

    def wait(self) -> Finished:
        """Wait for the next one, passing on what jobs report meanwhile."""
        _check_pending(self._pending)
        done: list[Any] = []
        while not done:
            done, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=_POLL_SECONDS)
            self._deliver()
        ticket = self._pending.pop(done[0])
        self._watches.pop(ticket, None)
        try:
            return Finished(ticket, self._ray.get(done[0]), None)
        except self._ray.exceptions.RayTaskError as error:
            return Finished(ticket, None, _job_error(error))
        except self._ray.exceptions.RayError as error:
            return Finished(ticket, None, _worker_error(error))

    def close(self) -> None:
        """Cancel what is running; leave the cluster as it was."""
        for task in self._pending:
            self._ray.cancel(task, force=True)
        self._pending.clear()
        self._ray.kill(self._mailbox)
        if self._is_ours:
            self._ray.shutdown()

    def _deliver(self) -> None:
        if not self._watches:
            return
        try:
            reports = self._ray.get(self._mailbox.drain.remote())
            for ticket, step, value in reports:
                watch = self._watches.get(ticket)
                if watch is not None and watch(ticket, step, value):
                    self._ray.get(self._mailbox.stop.remote(ticket))
        except self._ray.exceptions.RayActorError:
            self._watches.clear()  # jobs go on without; they only cannot be stopped early any more


class Mailbox:
    """What jobs have reported and the driver has not read yet; a Ray actor."""

    def __init__(self) -> None:
        self._reports: list[tuple[int, int, float]] = []
        self._stopped: set[int] = set()

    def report(self, ticket: int, step: int, value: float) -> bool:
        """Take a report; say whether its job should stop."""
        self._reports.append((ticket, step, value))
        return ticket in self._stopped

    def drain(self) -> list[tuple[int, int, float]]:
        """Return what came since the last call."""
        found, self._reports = self._reports, []
        return found

    def stop(self, ticket: int) -> None:
        """Let a job stop at its next report."""
        self._stopped.add(ticket)


def _run_job(pickled: bytes, values: Values, ticket: int, mailbox: Any, settings: dict[str, str]) -> Values:
    """Run a job in a worker."""
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    ray = importlib.import_module("ray")

    def report(step: int, value: float) -> bool:
        if mailbox is None:
            return False
        try:
            return bool(ray.get(mailbox.report.remote(ticket, step, value)))
        except ray.exceptions.RayActorError:
            return False

    job: Job = ray.cloudpickle.loads(pickled)
    return job(values, report)


def _connect(ray: Any, address: str) -> None:
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", namespace="longshore")
    except (OSError, RuntimeError, ValueError) as error:
        where = "on this machine" if address == "auto" else f"at `{address}`"
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise LongshoreError(f"there is no Ray cluster {where}: {reason}", _HOW_TO_START) from error


def _knock(address: str) -> None:
    """Raise OSError where nobody listens: Ray itself would try for minutes."""
    host, separator, port = address.rpartition(":")
    if separator and "/" not in host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()


def _start_mailbox(ray: Any) -> Any:
    """Start the mailbox on the driver's own machine: it then lives as long as the driver does."""
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
    return ray.remote(num_cpus=0, max_restarts=0, scheduling_strategy=here)(Mailbox).remote()


def _jax_settings() -> dict[str, str]:
    """Return where the driver keeps compiled programs: workers on its machine then need not compile them again."""
    return {name: value for name, value in os.environ.items() if name.startswith(("JAX_COMPILATION", "JAX_PERSISTENT"))}


def _job_error(error: Any) -> Exception:
    cause = error.cause
    if isinstance(cause, LongshoreError):
        return cause
    return LongshoreError(
        f"a job failed on the Ray cluster: {type(cause).__name__}: {cause}",
        "leave `--engine ray` out to see where",
    )


def _worker_error(error: Exception) -> LongshoreError:
    reason = str(error).splitlines()[0]
    return LongshoreError(
        f"a job could not be finished on the Ray cluster, not even when done again {_RETRIES} times: {reason}",
        "look with `ray status` whether machines have died or run out of memory",
    )


def _check_pending(pending: object) -> None:
    if not pending:
        raise LongshoreError("there is no job to wait for")
