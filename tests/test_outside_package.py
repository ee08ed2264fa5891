"""The proof of "one file and one line": a package with one unit of every kind, installed beside longshore.

The package is `examples/outside_package`, which docs/guides/extend.md explains. It is built as a wheel and put on the
path of another process, and there the matrix tests of the rooms run over its units: they find them by themselves.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "examples" / "outside_package"
UNITS = PACKAGE / "outside_units"
PAGE = ROOT / "docs" / "guides" / "extend.md"

MATRICES = {
    "policies/heuristics": "outside-policy",
    "objectives": "outside-objective",
    "workloads": "outside-workload",
    "filters": "outside-filter",
    "agents": "outside-learner or outside-network",
    "telemetry": "outside-source",
}
"""The folder of every matrix test, and which of its tests are about units of the package."""
NOT_ALONE = "not every_pairing or outside-learner-outside-network"
"""Every learner with every network is for the house's own; here one pair shows that both train."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the package and return the environment of a process that has it installed."""
    folder = tmp_path_factory.mktemp("outside")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PACKAGE, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    path = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def test_matrix_tests_of_every_room_run_over_its_units(installed: dict[str, str], tmp_path: Path) -> None:
    names = " or ".join(MATRICES.values())
    tests = [f"tests/{folder}/test_matrix.py" for folder in MATRICES]
    chosen = ["-k", f"({names}) and ({NOT_ALONE})", f"--junitxml={tmp_path / 'found.xml'}"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *tests]
    run = subprocess.run(command, cwd=ROOT, env=installed, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-5000:]
    cases = ET.parse(tmp_path / "found.xml").iter("testcase")
    counts = Counter(case.attrib["classname"].removeprefix("tests.").removesuffix(".test_matrix") for case in cases)
    assert set(counts) == {folder.replace("/", ".") for folder in MATRICES}, counts


def longshore(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-c", "import sys; from longshore.cli.main import main; main(sys.argv[1:])"]
    return subprocess.run([*start, *arguments], cwd=UNITS, env=environment, capture_output=True, text=True, check=False)


def test_its_command_is_a_command(installed: dict[str, str]) -> None:
    assert longshore("outside-command", "you", environment=installed).stdout == "hello, you\n"


def test_without_a_package_its_files_are_named_where_names_stand(tmp_path: Path) -> None:
    goal = ("--workload", "workload.py:Steady", "--objective", "objective.py:Headroom")
    small = ("--steps", "200", "--training-traces", "2", "--selection-traces", "2", "--evaluations", "1")
    guided = ("--network", "network.py:Narrow", "--out", str(tmp_path / "mine"))
    trained = longshore("train", "learner.py:Bandit", *goal, *guided, *small)
    assert trained.returncode == 0, trained.stderr
    rows = f"{tmp_path / 'mine'},policy.py:POLICY,agent.py:choose"
    compared = longshore("compare", *goal, "--seeds", "2", "--policies", rows, "--filters", "upstream,filter.py:FILTER")
    assert compared.returncode == 0, compared.stderr
    assert all(row in compared.stdout for row in rows.split(","))
    # The bundle says on what it was trained, and that is not reason enough to run it.
    assert "not run on its word" in longshore("evaluate", str(tmp_path / "mine")).stderr
    assert longshore("command.py:register", "outside-command", "you").stdout == "hello, you\n"


def test_the_page_for_authors_shows_the_files_as_they_are() -> None:
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    files = {path.read_text(encoding="utf-8") for path in UNITS.glob("*.py") if path.name != "__init__.py"}
    assert set(shown) == files
