"""How fast training is: seconds to a return beside a plain step-by-step loop, and steps per second on an accelerator.

Every measurement is a process of its own without a cache of compiled programs, so that starting Python and compiling
count for all alike. The plain loop is `benchmarks/cleanrl_style_dqn.py`. On a machine that has only JAX and a few
packages the accelerator's figures come from `python -m longshore_lab.speed.training --gpu`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.training.program.devices import find_devices
from longshore.training.run.guides import find_guide
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import prepare

OURS = ("dqn", "ppo", "evolution")
GUIDED = "imitation"
"""Of ours, too, where there is a heuristic to show to it."""
_SETTINGS: dict[str, dict[str, Any]] = {
    # Small generations, and a judgement for each: with long traces one of them takes seconds.
    "evolution": {"learner_config": {"population": 32, "traces": 4}, "evaluations": 150},
    # A clone is there within ten thousand decisions, and short chunks judge it by then.
    GUIDED: {
        "learner_config": {"steps": 200_000, "clone_share": 0.5, "learning_rate": 5e-3},
        "evaluations": 30,
    },
}
"""What differs from a learner's defaults in the race; docs/results/training-speed.md says how it was chosen."""
PLAIN = "cleanrl-style dqn"
NETWORKS = ("linear", "mlp", "deepsets")
"""Those that read a node's features alone, which is all that the plain loop is told."""
BAR = 1 / 20
CELLS = ((1, 4096), (1, 16384), (1024, 16))
"""(agents, environments of each) for an accelerator."""
_PLAIN_LOOP = Path(__file__).parents[3] / "benchmarks" / "cleanrl_style_dqn.py"
# Starting, preparing and judging are not on the plain loop's clock; judging takes longer than what it learns.
_SPARE_SECONDS, _WALL_CLOCK_PER_SECOND = 300.0, 4.0
_TIMED_CHUNKS = 2

Tell = Callable[[str], None]


class Goal(NamedTuple):
    """What is to be reached."""

    workload: str = "test1"
    objective: str = "el-rl"
    target: float = 117.4
    """Mean return on the selection traces."""
    nodes: int = 0
    """0 = as many as the workload has by itself."""
    limit_seconds: float = 600.0
    guide: str = ""
    """A heuristic that is shown to imitation, which else takes no part."""
    network: str = "deepsets"
    """One of `NETWORKS`; of ours and of the plain loop."""

    @property
    def workload_config(self) -> dict[str, int]:
        """The workload's parameters."""
        return {"nodes": self.nodes} if self.nodes else {}


_IDLE_OFF_WATTS = "terms: [{name: watts, switch_off_idle: true}]"
GOALS = (
    Goal(),
    Goal("test2", "el-rl", 182.4),
    Goal("poisson", "ee", 3794.0, nodes=16, guide="most-allocated"),
    Goal("diurnal", _IDLE_OFF_WATTS, -957_871.0, nodes=8, network="linear"),
)
"""99 % of the optimum of el-rl on test1 (118.6, exact) and test2 (184.3, by beam search); on 16 nodes under Poisson
arrivals what the best heuristic earns for packing, most-allocated; and on mixed machines that are switched off when
idle what the best heuristic earns for power, low-power."""


class Race(NamedTuple):
    """One training towards the goal."""

    workload: str
    trainer: str
    seed: int
    seconds: float
    """Wall clock from the start of the process; to the limit, if the return was not reached."""
    decisions: int
    reached: float
    """The best return on the selection traces so far."""
    is_reached: bool
    first_seconds: float | None = None
    """Until the first chunk was done: start, preparation and compilation, with that chunk's own work."""
    decisions_per_second: float | None = None
    """After compilation; of the plain loop over all of its time."""


class Speed(NamedTuple):
    """Trained steps per second on one device."""

    device: str
    learner: str
    nodes: int
    agents: int
    envs: int
    """Environments of each agent."""
    segment: int
    first_seconds: float
    """Until the first chunk was done, compilation included."""
    steps_per_second: float
    """Events played and learnt from, of all agents together."""
    decisions_per_second: float


