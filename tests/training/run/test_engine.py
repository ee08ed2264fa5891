"""Engines: jobs arrive complete and in order, wherever they run, and also when a worker is killed half-way."""

import dataclasses
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.training.run.engine import Engine, LocalEngine, Mailbox, RayEngine, Report, Values, make_engine, run_all
from longshore.training.run.plan import read_plan
from training.tiny import prepare_once, tiny_plan

# Ray starts its processes by forking; JAX warns of that wherever it has already run in this process.
pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")


def square(values: Values, report: Report) -> Values:
    """Report three steps, and square a number."""
    steps = 0
    for step in range(1, 4):
        steps = step
        if report(step, float(values["number"])):
            break
    return {"square": values["number"] ** 2, "steps": steps}


def refuse(values: Values, _report: Report) -> Values:
    raise InputError(f"got {values['number']}", "give another")


@pytest.fixture
def local() -> Iterator[Engine]:
    engine = LocalEngine()
    yield engine
    engine.close()


def test_local_engine_returns_results_in_the_order_of_the_jobs() -> None:
    engine = LocalEngine(jobs=3)

    def slow_first(values: Values, _report: Report) -> Values:
        time.sleep(0.2 if values["number"] == 0 else 0)
        return {"number": values["number"]}

    found = run_all(engine, slow_first, [{"number": number} for number in range(4)])
    engine.close()
    assert [one["number"] for one in found] == [0, 1, 2, 3]


def test_local_engine_stops_a_job_when_its_watch_says_so(local: Engine) -> None:
    found = run_all(
        local, square, [{"number": 2}, {"number": 3}], lambda ticket, step, _value: ticket == 1 and step == 2
    )
    assert [one["steps"] for one in found] == [3, 2]


def test_local_engine_hands_back_what_a_job_raised(local: Engine) -> None:
    with pytest.raises(InputError, match="got 7"):
        run_all(local, refuse, [{"number": 7}])


def test_engine_without_a_job_is_not_waited_for(local: Engine) -> None:
    with pytest.raises(LongshoreError, match="no job"):
        local.wait()


def test_closing_a_local_engine_stops_what_runs() -> None:
    engine = LocalEngine()

    def endless(_values: Values, report: Report) -> Values:
        while not report(1, 0.0):
            time.sleep(0.01)
        return {}

    engine.start(endless, {})
    engine.close()  # returns


def test_make_engine_names_the_engines_there_are() -> None:
    with pytest.raises(UnknownNameError, match="`local`, `ray`"):
        make_engine("rey")


def test_mailbox_gives_reports_once_and_remembers_who_is_to_stop() -> None:
    mailbox = Mailbox()
    assert not mailbox.report(4, 1, 0.5)
    assert mailbox.drain() == [(4, 1, 0.5)]
    assert mailbox.drain() == []
    mailbox.stop(4)
    assert mailbox.report(4, 2, 0.5)
    assert not mailbox.report(5, 1, 0.5)


