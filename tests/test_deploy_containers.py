"""The container files: what a linter would say, and that what they copy and name is there."""

import fnmatch
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longshore import __version__
from support.container_images import instructions, last_stage
from support.deploy import CHART, DEPLOY, ROOT

FILES = sorted((DEPLOY / "containers").glob("*.Containerfile"))
WHEEL = "dist/longshore-*.whl"
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def test_there_is_one_for_each_mode() -> None:
    assert [path.stem for path in FILES] == ["longshore", "scheduler"]


@EACH
def test_hadolint_finds_nothing(path: Path, require_component: Callable[[str, str, bool], None]) -> None:
    program = Path(sys.executable).with_name("hadolint")
    require_component("hadolint", "make setup-all", program.is_file())
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@EACH
def test_base_images_are_plain_names_of_a_version(path: Path) -> None:
    stages, given = {"scratch"}, dict(rest.split("=") for word, rest in instructions(path) if word == "ARG")
    for base, _, name in (rest.partition(" AS ") for word, rest in instructions(path) if word == "FROM"):
        image = given.get(base.strip("${}"), base)
        assert image in stages or re.fullmatch(r"[a-z]+:\d+\.\d+[-a-z]*", image), image
        stages.add(name)


@EACH
def test_nothing_is_fetched_but_by_the_package_managers(path: Path) -> None:
    words = [word for word, _ in instructions(path)]
    assert "ADD" not in words
    assert "://" not in path.read_text(encoding="utf-8")
    assert not re.search(r"\b(curl|wget|git clone|apt-get)\b", path.read_text(encoding="utf-8"))


@EACH
def test_the_last_stage_runs_one_program_as_nobody(path: Path) -> None:
    last = last_stage(path)
    assert dict(last)["USER"] == "65532:65532"
    assert [word for word, _ in last][-1] == "ENTRYPOINT"
    assert dict(last)["ENTRYPOINT"].startswith('["'), "the program itself, not a shell: it must get the signals"
    assert "RUN" not in dict(last)


@EACH
def test_what_is_copied_is_there(path: Path) -> None:
    for rest in (rest for word, rest in instructions(path) if word == "COPY" and not rest.startswith("--from")):
        sources = [name for name in rest.split()[:-1] if name != WHEEL]
        assert [name for name in sources if not (ROOT / name).exists()] == []


def test_the_image_installs_the_wheel_that_make_dist_writes() -> None:
    path = DEPLOY / "containers" / "longshore.Containerfile"
    assert f"COPY {WHEEL} " in path.read_text(encoding="utf-8")
    assert fnmatch.fnmatch(f"dist/longshore-{__version__}-py3-none-any.whl", WHEEL)
    assert "`make dist`" in path.read_text(encoding="utf-8")


def test_python_packages_are_installed_by_their_hashes() -> None:
    runs = [rest for word, rest in instructions(DEPLOY / "containers" / "longshore.Containerfile") if word == "RUN"]
    installs = [run for run in runs if "pip install" in run]
    assert all("--no-deps" in run for run in installs)
    assert [run for run in installs if "--require-hashes" not in run] == [installs[-1]], "only longshore itself"


def test_the_image_that_decides_has_no_jax() -> None:
    lock = (ROOT / "requirements" / "live.lock").read_text(encoding="utf-8")
    names = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    assert {"aiohttp", "numpy", "sqlalchemy"} <= names
    assert not {"jax", "jaxlib", "scipy", "optax"} & names


def test_the_go_of_the_image_is_new_enough() -> None:
    (image,) = re.findall(
        r"^ARG GO=golang:(\d+\.\d+)", (DEPLOY / "containers" / "scheduler.Containerfile").read_text(), re.M
    )
    (needed,) = re.findall(r"^go (\d+\.\d+)", (ROOT / "scheduler" / "go.mod").read_text(), re.M)
    assert [int(part) for part in image.split(".")] >= [int(part) for part in needed.split(".")]


@EACH
def test_the_example_names_the_image_that_the_chart_asks_for(path: Path) -> None:
    (tag,) = re.findall(r"-t (\S+)", path.read_text(encoding="utf-8"))
    name, _, version = tag.partition(":")
    assert f'"{name}"' in (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    assert version == __version__