def race(goal: Goal, seeds: Sequence[int] = (0,), trainers: Sequence[str] = (), tell: Tell | None = None) -> list[Race]:
    """Train towards the goal with every trainer, or with those that are named, and every seed, one after the other.

    Raises:
        UnknownNameError: there is no such trainer, network or guide.
        InputError: imitation is to take part, and there is nothing to show to it.
        LongshoreError: one of the processes failed.
    """
    for trainer in trainers:
        if trainer not in (*OURS, GUIDED, PLAIN):
            raise UnknownNameError("trainer", trainer, (*OURS, GUIDED, PLAIN))
    if goal.network not in NETWORKS:
        raise UnknownNameError("network", goal.network, NETWORKS)
    find_guide(goal.guide)
    if GUIDED in trainers and not goal.guide:
        raise InputError(
            f"got `{GUIDED}` towards {goal.workload} without a guide, expected what it is shown",
            "give a workload and a guide, for instance `--workload poisson --guide most-allocated`",
        )
    found = []
    for trainer in trainers or (*OURS, *([GUIDED] if goal.guide else []), PLAIN):
        for seed in seeds:
            found.append(_run_apart(goal, trainer, seed))
            if tell is not None:
                last = found[-1]
                how = f"{last.reached:.1f} after {last.decisions} decisions, {last.seconds:.1f} s"
                tell(f"{goal.workload}, {trainer}, seed {seed}: {how}")
    return found


def summaries(races: Sequence[Race]) -> list[dict[str, object]]:
    """Compare each of our trainers with the plain loop towards one goal: medians over the seeds, and their ratio.

    A run that did not arrive counts with the time that it had. Where half of the plain loop's did not, its time is
    more and the ratio less than what is given: `is_upper_bound`.
    """
    plain = [one for one in races if one.trainer == PLAIN]
    found: list[dict[str, object]] = []
    for trainer in dict.fromkeys(one.trainer for one in races if one.trainer != PLAIN and plain):
        own = [one for one in races if one.trainer == trainer]
        seconds = statistics.median(one.seconds for one in own)
        plain_seconds = statistics.median(one.seconds for one in plain)
        found.append({
            "workload": own[0].workload,
            "trainer": trainer,
            "seconds": seconds,
            "plain_seconds": plain_seconds,
            "ratio": seconds / plain_seconds,
            "is_upper_bound": statistics.median(one.is_reached for one in plain) < 1,
            "bar": BAR,
            "is_met": all(one.is_reached for one in own) and seconds / plain_seconds <= BAR,
        })  # fmt: skip
    return found


def race_one(goal: Goal, trainer: str, seed: int, started: float) -> Race:
    """Train in this process, with the learner's own hyperparameters (but for `_SETTINGS`), until the goal or the end.

    `started` is when the process was, as `time.time` says it.
    """
    plan = Plan(
        learner=trainer,
        network=goal.network,
        workload=goal.workload,
        workload_config=goal.workload_config,
        objective=goal.objective,
        seed=seed,
        guide=goal.guide if trainer == GUIDED else "",
        **_SETTINGS.get(trainer, {}),
    )
    prepared = prepare(plan)
    state = prepared.program.init(prepared.data, jax.vmap(jax.random.PRNGKey)(np.array([seed])))
    seconds, reached, decided = 0.0, -np.inf, 0
    after: list[tuple[float, int]] = []  # of every chunk: seconds since the start, decisions
    while reached < goal.target and seconds < goal.limit_seconds and len(after) < prepared.chunks:
        state, figures = prepared.program.chunk(prepared.data, state)
        reached, decided = float(figures["selection_best"][0]), int(figures["decided"][0])
        seconds = time.time() - started
        after.append((seconds, decided))
    if len(after) == 1:  # it was the one that is compiled: one more for the speed
        state, figures = prepared.program.chunk(prepared.data, state)
        more = int(figures["decided"][0])  # waits until it is done
        after.append((time.time() - started, more))
    (first, begun), (last, done) = after[0], after[-1]
    speed = (done - begun) / (last - first)
    return Race(goal.workload, trainer, seed, seconds, decided, reached, reached >= goal.target, first, speed)