def test_ray_engine_says_how_to_start_a_cluster_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not the real one: a cluster that somebody else runs on this machine is not ours to join.
    def init(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(LongshoreError, match="there is no Ray cluster on this machine") as raised:
        RayEngine("auto")
    assert "ray start --head" in str(raised.value)


def test_ray_engine_does_not_wait_for_a_cluster_that_does_not_answer() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: refused at once
        with pytest.raises(LongshoreError, match=r"there is no Ray cluster at `127\.0\.0\.1:"):
            RayEngine(f"127.0.0.1:{closed.getsockname()[1]}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Ray cluster of two nodes, each with processes of its own."""
    import ray
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    folder = tempfile.mkdtemp(prefix="ls-ray-", dir="/tmp")  # short: the sockets in it have paths of 107 bytes at most
    # Where Ray notes the cluster's address: else in a folder of /tmp that only Ray's own programs make.
    patch.setenv("RAY_TMPDIR", folder)
    (Path(folder) / "ray").mkdir()
    nodes = Cluster()
    try:
        for _ in range(2):
            nodes.add_node(num_cpus=1, object_store_memory=80 * 1024**2, include_dashboard=False, temp_dir=folder)
        yield nodes.address
    finally:
        ray.shutdown()
        nodes.shutdown()  # the processes that it started, by their ids
        patch.undo()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def on_ray(cluster: str) -> Iterator[RayEngine]:
    engine = RayEngine(cluster)
    yield engine
    engine.close()


@pytest.mark.slow
def test_training_on_ray_survives_a_killed_worker(on_ray: RayEngine, tmp_path: Path) -> None:
    from longshore.training.run.jobs import learn, never_stop

    # A function inside a function travels with its code: workers cannot import tests.
    def job(values: Values, report: Report) -> Values:
        import os
        import time
        from pathlib import Path

        from longshore.training.run.jobs import train_job

        mark = Path(values["folder"]) / f"seed-{values['plan']['seed']}"
        attempts = mark.read_text().split() if mark.is_file() else []
        mark.write_text(" ".join([*attempts, str(os.getpid())]))

        def told(step: int, value: float) -> bool:
            asked = report(step, value)
            if values["plan"]["seed"] == 1 and step == 2 and not attempts:
                time.sleep(120)  # half-way: to be killed here
            return asked

        return train_job(values, told)

    killed: list[int] = []

    def watch(ticket: int, step: int, _value: float) -> bool:
        if ticket == 1 and step == 2 and not killed:
            killed.append(int((tmp_path / "seed-1").read_text().split()[0]))
            os.kill(killed[0], signal.SIGKILL)
        return False

    plans = [tiny_plan("evolution", seed=seed).to_json() for seed in range(3)]
    found = run_all(on_ray, job, [{"plan": plan, "folder": str(tmp_path)} for plan in plans], watch)

    attempts = (tmp_path / "seed-1").read_text().split()
    assert len(attempts) == 2
    assert int(attempts[0]) == killed[0] != int(attempts[1])
    for plan, one in zip(plans, found, strict=True):
        # The seed is no part of the compiled program, which is the same for all.
        here = dataclasses.replace(prepare_once(tiny_plan("evolution")), plan=read_plan(plan))
        assert_same_training(one, learn(here, never_stop))


def assert_same_training(got: Values, want: Values) -> None:
    for name in ("worths", "returns", "decided", "figures"):
        assert got[name] == want[name]
    tensors: tuple[dict[str, Any], ...] = tuple(safetensors_numpy.load(one["tensors"]) for one in (got, want))
    assert tensors[0].keys() == tensors[1].keys()
    for name in tensors[0]:
        np.testing.assert_array_equal(tensors[0][name], tensors[1][name])


@pytest.mark.slow
def test_population_on_ray_equals_the_one_in_this_process(on_ray: RayEngine) -> None:
    from longshore.training.run.jobs import learn, never_stop
    from longshore.training.run.population import with_engine

    prepared = prepare_once(tiny_plan("evolution"))
    assert on_ray.width == 2
    assert_same_training(learn(with_engine(prepared, on_ray), never_stop), learn(prepared, never_stop))


@pytest.mark.slow
def test_ray_engine_hands_back_what_a_job_raised(on_ray: RayEngine) -> None:
    def refuse_there(values: Values, _report: Report) -> Values:
        from longshore.core.words.errors import InputError

        raise InputError(f"got {values['number']}", "give another")

    with pytest.raises(InputError, match="got 7"):
        run_all(on_ray, refuse_there, [{"number": 7}])


@pytest.mark.slow
def test_ray_engine_stops_a_job_when_its_watch_says_so(on_ray: RayEngine) -> None:
    def endless(_values: Values, report: Report) -> Values:
        import time

        step = 1
        while not report(step, 0.0):
            step += 1
            time.sleep(0.05)
        return {"steps": step}

    found = run_all(on_ray, endless, [{}], lambda _ticket, step, _value: step >= 3)
    assert found[0]["steps"] >= 3
