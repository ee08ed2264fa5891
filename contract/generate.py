#!/usr/bin/env python3
"""Writes the contract between Python and Go: bundles, and cases with the answers that Python gives.

    python contract/generate.py            writes contract/bundles, contract/features.json and contract/cases.jsonl
    python contract/generate.py --check    exit 1 when a file is not what the script would write
    python contract/generate.py --cases 2000 --seed 7 --out FILE    more cases, for a larger comparison

The tests of both sides read the files (tests/test_contract.py, scheduler/inference/contract_test.go). Write them again
when features, operations or the format of bundles change on purpose, and look at what changed.
"""

import argparse
import json
import math
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
from longshore.core.arrays.feature_table import FEATURES, PLUGIN, Feature
from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import LOAD_SCALE, Bundle, Envelope, LoadScale, Weight
from longshore.core.network.bundle_files import CARD_FILE, write_bundle
from longshore.core.network.forward import LOADS, POD_KINDS, SCORE, Op, needed, tensor_names
from longshore.policies.bundle_folder import SHIPPED, read_folder
from longshore_lab.contract_cases import FIXED_NODES, PLUGIN_FEATURES, answer, make_case

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent
CASES_FILE = FOLDER / "cases.jsonl"
FEATURES_FILE = FOLDER / "features.json"
"""The table of features as far as Go has to hold it."""
NUM_CASES = 64
FEATURE_TOLERANCE, SCORE_TOLERANCE = 1e-6, 1e-5
TRAINED = ("openb", "openb-power", "openb-nodes")
"""Bundles of the repository that are part of the contract too."""

PREFERENCES: dict[str, dict[str, float]] = {
    "deepsets-dial": {"ee": 3.0, "lb": 0.5},
    "kinds": {"watts": 2.0},
    "openb": {"watts": 1.0, "fragmentation": 0.25},
}
"""Weights that these bundles are asked with besides their own, in a file that both sides read."""
WEIGHED = ("fragmentation", "watts")
OTHER_LOAD = LoadScale(0.1, 0.2, scarce_from=0.25, scarce_over=0.5, little_below=0.12)
"""No other bundle's: so both sides are seen to read it."""
PREFERENCES_FILE = FOLDER / "preferences.json"


def contract_bundles() -> dict[str, Bundle]:
    """Networks of every kind with random weights, over all features that both sides know."""
    everything = PLUGIN_FEATURES
    few = tuple(name for name in everything if not name.startswith(("gpu_", "pwr_", "cpu_per")))
    return {
        "linear": _policy("linear", Linear(), everything),
        "deepsets": _policy("deepsets", DeepSets(width=16), few),
        "deepsets-32": _policy("deepsets-32", DeepSets(), few),
        "deepsets-dial": _policy("deepsets-dial", DeepSets(width=8), few[:20], terms=("ee", "lb")),
        "gnn": _policy("gnn", Gnn(width=8), few),
        "kinds": _policy("kinds", Kinds(), everything, terms=WEIGHED),
        "kinds-load": _policy("kinds-load", Kinds(by_load=True), few, terms=WEIGHED, load=OTHER_LOAD),
        "odd": _odd(few[:10]),
        "table": _table(),
        "mlp": _policy("mlp", Mlp(width=8), few[:12], nodes=FIXED_NODES),
    }


def _policy(
    name: str,
    network: Network,
    features: tuple[str, ...],
    *,
    terms: tuple[str, ...] = (),
    nodes: int = 0,
    load: LoadScale | None = None,
) -> Bundle:
    blueprint = network.build(Sizes(len(features), nodes, len(terms)))
    ops, draw = needed(blueprint.ops), np.random.default_rng(list(name.encode()))
    shapes = {tensor: shape.shape for tensor, shape in blueprint.shapes}
    return Bundle(
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
        load=load,
    )


