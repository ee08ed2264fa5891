"""What users install: the wheel stands alone, and without extras every command works or names the one it needs."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from longshore.cli.main import COMMANDS
from longshore.core.words.extras import missing_extra
from support.deploy import ROOT

EXAMPLE = ROOT / "examples" / "small-cluster.json"
PROFILE = ROOT / "scheduler" / "config" / "profile-plugin.yaml"

WITHOUT_EXTRAS = {
    "list": ["policies"],
    "doctor": [],
    "import": [str(EXAMPLE)],
    "place": [str(EXAMPLE)],
    "config validate": [str(PROFILE)],
    "models list": [".", "--json"],
    "models show": ["openb"],
    "models verify": ["openb"],
    "models diff": ["openb", "openb-power"],
}
"""Commands that the plain installation can do, with arguments."""

WITH_EXTRAS = {
    "compare": ("train", []),
    "simulate": ("train", []),
    "demo": ("train", []),
    "train ppo": ("train", ["--out", "mine"]),
    "sweep": ("train", ["ppo", "--out", "mine"]),
    "evaluate": ("train", ["openb"]),
    "notebook": ("notebook", []),
    "schedule": ("live", ["--kubeconfig", "kubeconfig"]),
    "record": ("live", ["--kubeconfig", "kubeconfig", "--out", "trace.jsonl"]),
    "workload run": ("live", ["test1", "--kubeconfig", "kubeconfig"]),
    "top": ("live", ["--kubeconfig", "kubeconfig"]),
    "decisions": ("live", ["--store", "decisions.db"]),
    "models push": ("live", ["openb", "--store", "decisions.db"]),
    "models pull": ("live", ["openb", "latest", "mine", "--store", "decisions.db"]),
    "models promote": ("live", ["openb", "1", "--store", "decisions.db"]),
    "models demote": ("live", ["openb", "active", "--store", "decisions.db"]),
    "models delete": ("live", ["openb", "1", "--store", "decisions.db"]),
    "models serve": ("live", ["--store", "decisions.db"]),
}
"""Commands that need an extra, with its name and arguments."""

OTHERS = {"tensorboard"}
"""Commands that start a program which no extra provides."""

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "me", "user": {"token": "x"}}],
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, str(ROOT / "deploy" / "dist.py"), "--out", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an environment with the wheel and its plain dependencies alone."""
    folder = tmp_path_factory.mktemp("plain")
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet"]
    environment = os.environ | {"VIRTUAL_ENV": str(folder)}
    subprocess.run([*uv, "venv", "--python", sys.executable, str(folder)], check=True)
    lock = ROOT / "requirements" / "plain.lock"
    install = [*uv, "pip", "install", "--no-deps"]
    subprocess.run([*install, "--require-hashes", "-r", str(lock)], env=environment, check=True)
    subprocess.run([*install, str(wheel)], env=environment, check=True)
    return folder


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    (tmp_path / "kubeconfig").write_text(json.dumps(KUBECONFIG))
    return tmp_path


def run(plain: Path, workplace: Path, command: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "HOME")}
    return subprocess.run(
        [str(plain / "bin" / "longshore"), *command.split(), *arguments],
        cwd=workplace,
        env=kept | {"XDG_STATE_HOME": str(workplace)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def own_commands() -> Iterator[str]:
    """Yield the commands of the product by name, without those that the lab and the studies add."""
    app = typer.Typer()
    app.callback()(lambda: None)
    for module in (module for modules in COMMANDS.values() for module in modules):
        __import__(module, fromlist=["register"]).register(app)
    yield from leaves(typer.main.get_command(app), ())


def leaves(command: object, path: tuple[str, ...]) -> Iterator[str]:
    commands = getattr(command, "commands", None)
    if not commands:
        yield " ".join(path)
    for name, one in (commands or {}).items():
        yield from leaves(one, (*path, name))


def test_every_command_is_tried() -> None:
    tried = {*WITHOUT_EXTRAS, *WITH_EXTRAS, *OTHERS}
    assert {command if command != "train" else "train ppo" for command in own_commands()} == tried


@pytest.mark.parametrize("command", WITHOUT_EXTRAS)
def test_commands_that_need_no_extra_work_without(plain: Path, workplace: Path, command: str) -> None:
    done = run(plain, workplace, command, WITHOUT_EXTRAS[command])
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", WITH_EXTRAS)
def test_commands_that_need_an_extra_name_it_in_one_line(plain: Path, workplace: Path, command: str) -> None:
    extra, arguments = WITH_EXTRAS[command]
    done = run(plain, workplace, command, arguments)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f"pip install 'longshore[{extra}]'")
    assert (done.returncode, done.stdout) == (1, "")


def test_tensorboard_says_how_to_install_it(plain: Path, workplace: Path) -> None:
    logs = workplace / "tensorboard"
    logs.mkdir()
    (logs / "events.out.tfevents.1").touch()
    done = run(plain, workplace, "tensorboard", ["."])
    assert done.returncode == 1, done.stderr
    assert "pip install tensorboard" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_wheel_holds_the_product_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"longshore"}
    assert "longshore/tour.py" in names
    assert not [name for name in names if "longshore_lab" in name or "longshore_studies" in name]


def test_the_wheel_holds_the_shipped_bundles(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    shipped = sorted((ROOT / "src" / "longshore" / "bundles").rglob("*.*"))
    assert len(shipped) == 9
    for path in shipped:
        assert archive.read(path.relative_to(ROOT / "src").as_posix()) == path.read_bytes()


def test_the_product_mentions_neither_lab_nor_studies(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    code = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")}
    assert [name for name, text in code.items() if "longshore_lab" in text or "longshore_studies" in text] == []


def test_checksums_are_those_of_the_files(dist: Path) -> None:
    lines = [line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest for digest, name in lines)


def test_the_same_commit_gives_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "deploy" / "dist.py"), "--out", str(tmp_path)], check=True)
    assert (tmp_path / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def test_the_chart_archive_holds_the_chart(dist: Path) -> None:
    (archive,) = dist.glob("*.tgz")
    chart = ROOT / "deploy" / "chart"
    with tarfile.open(archive) as tar:
        files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers()}
        held = {name: file.read() for name, file in files.items() if file is not None}
    assert held == {
        path.relative_to(chart).as_posix(): path.read_bytes() for path in chart.rglob("*") if path.is_file()
    }


def test_the_sdist_builds_the_same_wheel(dist: Path, wheel: Path, tmp_path: Path) -> None:
    (sdist,) = (path for path in dist.glob("*.tar.gz"))
    with tarfile.open(sdist) as tar:
        tar.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (again,) = tmp_path.glob("*.whl")
    first, second = (zipfile.ZipFile(path) for path in (wheel, again))
    assert {name: first.read(name) for name in first.namelist()} == {
        name: second.read(name) for name in second.namelist()
    }


def test_extras_are_known_by_every_package_that_they_install() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in ("train", "live", "sweep", "ray"):
        for requirement in project["optional-dependencies"][extra]:
            package = requirement.partition(">")[0].partition("[")[0].replace("-", "_")
            found = missing_extra(ModuleNotFoundError(name=package))
            assert found is not None, package
