#!/usr/bin/env python3
"""Writes the contract between Python and Go: bundles, and cases with the answers that Python gives.

    python contract/generate.py            writes contract/bundles and contract/cases.jsonl
    python contract/generate.py --check    exit 1 when a file is not what the script would write
    python contract/generate.py --cases 2000 --seed 7 --out FILE    more cases, for a larger comparison

The tests of both sides read the files (tests/test_contract.py, scheduler/inference/contract_test.go). Write them again
when features, operations or the format of bundles change on purpose, and look at what changed.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from longshore.agents.networks.base import Network, Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.agents.networks.gnn import Gnn
from longshore.agents.networks.kinds import Kinds
from longshore.agents.networks.linear import Linear
from longshore.agents.networks.mlp import Mlp
from longshore.core.bundle import CARD_FILE, write_bundle
from longshore.core.features import feature_specs
from longshore.core.forward import needed, tensor_names
from longshore.core.policy import Envelope, Policy, Weight
from longshore.lab.contract_cases import FIXED_NODES, PLUGIN_FEATURES, answer, make_case
from longshore.policies.bundle_folder import read_folder

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent
CASES_FILE = FOLDER / "cases.jsonl"
NUM_CASES = 64
TRAINED = ("openb", "openb-power")
"""Bundles of the repository that are part of the contract too."""


def contract_policies() -> dict[str, Policy]:
    """Networks of every kind with random weights, over all features that both sides know."""
    everything = PLUGIN_FEATURES
    few = tuple(name for name in everything if not name.startswith(("gpu_", "pwr_", "cpu_per")))
    return {
        "linear": _policy("linear", Linear(), everything),
        "deepsets": _policy("deepsets", DeepSets(width=16), few),
        "deepsets-32": _policy("deepsets-32", DeepSets(), few),
        "deepsets-dial": _policy("deepsets-dial", DeepSets(width=8), few[:20], terms=("ee", "lb")),
        "gnn": _policy("gnn", Gnn(width=8), few),
        "kinds": _policy("kinds", Kinds(), everything, terms=("fragmentation", "watts")),
        "mlp": _policy("mlp", Mlp(width=8), few[:12], nodes=FIXED_NODES),
    }


def _policy(
    name: str, network: Network, features: tuple[str, ...], *, terms: tuple[str, ...] = (), nodes: int = 0
) -> Policy:
    blueprint = network.build(Sizes(len(features), nodes, len(terms)))
    ops, draw = needed(blueprint.ops), np.random.default_rng(list(name.encode()))
    shapes = {tensor: shape.shape for tensor, shape in blueprint.shapes}
    return Policy(
        name=name,
        features=feature_specs(features),
        ops=ops,
        tensors={
            tensor: (draw.normal(size=shapes[tensor]) / np.sqrt(max(shapes[tensor][0], 1))).astype(np.float32)
            for tensor in tensor_names(ops)
        },
        preference=tuple(Weight(term, 0.25 + position) for position, term in enumerate(terms)),
        objective="el-rl",
        envelope=Envelope((-1.0,) * len(features), (1.0,) * len(features)),
        num_nodes=nodes or None,
    )


def trained_policies() -> dict[str, Policy]:
    """The repository's own bundles, by name."""
    return {name: read_folder(REPOSITORY / "bundles" / name) for name in TRAINED}


def files() -> dict[Path, bytes]:
    """All files of the contract, with what they must hold."""
    written = {
        FOLDER / "bundles" / name / file: data
        for name, policy in contract_policies().items()
        for file, data in write_bundle(policy).items()
        if file != CARD_FILE
    }
    written[CASES_FILE] = b"".join(lines(NUM_CASES, 0))
    return written


def lines(count: int, seed: int) -> Iterator[bytes]:
    """So many cases that have an answer, each with it, as lines of JSON."""
    bundles = contract_policies() | trained_policies()
    index = found = 0
    while found < count:
        case = make_case(seed, index)
        index += 1
        expected = answer(case, bundles)
        if expected is not None:
            found += 1
            yield _line(case | {"expected": expected})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="write the contract between Python and Go")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    parser.add_argument("--cases", type=int, default=0, help="write so many cases to --out instead")
    parser.add_argument("--seed", type=int, default=1, help="of these cases")
    parser.add_argument("--out", type=Path, help="the file for these cases")
    arguments = parser.parse_args()
    if arguments.out is not None:
        with arguments.out.open("wb") as file:
            file.writelines(lines(arguments.cases, arguments.seed))
        return 0
    wanted = files()
    stale = [path for path, data in wanted.items() if not path.exists() or path.read_bytes() != data]
    if arguments.check:
        for path in stale:
            print(f"{path.relative_to(REPOSITORY)} is out of date\nhint: run `python {Path(__file__).name}`", file=sys.stderr)
        return int(bool(stale))
    for path, data in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
