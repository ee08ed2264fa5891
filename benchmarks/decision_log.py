"""What the decision log costs: microseconds of `add` for the caller, and rows per second that reach the file.

    python benchmarks/decision_log.py [ROWS]

`add` is timed with the writer at work, at the pace of a scheduler (500 decisions a second, in bursts) and as fast as
it goes. It prints one JSON object.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from longshore.core.words.decision import Decision
from longshore.store.decisions import RING_SIZE, DecisionLog


def record(number: int) -> Decision:
    """Return a record with all that a decision among 1,000 nodes leaves."""
    return Decision(
        time_us=1_700_000_000_000_000 + number,
        mode="standalone",
        pod_namespace="shop",
        pod_name=f"api-{number}",
        pod_uid="5f0a7c52-5a3f-4a64-9f4f-0d9d5f2f0d11",
        policy="models/el-rl",
        policy_version="0f" * 32,
        scheduler_name="longshore",
        node="node-17",
        runner_up="node-18",
        score=0.25,
        num_nodes=1000,
        num_feasible=998,
        candidates=tuple((f"node-{i}", 1.0 / i) for i in range(1, 6)),
        terms={"el-rl": 1.5},
        latency_us=640,
    )


def paced(folder: Path, seconds: float = 3.0, per_second: int = 500) -> dict[str, float]:
    """Time single calls at a scheduler's pace."""
    times = []
    with DecisionLog(str(folder / "paced.db")) as log:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for number in range(per_second // 50):
                one = record(len(times) + number)
                started = time.perf_counter()
                record_id = log.add(one)
                log.set_outcome(record_id, "bound", bind_us=2000)
                times.append((time.perf_counter() - started) * 1e6)
            time.sleep(1 / 50)
    times.sort()
    at = [times[int(len(times) * share)] for share in (0.5, 0.99)]
    return {"add_p50_us": round(at[0], 2), "add_p99_us": round(at[1], 2), "add_max_us": round(times[-1], 2)}


def flooded(folder: Path, num_rows: int) -> dict[str, float]:
    """Write as fast as the file takes it."""
    rows = [record(number) for number in range(num_rows)]
    with DecisionLog(str(folder / "flooded.db")) as log:
        started = time.perf_counter()
        for start in range(0, num_rows, RING_SIZE // 2):
            for one in rows[start : start + RING_SIZE // 2]:
                log.add(one)
            log.flush(60)
        seconds = time.perf_counter() - started
        assert (log.num_written, log.num_dropped) == (num_rows, 0)
    size = (folder / "flooded.db").stat().st_size
    return {"rows_per_second": round(num_rows / seconds), "bytes_per_row": round(size / num_rows)}


def main() -> None:
    """Measure and print."""
    num_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"schema": 1, **paced(Path(folder)), **flooded(Path(folder), num_rows)}))


if __name__ == "__main__":
    main()
