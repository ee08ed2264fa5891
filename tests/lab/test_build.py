"""Tests of building the Go programs: the cache's key, nothing half-built, and what is said when Go is missing."""

from pathlib import Path

import pytest

from longshore.core.words.errors import ComponentMissingError, LongshoreError, UnknownNameError
from longshore.store.location import CACHE_VARIABLE, cache_folder
from longshore_lab import build

UPSTREAM_ETCD = "go.etcd.io/etcd/server/v3 v3.4.5"
WRITE_OUTPUT = 'while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out="$2"; fi; shift; done; echo program > "$out"'
BUILD_ALL = f'if [ "$1" = list ]; then echo "go: downloading x" >&2; echo "$KWOK_MODULE"; exit; fi; {WRITE_OUTPUT}'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a small source tree in place of the real one, and a cache of its own."""
    folder = tmp_path / "controlplane"
    for name in ("oracle", "checker", "upstream"):
        (folder / name).mkdir(parents=True)
    for module, pin in (("", "k8s.io/kubernetes v1.2.3"), ("etcd", UPSTREAM_ETCD), ("kwok", "sigs.k8s.io/kwok v0.1.2")):
        (folder / module).mkdir(exist_ok=True)
        (folder / module / "go.mod").write_text(f"module example\n\nrequire {pin}\n")
        (folder / module / "go.sum").write_text("")
    (folder / "etcd" / "main.go").write_text("package main\n")
    (folder / "tools").mkdir()
    pins = "github.com/prometheus/prometheus v0.3.4\n\thelm.sh/helm/v4 v4.5.6"
    (folder / "tools" / "go.mod").write_text(f"module example\n\nrequire (\n\t{pins}\n)\n")
    (folder / "tools" / "go.sum").write_text("")
    (folder / "kubeadm").mkdir()
    (folder / "kubeadm" / "go.mod").write_text("module example\n\nrequire k8s.io/kubernetes v1.2.3\n")
    (folder / "kubeadm" / "go.sum").write_text("")
    scheduler = tmp_path / "scheduler"
    (scheduler / "longshore").mkdir(parents=True)
    (scheduler / "go.mod").write_text("module example\n\nrequire k8s.io/kubernetes v1.2.3\n")
    (scheduler / "go.sum").write_text("")
    (scheduler / "longshore" / "plugin.go").write_text("package longshore\n")
    (scheduler / "longshore" / "plugin_test.go").write_text("package longshore\n")
    for app in build.APPS:
        (tmp_path / "apps" / app).mkdir(parents=True)
        (tmp_path / "apps" / app / "main.go").write_text("package main\n")
    (tmp_path / "apps" / "go.mod").write_text("module example\n")
    (folder / "oracle" / "main.go").write_text("package main\n")
    (folder / "oracle" / "main_test.go").write_text("package main\n")
    monkeypatch.setattr(build, "SOURCE", folder)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return folder


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder as the only one on the PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def fake_go(tools: Path, script: str) -> None:
    program = tools / "go"
    program.write_text(f'#!/bin/sh\necho "$PWD $@" >> "{tools}/calls"\n{script}\n')
    program.chmod(0o755)


def calls(tools: Path) -> list[str]:
    path = tools / "calls"
    return path.read_text().splitlines() if path.exists() else []


def built_files(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "oracle/main.go", "oracle/new.go", "upstream/new.go"])
def test_the_cache_key_changes_with_the_source(source: Path, name: str) -> None:
    before = build.program_path("oracle")
    path = source / name
    path.write_text(f"{path.read_text() if path.exists() else ''}// changed\n")
    assert build.program_path("oracle") != before


def test_the_cache_key_changes_when_code_moves_between_files(source: Path) -> None:
    before = build.program_path("oracle")
    (source / "oracle" / "main.go").rename(source / "oracle" / "other.go")
    assert build.program_path("oracle") != before


def test_the_cache_key_does_not_depend_on_tests_or_other_files(source: Path) -> None:
    before = build.program_path("oracle")
    (source / "oracle" / "main_test.go").write_text("// changed\n")
    (source / "README.md").write_text("changed\n")
    assert build.program_path("oracle") == before


def test_without_the_source_the_clone_is_named(source: Path) -> None:
    (source / "go.mod").unlink()
    with pytest.raises(ComponentMissingError, match="make controlplane"):
        build.program_path("oracle")


def test_building_leaves_the_program_and_nothing_else(source: Path, tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    target = build.build_program("oracle")
    assert target == build.program_path("oracle")
    assert target.read_text() == "program\n"
    assert built_files(target) == [target.name]
    (call,) = calls(tools)
    assert call.startswith(f"{source} build -trimpath")
    assert call.endswith("./oracle")


@pytest.mark.usefixtures("source")
def test_what_is_built_is_not_built_again(tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    assert build.build_program("oracle") == build.build_program("oracle")
    assert len(calls(tools)) == 1


def test_changed_source_is_built_again(source: Path, tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    first = build.build_program("oracle")
    (source / "oracle" / "main.go").write_text("package main // changed\n")
    assert build.build_program("oracle") != first
    assert len(calls(tools)) == 2


@pytest.mark.usefixtures("source")
def test_a_failed_build_leaves_nothing_and_says_what_go_said(tools: Path) -> None:
    fake_go(tools, f'{WRITE_OUTPUT}\necho "main.go:3: undefined: x" >&2\nexit 2')
    with pytest.raises(LongshoreError, match=r"`go build` failed with 2:\nmain\.go:3: undefined: x") as caught:
        build.build_program("oracle")
    assert caught.value.hint is not None
    assert built_files(build.program_path("oracle")) == []


@pytest.mark.usefixtures("source", "tools")
def test_without_go_the_command_that_installs_it_is_named() -> None:
    with pytest.raises(ComponentMissingError) as caught:
        build.build_program("oracle")
    assert caught.value.component.startswith("go")
    assert "make controlplane" in caught.value.provided_by
    assert built_files(build.program_path("oracle")) == []


@pytest.mark.usefixtures("source")
def test_a_long_build_says_that_it_goes_on(
    tools: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "_PROGRESS_SECONDS", 0.05)
    fake_go(tools, f"PATH=/usr/bin:/bin sleep 0.3\n{WRITE_OUTPUT}")
    build.build_program("oracle")
    captured = capsys.readouterr()
    assert "building oracle v1.2.3" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("name", build.PROGRAMS)
def test_an_upstream_program_lies_under_its_release(source: Path, name: str) -> None:
    label = build.PROGRAMS[name][0]
    path = build.program_path(name)
    assert path.name == name
    assert path.parent.name.startswith(f"{label}-{build.release(label)}-")
    assert source.parent in path.parents


def test_an_upstream_programs_key_does_not_depend_on_our_own_code(source: Path) -> None:
    before = build.program_path("kube-apiserver")
    (source / "oracle" / "main.go").write_text("package main // changed\n")
    (source / "etcd" / "go.mod").write_text(f"module other\n\nrequire {UPSTREAM_ETCD}\n")
    assert build.program_path("kube-apiserver") == before


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_an_upstream_programs_key_changes_with_what_pins_it(source: Path, name: str) -> None:
    before = build.program_path("etcd")
    path = source / "etcd" / name
    path.write_text(f"{path.read_text()}// changed\n")
    assert build.program_path("etcd") != before


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "longshore/plugin.go", "cmd/kube-scheduler/main.go"])
def test_our_kube_schedulers_key_changes_with_its_source(source: Path, name: str) -> None:
    before = build.program_path("longshore-kube-scheduler")
    path = source.parent / "scheduler" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{path.read_text() if path.exists() else ''}// changed\n")
    assert build.program_path("longshore-kube-scheduler") != before


def test_our_kube_schedulers_key_does_not_depend_on_tests(source: Path) -> None:
    before = build.program_path("longshore-kube-scheduler")
    (source.parent / "scheduler" / "longshore" / "plugin_test.go").write_text("package longshore // changed\n")
    assert build.program_path("longshore-kube-scheduler") == before
    assert build.program_path("kube-scheduler") != before


def test_our_kube_scheduler_is_built_in_its_module(source: Path, tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    target = build.build_program("longshore-kube-scheduler")
    assert target.read_text() == "program\n"
    (call,) = calls(tools)
    assert call.startswith(f"{source.parent / 'scheduler'} build -trimpath")
    assert "gitVersion=v1.2.3" in call
    assert call.endswith("./cmd/kube-scheduler")


def test_an_unknown_program_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown program `kube-sheduler`"):
        build.program_path("kube-sheduler")


def test_a_module_without_its_pin_is_refused(source: Path) -> None:
    (source / "kwok" / "go.mod").write_text("module example\n")
    with pytest.raises(LongshoreError, match=r"requires no `sigs\.k8s\.io/kwok`"):
        build.program_path("kwok")


@pytest.mark.usefixtures("source", "tools")
def test_a_program_that_is_not_built_names_the_command() -> None:
    with pytest.raises(ComponentMissingError, match="make controlplane"):
        build.require_program("kubectl")


@pytest.mark.usefixtures("source", "tools")
def test_a_tool_that_is_not_built_names_a_command_of_its_own() -> None:
    with pytest.raises(ComponentMissingError, match="make deploy-tools"):
        build.require_program("helm")


def test_tools_lie_under_their_release_and_are_built_from_modules_of_their_own(source: Path, tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    assert build.main(["tools"]) == 0
    assert build.require_program("helm").parent.name.startswith("helm-v4.5.6-")
    assert build.require_program("promtool").parent.name.startswith("promtool-v0.3.4-")
    assert build.require_program("kubeadm").parent.name.startswith("kubeadm-v1.2.3-")
    folders = [str(source / name) for name in ("tools", "tools", "kubeadm")]
    assert [call.split()[0] for call in calls(tools)] == folders
    assert not build.program_path("kubectl").is_file(), "a cluster's programs are another command's"


@pytest.mark.usefixtures("source")
def test_promtool_is_built_without_the_discovery_of_clouds(tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    build.build_program("promtool")
    (call,) = calls(tools)
    assert "-tags=remove_all_sd" in call


@pytest.mark.usefixtures("source")
def test_kubernetes_is_linked_with_its_version(tools: Path) -> None:
    fake_go(tools, WRITE_OUTPUT)
    assert build.require_program(build.build_program("kubelet").name).read_text() == "program\n"
    (call,) = calls(tools)
    assert "-X k8s.io/component-base/version.gitVersion=v1.2.3" in call
    assert call.endswith("k8s.io/kubernetes/cmd/kubelet")


def test_an_app_is_static_and_rebuilt_when_its_own_source_changes(source: Path, tools: Path) -> None:
    fake_go(tools, f'[ "$CGO_ENABLED" = 0 ] || exit 9\n{WRITE_OUTPUT}')
    first, other = build.build_app("pause"), build.app_path("responder")
    (source.parent / "apps" / "pause" / "main.go").write_text("package main // changed\n")
    (source.parent / "apps" / "pause" / "main_test.go").write_text("package main\n")
    assert build.app_path("pause") != first
    assert build.app_path("responder") == other
    with pytest.raises(ComponentMissingError, match="make controlplane"):
        build.require_app("pause")


def test_an_unknown_app_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown app `paws`"):
        build.app_path("paws")


@pytest.fixture
def kwok_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with KWOK's stages in the place of its Go module."""
    for stage in build.STAGES:
        path = tmp_path / "module" / "kustomize" / "stage" / f"{stage}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"kind: Stage # {stage}\n")
    monkeypatch.setenv("KWOK_MODULE", str(tmp_path / "module"))
    return tmp_path / "module"


