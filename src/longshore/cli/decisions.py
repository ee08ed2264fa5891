"""`longshore decisions`: what was decided, newest first, and for one pod also why."""

from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.output import JsonOption, emit, note, printable, write_table

if TYPE_CHECKING:
    from longshore.core.words.decision import Decision


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="decisions")(decisions)


def decisions(
    store: Annotated[
        str | None,
        typer.Option(help="The decision log: a file or a URL; by default the one that `schedule` writes to."),
    ] = None,
    pod: Annotated[str | None, typer.Option(help="Only this pod (`namespace/name`), with the reasons.")] = None,
    last: Annotated[int, typer.Option(help="At most so many, the newest.", min=1, max=1_000_000)] = 20,
    json_mode: JsonOption = False,
) -> None:
    """Show what was decided for which pod, how close it was, and what came of it."""
    from longshore.store.location import default_store
    from longshore.store.reader import DecisionReader
    from longshore.store.schema import row_of

    reader = DecisionReader(store or str(default_store()))
    try:
        found = reader.query(pod=pod, limit=last)
    finally:
        reader.close()
    emit(json_mode, {"decisions": [row_of(one) for one in found]}, lambda: _render(found, pod))


def _render(found: "list[Decision]", pod: str | None) -> None:
    if not found:
        note("no decisions yet" if pod is None else f"no decisions about `{pod}`")
        return
    headers = ("time", "pod", "node", "score", "runner-up", "feasible", "policy", "ms", "what came of it")
    write_table(headers, [_row(one) for one in found], names=(1, 2, 4))
    if pod is not None:
        _render_reasons(found[0])


def _row(one: "Decision") -> tuple[str, ...]:
    return (
        _time(one.time_us),
        one.pod,
        one.node or "-",
        "-" if one.score is None else f"{one.score:.4g}",
        one.runner_up or "-",
        f"{one.num_feasible}/{one.num_nodes}",
        one.policy,
        "-" if one.latency_us is None else f"{one.latency_us / 1000:.2f}",
        _result(one),
    )


def _time(time_us: int) -> str:
    from datetime import UTC, datetime, timedelta

    # By addition: a float of seconds would round the microseconds.
    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us):%Y-%m-%d %H:%M:%S.%f}"[:-3] + "Z"


def _result(one: "Decision") -> str:
    parts = [
        f"fallback: {one.fallback_reason}" if one.fallback_reason else "",
        one.pending_reason or "",
        f"{one.outcome}: {one.outcome_message}" if one.outcome_message else one.outcome or "",
        f"attempt {one.attempt}" if one.attempt > 1 else "",
    ]
    return "; ".join(part for part in parts if part)


def _render_reasons(one: "Decision") -> None:
    print(printable(f"\nthe newest, {_time(one.time_us)}, in mode {one.mode}:"))
    if one.candidates:
        write_table(
            ("candidate", "score", ""),
            [(node, f"{score:.6g}", "chosen" if node == one.node else "") for node, score in one.candidates],
        )
    for reason, num_nodes in sorted(one.reasons.items(), key=lambda item: -item[1]):
        print(printable(f"{num_nodes} nodes: {reason}"))
    if one.terms:
        print(printable("reward: " + ", ".join(f"{name} {value:.6g}" for name, value in one.terms.items())))
