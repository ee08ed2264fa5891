"""Recorded guides: where the optimum, or a file of decisions, places each pod of the training traces.

A guide that is a heuristic decides as it goes; these are worked out beforehand and looked up by the pod. A file holds
one JSON object a line, `{"pod": "namespace/name", "node": "name"}`, as decisions are written everywhere; other fields
are passed over, and so are decisions that left the pod waiting. What a plan records of a file is its digest too: a run
that is resumed or repeated with other decisions would be another run under the same name.
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.evaluation.identical import make_identical
from longshore.evaluation.optimum_beam import placements_found
from longshore.evaluation.optimum_dp import best_placements, make_table
from longshore.objectives.weighted import Weighted
from longshore.policies import REGISTRY as POLICIES
from longshore.policies.base import Policy
from longshore.simulator.callback import compilable
from longshore.simulator.params import Compiled
from longshore.training.run.plan import Plan

OPTIMUM = "optimum"
NOT_RECORDED = -1
_SHAPE = '{"pod": "namespace/name", "node": "name"}'


class _Line(msgspec.Struct, frozen=True):
    """What is read of a decision."""

    pod: str
    node: str | None


def find_guide(name: str) -> Policy | None:
    """Return the heuristic of that name; None if there is no guide or it is a recorded one.

    Raises:
        UnknownNameError: neither a heuristic, nor `optimum`, nor a file.
    """
    if not name or is_recorded(name):
        return None
    if name not in POLICIES:
        if "/" in name or Path(name).suffix:
            raise InputError(f"the guide's file `{name}` is not there", f"one line a decision: `{_SHAPE}`")
        known = [*POLICIES.names(), OPTIMUM]
        raise UnknownNameError("guide (a heuristic, `optimum`, or a file of decisions)", name, known)
    found: Policy = POLICIES.find(name)
    return compilable(found)


def is_recorded(name: str) -> bool:
    """Say whether a guide is worked out beforehand: `optimum`, or a file that is not called like a heuristic."""
    return name == OPTIMUM or (bool(name) and name not in POLICIES and Path(name).is_file())


def pinned(plan: Plan) -> Plan:
    """Return the plan with the digest of its guide's file; one that has it already is returned if the file fits.

    Raises:
        InputError: the file is not the one that the plan was made with, or cannot be read.
    """
    if plan.guide == OPTIMUM or not is_recorded(plan.guide):
        return plan
    found = hashlib.sha256(_bytes(Path(plan.guide))).hexdigest()
    if plan.guide_sha256 not in ("", found):
        raise InputError(
            f"the guide `{plan.guide}` is another file than the run was begun with: its SHA-256 is {found}, "
            f"expected {plan.guide_sha256}",
            "put the file of that time in its place, or begin a run of its own with the new one",
        )
    return dataclasses.replace(plan, guide_sha256=found)


def recorded_placements(
    guide: str, compiled: Sequence[Compiled], objective: Weighted, filters: tuple[str, ...], num_pods: int
) -> Array:
    """Return the node where the guide places each pod, int32 [traces, num_pods]; -1 = it says nothing.

    Raises:
        InputError: a trace whose optimum cannot be found, or a file without a decision about any of its pods.
    """
    nodes = np.full((len(compiled), num_pods), NOT_RECORDED, np.int32)
    if guide == OPTIMUM:
        for row, one in zip(nodes, compiled, strict=True):
            row[: len(one.pod_names)] = _optimal(one, objective, filters)
        return nodes
    decisions = read_decisions(Path(guide))
    for row, one in zip(nodes, compiled, strict=True):
        row[: len(one.pod_names)] = _looked_up(one, decisions)
    if (nodes < 0).all():
        raise InputError(
            f"`{guide}`: none of its {len(decisions)} placements is about a pod and a node of the training traces",
            f"the traces have pods such as `{compiled[0].pod_names[0]}` and nodes such as "
            f"`{compiled[0].encoded.node_names[0]}`; record the decisions on the same workload",
        )
    return nodes


def read_decisions(path: Path) -> dict[str, str]:
    """Return the node of every pod that a file of decisions places; of several decisions about a pod the first counts.

    Raises:
        InputError: a line that is no decision, or a file that cannot be read.
    """
    decoder, found = msgspec.json.Decoder(_Line), dict[str, str]()
    for number, line in enumerate(_bytes(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            decision = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"`{path}`, line {number}: {error}", f"a guide has one decision a line, such as {_SHAPE}"
            ) from error
        if decision.node is not None:
            found.setdefault(decision.pod, decision.node)
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"`{path}` cannot be read: {error.strerror}", "give a file of decisions") from error


def _looked_up(compiled: Compiled, decisions: Mapping[str, str]) -> list[int]:
    index = compiled.encoded.node_index
    return [index.get(decisions.get(name, ""), NOT_RECORDED) for name in compiled.pod_names]


def _optimal(compiled: Compiled, objective: Weighted, filters: tuple[str, ...]) -> Array:
    """Return the node of every pod in the best placements: exact by the table, else the best that a beam finds."""
    num_pods = len(compiled.pod_names)
    try:
        problem = make_identical(compiled, objective, filters)
        try:
            table = make_table(problem)
        except InputError:  # too many states, or a pod may have to wait on some way: the beam looks at few
            return placements_found(problem, None, num_pods)
        return best_placements(table, num_pods) if table.is_exact else placements_found(problem, table, num_pods)
    except InputError as error:
        raise InputError(
            f"the optimum of a training trace cannot be found: {error.message}",
            "let a heuristic guide, such as `--guide energy-latency`, or a file of decisions",
        ) from error
