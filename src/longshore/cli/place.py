"""`longshore place`: place the waiting pods of an imported cluster under several policies, and say why."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.compare import DEFAULT_OBJECTIVE, ObjectiveOption
from longshore.cli.files import read_bytes
from longshore.cli.names import split_different_names
from longshore.cli.output import JsonOption, emit, note, printable, write_assumptions, write_table
from longshore.cli.outside import warn_outside
from longshore.cli.rates import PowerModelsOption, PricesOption, read_rates
from longshore.core.words.text import quantity

if TYPE_CHECKING:
    from longshore.core.arrays.encode import Encoded
    from longshore.core.words.decision import Decision
    from longshore.core.words.snapshot import Snapshot
    from longshore.deciding.placement_figures import PlacementFigures
    from longshore.objectives.weighted import Weighted

DEFAULT_POLICIES = "kube-default,most-allocated,best-fit,round-robin,random,energy-latency"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="place")(place)


def place(
    dump: Annotated[str, typer.Argument(help="A dump made by `kubectl get … -A -o json`; `-` = standard input.")],
    policies: Annotated[str, typer.Option(help="Names or folders of bundles, separated by commas.")] = DEFAULT_POLICIES,
    filters: Annotated[
        str | None, typer.Option(help="Filter set: upstream or upstream+latency; a bundle has its own by default.")
    ] = None,
    objective: ObjectiveOption = DEFAULT_OBJECTIVE,
    explain: Annotated[str | None, typer.Option(help="Show all nodes for one pod (`namespace/name`).")] = None,
    prices: PricesOption = None,
    power_models: PowerModelsOption = None,
    seed: Annotated[int, typer.Option(help="Seed of random ties and of the random policy.", min=0, max=2**32 - 1)] = 0,
    json_mode: JsonOption = False,
) -> None:
    """Place the waiting pods of a cluster under several policies and say who goes where and why.

    Nothing is changed anywhere: this only computes.
    """
    from longshore.core.arrays.encode import encode
    from longshore.core.words.assumed import announcements
    from longshore.deciding.decide import decide_all
    from longshore.deciding.find import find_policy
    from longshore.deciding.placement_figures import placement_figures
    from longshore.filters import static_parts
    from longshore.kube.dump import read_dump
    from longshore.objectives.weighted import parse_objective

    chosen = [find_policy(name, filters) for name in _split(policies)]
    reward = parse_objective(objective)
    rates = read_rates(prices, power_models)
    imported = read_dump(read_bytes(dump), dump)
    for remark in imported.notes:
        note(remark)
    snapshot = replace(imported.snapshot, nodes=rates.of_all(imported.snapshot.nodes))
    if not snapshot.pending:
        note("no pod waits for a node: there is nothing to place; `longshore savings` says what the cluster would need")
    _check_pod(explain, snapshot)
    start = encode(snapshot, static_parts(), seed=seed)
    warn_outside(_split(policies), start)
    runs: dict[str, list[Decision]] = {}
    outcomes: dict[str, PlacementFigures] = {}
    for policy in chosen:
        found, end = [], start
        for decision, after in decide_all(start, policy, reward):
            found.append(decision)
            end = after
        runs[policy.name], outcomes[policy.name] = found, placement_figures(end, found)
    assumed = _assumed(snapshot, reward)
    payload = {
        "assumed": assumed,
        "assumptions": announcements(snapshot.nodes),
        "runs": [
            {
                "policy": name,
                "outcome": outcomes[name],
                "decisions": [_told(decision) for decision in found if explain in (None, decision.pod)],
            }
            for name, found in runs.items()
        ],
    }
    emit(json_mode, payload, lambda: _render(start, runs, outcomes, explain, assumed))


def _assumed(snapshot: "Snapshot", reward: "Weighted") -> list[str]:
    """Return the figures that rest on what was assumed of the nodes."""
    from longshore.core.words.assumed import assumed_kinds
    from longshore.core.words.node import POWER

    kinds = assumed_kinds(snapshot.nodes)
    watts = ["watts_idle_on", "watts_idle_off"] if POWER in kinds else []
    return watts + ([] if kinds.isdisjoint(reward.rests_on) else ["terms"])


def _told(decision: "Decision") -> dict[str, object]:
    names = ("pod", "policy", "node", "scores", "rejections", "runner_up", "terms", "pending_reason")
    return {name: getattr(decision, name) for name in names}


def _split(names: str) -> list[str]:
    from longshore.core.words.errors import InputError

    found = split_different_names(names)
    if not found:
        raise InputError(
            f"got no policy in `{names}`, expected names separated by commas", "`longshore list policies` shows them"
        )
    return found


def _check_pod(name: str | None, snapshot: "Snapshot") -> None:
    from longshore.core.words.errors import UnknownNameError

    pending = [pod.key for pod in snapshot.pending]
    if name is not None and name not in pending:
        raise UnknownNameError("waiting pod", name, pending)


def _render(
    start: "Encoded",
    runs: "dict[str, list[Decision]]",
    outcomes: "dict[str, PlacementFigures]",
    explain: str | None,
    assumed: list[str],
) -> None:
    from longshore.core.words.assumed import announcements, marked
    from longshore.deciding.placement_figures import PlacementFigures

    pending = [decision.pod for decision in next(iter(runs.values()), [])]
    running = len(start.snapshot.pods) - len(pending)
    note(f"{len(start.node_names)} nodes, {running} pods running, {len(pending)} waiting\n")
    by_pod = {policy: {decision.pod: decision for decision in decisions} for policy, decisions in runs.items()}
    rows = [(pod, *(by_pod[policy][pod].node or "-" for policy in runs)) for pod in pending]
    if pending:
        write_table(("waiting pod", *runs), rows, names=range(len(runs) + 1))
        print()
    columns = [field.name for field in fields(PlacementFigures)]
    write_table(
        ("policy", *(marked(column, assumed) for column in columns)),
        [
            (name, *(quantity(getattr(row, column), "W" * column.startswith("watts")) for column in columns))
            for name, row in outcomes.items()
        ],
    )
    write_assumptions(announcements(start.snapshot.nodes))
    _render_pending(runs)
    if explain is not None:
        for policy in runs:
            _render_pod(by_pod[policy][explain], marked("reward", assumed, "terms"))
    elif pending:
        note(f"\nnext: see every node's score or reason for one pod with --explain {printable(pending[0])}")


def _render_pending(runs: "dict[str, list[Decision]]") -> None:
    reasons: dict[tuple[str, str], list[str]] = {}
    for policy, decisions in runs.items():
        for decision in decisions:
            if decision.pending_reason is not None:
                reasons.setdefault((decision.pod, decision.pending_reason), []).append(policy)
    if reasons:
        print("\nnot placed:")
    for (pod, reason), policies in reasons.items():
        under = "every policy" if len(policies) == len(runs) else ", ".join(policies)
        print(printable(f"  {pod} (under {under}): {reason}"))


def _render_pod(decision: "Decision", reward: str) -> None:
    print()
    print(printable(f"{decision.pod} under {decision.policy}: {decision.node or 'stays pending'}"))
    ranked = sorted((decision.scores or {}).items(), key=lambda item: (-item[1], item[0]))
    rows = [(node, f"{score:.6g}", _mark(node, decision)) for node, score in ranked]
    rows += [
        (node, "-", f"{rejection.filter or 'PreFilter'}: {', '.join(rejection.reasons)}")
        for node, rejection in (decision.rejections or {}).items()
    ]
    write_table(("node", "score", "why"), rows, names=(0,))
    if decision.terms:
        print(printable(f"{reward}: " + ", ".join(f"{name} {value:.6g}" for name, value in decision.terms.items())))


def _mark(node: str, decision: "Decision") -> str:
    return "chosen" if node == decision.node else "runner-up" if node == decision.runner_up else ""
