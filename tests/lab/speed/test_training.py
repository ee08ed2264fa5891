"""The training benchmark: what it compares, and how it counts; the figures themselves are not for a test."""

import json

import pytest

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.training.run.plan import Plan
from longshore_lab.speed import training as training_speed
from longshore_lab.speed.training import PLAIN, Goal, Race, Speed


def finished(trainer: str, seconds: float, is_reached: bool = True) -> Race:
    return Race("test1", trainer, 0, seconds, 100, 118.0 if is_reached else 90.0, is_reached)


def test_summaries_compare_medians():
    races = [finished("dqn", 4.0), finished("dqn", 6.0), finished("dqn", 60.0)]
    races += [finished(PLAIN, 100.0), finished(PLAIN, 150.0), finished(PLAIN, 10.0)]
    (found,) = training_speed.summaries(races)
    assert (found["seconds"], found["plain_seconds"], found["ratio"]) == (6.0, 100.0, 0.06)
    assert found["is_met"] is False
    assert found["is_upper_bound"] is False


def test_summaries_give_a_bound_where_the_plain_loop_did_not_arrive():
    (found,) = training_speed.summaries([finished("ppo", 10.0), finished(PLAIN, 600.0, is_reached=False)])
    assert found["is_upper_bound"] is True
    assert found["is_met"] is True


def test_summaries_do_not_count_a_return_that_ours_did_not_reach():
    (found,) = training_speed.summaries([finished("dqn", 1.0, is_reached=False), finished(PLAIN, 600.0)])
    assert found["is_met"] is False


def test_a_goal_has_the_workloads_own_nodes_unless_it_says_others():
    assert Goal().workload_config == {}
    assert Goal(nodes=16).workload_config == {"nodes": 16}


def test_summaries_need_both_sides():
    assert training_speed.summaries([finished("dqn", 1.0)]) == []


@pytest.mark.slow
def test_race_runs_the_plain_loop_apart():
    # A return that every policy reaches: the first judgement ends it.
    # It is shown no guide.
    (found,) = training_speed.race(Goal(target=-1000.0, limit_seconds=60.0, guide="energy-latency"), trainers=[PLAIN])
    assert (found.trainer, found.is_reached, found.decisions) == (PLAIN, True, 500)
    assert found.decisions_per_second is not None
    assert found.decisions_per_second > 0


@pytest.mark.slow
def test_race_runs_ours_apart():
    (found,) = training_speed.race(Goal(target=-1000.0, limit_seconds=60.0, network="linear"), trainers=["dqn"])
    assert (found.trainer, found.is_reached) == ("dqn", True)
    assert 0 < (found.first_seconds or 0) <= found.seconds
    assert found.decisions >= 1000


@pytest.mark.slow
def test_race_shows_the_guide_to_imitation():
    goal = Goal(target=-1000.0, limit_seconds=60.0, guide="energy-latency", network="linear")
    (found,) = training_speed.race(goal, trainers=["imitation"])
    assert (found.trainer, found.is_reached) == ("imitation", True)


def test_imitation_takes_part_where_there_is_a_guide(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training_speed, "_run_apart", lambda goal, trainer, seed: finished(trainer, 1.0))
    without, guided = training_speed.race(Goal()), training_speed.race(Goal(guide="most-allocated"))
    assert [one.trainer for one in without] == ["dqn", "ppo", "evolution", PLAIN]
    assert [one.trainer for one in guided] == ["dqn", "ppo", "evolution", "imitation", PLAIN]


def test_race_names_the_trainers_that_there_are():
    with pytest.raises(UnknownNameError, match="ppoo"):
        training_speed.race(Goal(), trainers=["ppoo"])


def test_race_needs_a_guide_for_imitation():
    with pytest.raises(InputError, match="`imitation` towards test1 without a guide"):
        training_speed.race(Goal(), trainers=["imitation"])


def test_race_names_the_guides_that_there_are_before_anyone_trains():
    with pytest.raises(UnknownNameError, match="most-alocated"):
        training_speed.race(Goal(guide="most-alocated"))


def test_race_names_the_networks_that_the_plain_loop_can_have():
    with pytest.raises(UnknownNameError, match="gnn"):
        training_speed.race(Goal(network="gnn"))


def test_ours_train_the_network_that_the_goal_names(monkeypatch: pytest.MonkeyPatch):
    def prepare(plan: Plan) -> None:
        raise LongshoreError(plan.network)

    monkeypatch.setattr(training_speed, "prepare", prepare)
    with pytest.raises(LongshoreError, match="linear"):
        training_speed.race_one(Goal(network="linear"), "evolution", 0, 0.0)


@pytest.mark.parametrize("trainer", ["evolution", PLAIN])
def test_every_process_is_told_the_network(trainer: str, monkeypatch: pytest.MonkeyPatch):
    def start(command: list[str], **_: object) -> None:
        raise LongshoreError(" ".join(command))

    monkeypatch.setattr(training_speed.subprocess, "run", start)
    with pytest.raises(LongshoreError, match="--network=linear"):
        training_speed.race(Goal(network="linear"), trainers=[trainer])


def test_race_says_why_a_process_failed():
    with pytest.raises(LongshoreError, match=r"(?s)seed 0, ended with .*no-such-workload"):
        training_speed.race(Goal(workload="no-such-workload"), trainers=["dqn"])


def test_accelerator_mode_prints_one_object_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def measure(plan: Plan, **sizes: object) -> Speed:
        asked.append((plan.learner, plan.network, plan.workload_config["nodes"], sizes))
        return Speed("gpu: H", "ppo", 16, 1, 4, 64, 1.0, 9.0, 5.0)

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(training_speed, "measure_speed", measure)
    training_speed.main(["--gpu", "--cell", "2", "4", "--cell", "1", "8", "--updates", "3"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["steps_per_second"] for line in lines] == [9.0, 9.0]
    sizes = {"envs": 4, "segment": 64, "updates": 3, "agents": 2, "device": "gpu"}
    assert asked[0] == ("ppo", "deepsets", 16, sizes)


def test_measure_speed_counts_every_agent_and_environment(monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(100))
    monkeypatch.setattr(training_speed.time, "perf_counter", lambda: float(next(clock)))
    plan = Plan(learner="actor_critic", network="linear", workload="test1", traces=2, selection_traces=1)
    found = training_speed.measure_speed(plan, envs=3, segment=5, updates=2, agents=2, device="cpu")
    # Two chunks of two updates in one second of this clock.
    assert found.steps_per_second == 2 * 2 * 3 * 5 * 2
