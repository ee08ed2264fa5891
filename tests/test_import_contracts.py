"""What may import what: the contracts of `.importlinter`, and what import-linter cannot see."""

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from longshore.cli.listing import REGISTRIES, ROOMS, registry_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "longshore"

ROOMS_WITH_JAX = {"agents", "simulator", "training", "evaluation"}
ROOMS_WITH_AIOHTTP = {"kube"}
CLOCK_CALLS = {"now", "utcnow", "today"}


def contract_sources(*contracts: str) -> set[str]:
    """Return the rooms that the named contracts of `.importlinter` bind."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    texts = (parser[f"importlinter:contract:{contract}"]["source_modules"] for contract in contracts)
    return {module.removeprefix("longshore.") for text in texts for module in text.split()}


def rooms() -> set[str]:
    return {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_contracts_hold() -> None:
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_room_is_bound_by_the_jax_contract_or_may_import_it() -> None:
    bound = contract_sources("no-jax-where-decisions-are-made", "no-jax-in-commands")
    assert bound == rooms() - ROOMS_WITH_JAX


def test_every_room_but_kube_is_bound_by_the_api_server_contract() -> None:
    assert contract_sources("only-kube-speaks-to-the-api-server") == rooms() - ROOMS_WITH_AIOHTTP


def test_what_uses_jax_outside_the_product_has_64_bit_numbers() -> None:
    """Whoever imports `longshore.simulator` switches them on; without them JAX turns 2^40 bytes into 0."""
    packages = ("longshore", "longshore_lab", "longshore_studies")
    graph = grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)
    users = {name for name in graph.find_modules_that_directly_import("jax") if name.startswith(packages[1:])}
    assert users
    with_64_bits = {name for name in users if graph.chain_exists(name, "longshore.simulator", as_packages=True)}
    assert users - with_64_bits == set()


@pytest.mark.parametrize("path", sorted((SOURCE / "core").rglob("*.py")), ids=lambda path: path.stem)
def test_core_opens_no_files_and_reads_no_clocks(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    attributes = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    assert "open" not in names
    assert not attributes & CLOCK_CALLS


@pytest.mark.parametrize("room", ROOMS)
def test_tables_name_only_modules_of_their_own_room(room: str) -> None:
    # import-linter cannot see strings, so a table could otherwise reach across rooms.
    table = registry_of(room).table
    own = REGISTRIES[room].partition(":")[0] + "."
    assert {name: target for name, target in table.items() if not target.startswith(own)} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_every_entry_loads_and_describes_itself(room: str) -> None:
    registry = registry_of(room)
    for name in registry.table:
        assert registry.load(name) is not None
        assert registry.describe(name), f"the module of `{name}` needs a docstring"