def _odd(features: tuple[str, ...]) -> Bundle:
    """The operations that no network of ours uses."""
    ops = (
        Op("linear", ("rows",), "layer", ("layer.weight", "layer.bias")),
        Op("tanh", ("layer",), "bent"),
        Op("scale", ("bent",), "scaled", ("factor",)),
        Op("mean_nodes", ("scaled",), "mean"),
        Op("outer", ("scaled", "mean"), "products"),
        Op("concat", ("products", "pod_kind", "load", "layer"), "all"),
        Op("linear", ("all",), SCORE, ("score.weight", "score.bias")),
    )
    draw = np.random.default_rng(5)
    shapes = {
        "layer.weight": (len(features), 4),
        "layer.bias": (4,),
        "factor": (4,),
        "score.weight": (16 + len(POD_KINDS) + len(LOADS) + 4, 1),
        "score.bias": (1,),
    }
    return Bundle(
        name="odd",
        features=feature_specs(features),
        ops=ops,
        tensors={name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()},
        objective="el-rl",
        envelope=Envelope((-1.0,) * len(features), (1.0,) * len(features)),
        load=LOAD_SCALE,
    )


def _table() -> Bundle:
    """A Q-table with a value for every state of its buckets."""
    features = ("node_cpu_used", "pod_cpu")
    buckets = FIXED_NODES + 1
    keys = np.arange(2**buckets, dtype=np.int64)
    values = np.random.default_rng(6).normal(size=(len(keys), FIXED_NODES + 1)).astype(np.float32)
    return Bundle(
        name="table",
        features=feature_specs(features),
        ops=(Op("lookup", ("rows",), SCORE, ("keys", "values", "edges")),),
        tensors={"keys": keys, "values": values, "edges": np.array([0.1], np.float32)},
        objective="el-rl",
        envelope=Envelope((-1.0, -1.0), (1.0, 1.0)),
        num_nodes=FIXED_NODES,
    )


def trained_bundles() -> dict[str, Bundle]:
    """The repository's own bundles, by name."""
    return {name: read_folder(SHIPPED / name) for name in TRAINED}


def files() -> dict[Path, bytes]:
    """All files of the contract, with what they must hold."""
    written = {
        FOLDER / "bundles" / name / file: data
        for name, policy in contract_bundles().items()
        for file, data in write_bundle(policy).items()
        if file != CARD_FILE
    }
    written[FEATURES_FILE] = b"[\n" + b",\n".join(_line(_row(feature)).strip() for feature in FEATURES) + b"\n]\n"
    written[PREFERENCES_FILE] = json.dumps(PREFERENCES, indent=2).encode() + b"\n"
    written[CASES_FILE] = b"".join(lines(NUM_CASES, 0))
    return written


def _row(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "version": feature.version,
        "scope": feature.scope.label,
        "in_plugin": PLUGIN in feature.where,
    }


def lines(count: int, seed: int) -> Iterator[bytes]:
    """So many cases that have an answer, each with it, as lines of JSON."""
    bundles = contract_bundles() | trained_bundles()
    index = found = 0
    while found < count:
        case = make_case(seed, index)
        index += 1
        expected = answer(case, bundles, PREFERENCES)
        if expected is not None:
            found += 1
            yield _line(case | {"expected": expected})


def stale(wanted: dict[Path, bytes]) -> list[Path]:
    """The files that hold something else; answers may differ as much as processors add up differently."""
    found = [path for path, data in wanted.items() if not path.exists() or path.read_bytes() != data]
    if CASES_FILE in found and CASES_FILE.exists() and _says_the_same(CASES_FILE.read_bytes(), wanted[CASES_FILE]):
        found.remove(CASES_FILE)
    return found


def _says_the_same(before: bytes, after: bytes) -> bool:
    old, new = ([json.loads(line) for line in text.splitlines()] for text in (before, after))
    return len(old) == len(new) and all(is_same(*pair) for pair in zip(old, new, strict=True))


def is_same(old: Any, new: Any) -> bool:
    """Compare two cases with their answers: the same but for the last digits of numbers."""
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=SCORE_TOLERANCE, abs_tol=FEATURE_TOLERANCE)
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(is_same(*pair) for pair in zip(old, new, strict=True))
    return bool(old == new)


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
    if arguments.check:
        found = stale(wanted)
        for path in found:
            sys.stderr.write(f"{path.relative_to(REPOSITORY)} is out of date\n")
        if found:
            sys.stderr.write("hint: run `python contract/generate.py` and look at what changed\n")
        return int(bool(found))
    for path, data in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
