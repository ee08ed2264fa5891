"""The proof: many random cases, answered by us and by upstream's own code, with no difference allowed."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec

from longshore_lab.oracle.cases import describe, make_case
from longshore_lab.oracle.compare import answer, difference
from longshore_lab.oracle.program import Oracle

UPSTREAM_VERSION = "v1.36.3"
# Large enough that the pipes stay busy, small enough that progress moves.
_CHUNK = 250


@dataclass(frozen=True)
class Difference:
    """A case that we and upstream see differently."""

    index: int
    what: str
    case: str


class ProofResult(NamedTuple):
    """The outcome of a run."""

    cases: int
    differences: int
    first_difference: Difference | None
    seconds: float


class _Chunk(NamedTuple):
    cases: int
    differences: int
    first: Difference | None


_oracle: Oracle | None = None


def prove(cases: int, seed: int, workers: int, progress: Callable[[int, int], None]) -> ProofResult:
    """Compare `cases` random cases of a seed; `progress` hears how many are done and how many differ."""
    started = time.perf_counter()
    done, differences = 0, 0
    first: Difference | None = None
    starts = range(0, cases, _CHUNK)
    tasks = ((seed, start, min(_CHUNK, cases - start)) for start in starts)
    for chunk in _run(tasks, workers):
        done += chunk.cases
        differences += chunk.differences
        if chunk.first is not None and (first is None or chunk.first.index < first.index):
            first = chunk.first
        progress(done, differences)
    return ProofResult(done, differences, first, time.perf_counter() - started)


def _run(tasks: Iterator[tuple[int, int, int]], workers: int) -> Iterator[_Chunk]:
    # Spawned, not forked: each worker starts an oracle of its own, and threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = [pool.submit(_compare, *task) for task in islice(tasks, 2 * workers)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(_compare, *task) for task in islice(tasks, 1)]


def _compare(seed: int, start: int, count: int) -> _Chunk:
    global _oracle  # noqa: PLW0603  one child process per worker, for as long as the worker lives
    if _oracle is None:
        _oracle = Oracle()
    return compare_range(_oracle, seed, start, count)


def compare_range(oracle: Oracle, seed: int, start: int, count: int) -> _Chunk:
    """Compare the cases `start` to `start + count` of a seed."""
    cases = [msgspec.json.encode(make_case(seed, index)) for index in range(start, start + count)]
    answers = oracle.ask(cases)
    own = [answer(case) for case in cases]
    found = 0
    first: Difference | None = None
    for index, mine, theirs in zip(range(start, start + count), own, answers, strict=True):
        what = difference(mine, theirs)
        if what is not None:
            found += 1
            first = first or Difference(index, what, describe(make_case(seed, index)))
    return _Chunk(count, found, first)
