"""The contract between Python and Go: its files are what Python says today, and they cover what they are for."""

import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from longshore.core.arrays.feature_table import FEATURES, PLUGIN
from longshore.core.network.forward import KINDS
from longshore.policies.bundle_folder import read_folder

ROOT = Path(__file__).parent.parent
CONTRACT = ROOT / "contract"


@lru_cache(maxsize=1)
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("contract_generator", CONTRACT / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CONTRACT / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


def test_contract_files_are_up_to_date() -> None:
    assert generator().stale(generator().files()) == []


def test_contract_is_stale_when_an_answer_changes() -> None:
    case = cases()[0]
    name = next(iter(case["expected"]["features"]))
    changed = json.loads(json.dumps(case))
    changed["expected"]["features"][name][0] += 1e-4

    assert generator().is_same(case, case)
    assert not generator().is_same(case, changed)


def test_contract_has_a_case_for_every_feature_of_the_plugin() -> None:
    met = {name for case in cases() for name in case["expected"]["features"]}
    # The tables of what is left of a device have more rows than a case has devices; the committed cases meet some.
    in_tables = ("gpu_left_from", "gpu_had_from")
    names = {feature.name for feature in FEATURES if PLUGIN in feature.where}
    wanted = {name for name in names if not name.startswith(in_tables)}

    assert wanted - met == set()


def test_contract_bundles_read_every_feature_of_the_plugin() -> None:
    names = read_folder(CONTRACT / "bundles" / "linear").feature_names

    assert set(names) == {feature.name for feature in FEATURES if PLUGIN in feature.where}


def test_contract_bundles_use_every_operation() -> None:
    used = {op.kind for folder in (CONTRACT / "bundles").iterdir() for op in read_folder(folder).ops}

    assert used == set(KINDS)


def test_contract_has_clusters_of_many_sizes() -> None:
    sizes = {len(case["expected"]["nodes"]) for case in cases()}

    assert min(sizes) == 1
    assert max(sizes) > 40
    assert len(sizes) > 15


def test_contract_has_scores_of_other_weights_than_the_bundles_own() -> None:
    for name in json.loads((CONTRACT / "preferences.json").read_text(encoding="utf-8")):
        own, other = ([case["expected"][key][name] for case in cases()] for key in ("scores", "preferred"))
        assert own != other, name


def test_contract_stays_small() -> None:
    assert sum(path.stat().st_size for path in CONTRACT.rglob("*") if path.is_file()) < 2_000_000