def measure_speed(
    plan: Plan, *, envs: int, segment: int, updates: int, agents: int = 1, device: str | None = None
) -> Speed:
    """Train some updates and time them once they are compiled; judging the policy is part of it, as it is of a run.

    Args:
        plan: of a learner that plays environments; its `seeds` and sizes are set here.
        envs: environments of each agent.
        segment: steps of each environment between updates.
        updates: in each of the three chunks, of which the last two are timed.
        agents: trained at once.
        device: `cpu` or `gpu`; None = what JAX prefers.
    """
    chosen = find_devices(device)[0]
    # About half of the steps are decisions: `steps` is what makes a chunk have so many updates.
    sizes = {"envs": envs, "segment": segment, "steps": max(envs * segment * updates // 2, 1)}
    plan = replace(plan, seeds=agents, evaluations=1, learner_config={**plan.learner_config, **sizes})
    with jax.default_device(chosen):
        started = time.perf_counter()
        prepared = prepare(plan)
        state = prepared.program.init(prepared.data, jax.vmap(jax.random.PRNGKey)(np.arange(agents)))
        state, figures = prepared.program.chunk(prepared.data, state)
        before = int(np.asarray(figures["decided"]).sum())
        first = time.perf_counter() - started
        started = time.perf_counter()
        for _ in range(_TIMED_CHUNKS):
            state, figures = prepared.program.chunk(prepared.data, state)
        decided = int(np.asarray(figures["decided"]).sum()) - before
        seconds = time.perf_counter() - started
    steps = _TIMED_CHUNKS * prepared.program.updates * envs * segment * agents
    nodes = prepared.data.selection.is_present.shape[-1]
    name = f"{chosen.platform}: {chosen.device_kind}"
    return Speed(name, plan.learner, nodes, agents, envs, segment, first, steps / seconds, decided / seconds)


def accelerator_cells(
    device: str | None = "gpu", cells: Sequence[tuple[int, int]] = CELLS, updates: int = 32
) -> Iterator[Speed]:
    """Measure PPO on DeepSets at 16 nodes, for every (agents, environments of each)."""
    plan = Plan(
        learner="ppo",
        network="deepsets",
        workload="poisson",
        workload_config={"nodes": 16, "pods": 480},
        objective="ee",
        traces=8,
        selection_traces=2,
    )
    for agents, envs in cells:
        yield measure_speed(plan, envs=envs, segment=64, updates=updates, agents=agents, device=device)


def _run_apart(goal: Goal, trainer: str, seed: int) -> Race:
    """Run one training as a process of its own."""
    told = [f"--{name.replace('_', '-')}={value}" for name, value in (*goal._asdict().items(), ("seed", seed))]
    if trainer == PLAIN:
        if not _PLAIN_LOOP.is_file():
            raise InputError(f"`{_PLAIN_LOOP.name}` is not installed", "run this from a checkout of longshore")
        command = [sys.executable, str(_PLAIN_LOOP), *[one for one in told if not one.startswith("--guide=")]]
    else:
        command = [sys.executable, "-m", __name__, *told, "--race", trainer, "--started", str(time.time())]
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"JAX_ENABLE_COMPILATION_CACHE": "false", "JAX_PLATFORMS": "cpu"}
    limit = _WALL_CLOCK_PER_SECOND * goal.limit_seconds + _SPARE_SECONDS
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode:
        raise LongshoreError(f"{trainer}, seed {seed}, ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if trainer != PLAIN:
        return Race(**found)
    speed = found["decisions"] / found["seconds"]
    reached, is_reached = found["return"], found["is_reached"]
    return Race(goal.workload, PLAIN, seed, found["seconds"], found["decisions"], reached, is_reached, None, speed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Be one of the processes of a race, or measure an accelerator; JSON on stdout, one object a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="measure the accelerator")
    parser.add_argument("--device", default="gpu", help="with --gpu: cpu to try it without one")
    parser.add_argument("--updates", type=int, default=32, help="with --gpu: in each chunk that is timed")
    parser.add_argument(
        "--cell", nargs=2, type=int, action="append", metavar=("AGENTS", "ENVS"), help="with --gpu: instead of all"
    )
    parser.add_argument("--race", choices=(*OURS, GUIDED))
    parser.add_argument("--started", type=float, default=time.time())
    parser.add_argument("--seed", type=int, default=0)
    for name, value in Goal()._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    given = vars(parser.parse_args(arguments))
    if given["gpu"]:
        for cell in accelerator_cells(given["device"], given["cell"] or CELLS, given["updates"]):
            sys.stdout.write(json.dumps(cell._asdict()) + "\n")
            sys.stdout.flush()
    elif given["race"]:
        goal = Goal(**{name: given[name] for name in Goal._fields})
        found = race_one(goal, given["race"], given["seed"], given["started"])
        sys.stdout.write(json.dumps(found._asdict()) + "\n")
    else:
        parser.error("give --gpu or --race")


if __name__ == "__main__":
    main()