@pytest.mark.usefixtures("source", "kwok_module")
def test_the_stages_are_copied_once(tools: Path) -> None:
    fake_go(tools, BUILD_ALL)
    assert build.copy_stages() == build.copy_stages() == build.stages_folder()
    assert sorted(path.stem for path in build.stages_folder().iterdir()) == [
        "node-heartbeat-with-lease",
        "node-initialize",
        "pod-complete",
        "pod-delete",
        "pod-ready",
    ]
    assert len(calls(tools)) == 1


@pytest.mark.usefixtures("source")
def test_stages_that_are_not_all_there_are_none(tools: Path, kwok_module: Path) -> None:
    (kwok_module / "kustomize" / "stage" / "pod" / "fast" / "pod-delete.yaml").unlink()
    fake_go(tools, BUILD_ALL)
    with pytest.raises(FileNotFoundError):
        build.copy_stages()
    assert not build.stages_folder().exists()


@pytest.mark.usefixtures("source", "kwok_module")
def test_the_program_builds_all_and_ends_with_0(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_go(tools, BUILD_ALL)
    assert build.main() == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"   1/13 oracle: {build.program_path('oracle').relative_to(cache_folder())} (")
    assert [line.split()[1].rstrip(":") for line in lines[:10]] == [*build.OWN_PROGRAMS, *build.PROGRAMS]
    assert all(build.require_program(name).is_file() for name in build.PROGRAMS)
    assert all(build.require_app(name).is_file() for name in build.APPS)


@pytest.mark.usefixtures("source", "tools")
def test_the_program_says_what_is_missing_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main() == 1
    message = capsys.readouterr().err
    assert message.startswith("error: `go (1.26 or newer)` is missing on this machine")
    assert "hint: " in message
