"""`longshore doctor`: what this machine has and lacks, and the command that provides what is missing."""

import functools
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from typing import NamedTuple

import typer

from longshore.cli.output import JsonOption, emit, printable, write_table
from longshore.core.words.errors import LongshoreError
from longshore.core.words.extras import OF_DEVELOPERS, missing_extra

PYTHON_MINIMUM = (3, 11)
PROBE_GROUP = "longshore.probes"
"""Entry points of other packages: functions that return what else to look for."""
PROGRAM_TIMEOUT_SECONDS = 60.0
"""Generous: the first import of JAX on a cold disk takes tens of seconds."""

# Run in a process of its own: the command line may not import JAX, and a broken install may end the process that tries.
JAX_PROBE = """
import jax
jax.config.update("jax_enable_x64", True)
value = jax.numpy.asarray(2**40) + 1
assert value.dtype == "int64" and int(value) == 2**40 + 1, value
print(jax.__version__, "on", jax.default_backend(), "with int64")
"""


class Check(NamedTuple):
    """What was looked for, and how it stands."""

    name: str
    status: str
    """`ok` or `missing`."""
    detail: str
    """The version or place that was found, or why it does not count."""
    is_essential: bool
    """Whether longshore's own commands need it; the others serve training and tests."""
    provided_by: str
    """The command that provides it."""


class Found(NamedTuple):
    """The outcome of looking for one thing."""

    is_ok: bool
    detail: str


class Probe(NamedTuple):
    """One thing to look for."""

    name: str
    find: Callable[[], Found]
    is_essential: bool
    provided_by: str


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="doctor")(doctor)


def doctor(json_mode: JsonOption = False) -> None:
    """Show what this machine has and lacks; exit 1 if an essential part is missing."""
    checks = run_checks(all_probes())
    is_ok = all(check.status == "ok" for check in checks if check.is_essential)
    emit(json_mode, {"ok": is_ok, "checks": [check._asdict() for check in checks]}, functools.partial(_render, checks))
    if not is_ok:
        raise typer.Exit(1)


def run_checks(probes: tuple[Probe, ...]) -> list[Check]:
    """Look for everything in turn."""
    checks = []
    for probe in probes:
        found = probe.find()
        status = "ok" if found.is_ok else "missing"
        checks.append(Check(probe.name, status, found.detail, probe.is_essential, probe.provided_by))
    return checks


def _render(checks: list[Check]) -> None:
    missing = [check for check in checks if check.status != "ok"]
    print(f"{_verdict(missing)}\n")
    write_table(
        ("part", "status", "found"), [(each.name, each.status, each.detail) for each in checks if each.status == "ok"]
    )
    for check in missing:
        status = "missing" if check.is_essential else "missing (optional)"
        print("\n" + printable(f"{check.name}: {status}: {check.detail}"))
        print(f"  provided by: {check.provided_by}")


def _verdict(missing: list[Check]) -> str:
    essential = [check.name for check in missing if check.is_essential]
    if essential:
        return f"longshore cannot run: {', '.join(essential)} {'is' if len(essential) == 1 else 'are'} missing"
    optional = f"; optional and missing: {', '.join(check.name for check in missing)}" if missing else ""
    return f"everything that longshore needs is here{optional}"


def required_packages() -> tuple[str, ...]:
    """Return the packages that longshore itself declares, without those of its extras."""
    requirements = metadata.requires("longshore") or []
    return tuple(re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements if "extra ==" not in text)


def find_python() -> Found:
    """Compare the running Python with the oldest that works."""
    return Found(sys.version_info >= PYTHON_MINIMUM, platform.python_version())


def find_package(distribution: str) -> Found:
    """Look for an installed Python package."""
    try:
        return Found(True, metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return Found(False, "not installed")


def find_jax() -> Found:
    """Import JAX in another process and see that 64-bit integers stay whole."""
    return _run_program([sys.executable, "-c", JAX_PROBE])


def all_extras() -> dict[str, tuple[str, ...]]:
    """Return the packages of every extra that users install, by the extra's name."""
    found: dict[str, list[str]] = {}
    for text in metadata.requires("longshore") or []:
        needed = re.match(r"([\w.-]+).*extra == ['\"](\w+)['\"]", text)
        if needed is not None and needed[2] not in OF_DEVELOPERS:
            found.setdefault(needed[2], []).append(needed[1])
    return {name: tuple(packages) for name, packages in found.items()}


def find_extra(packages: tuple[str, ...]) -> Found:
    """Look for the packages of an extra."""
    missing = [package for package in packages if not find_package(package).is_ok]
    return Found(not missing, f"without {', '.join(missing)}" if missing else "complete")


def find_cluster() -> Found:
    """Look for a kubeconfig or a pod's own account; the cluster itself is not asked."""
    from longshore.kube.config import load_identity

    try:
        identity = load_identity()
    except LongshoreError as error:
        return Found(False, error.message)
    return Found(True, f"{identity.server}, from {identity.source}")


def find_rights(verb: str, resource: str) -> Found:
    """Ask the cluster whether we may do something in all namespaces."""
    import asyncio

    from longshore.kube.config import load_identity

    cluster = find_cluster()
    if not cluster.is_ok:
        return Found(False, "nobody to ask: see `kubeconfig`")

    async def ask() -> bool:
        from longshore.kube.client import Client
        from longshore.kube.reviews import may_i

        async with Client(load_identity()) as client:
            return await may_i(client, verb, resource)

    try:
        is_granted = asyncio.run(ask())
    except ModuleNotFoundError as error:
        return Found(False, str(missing_extra(error) or error))
    except LongshoreError as error:
        return Found(False, error.message)
    return Found(is_granted, "granted" if is_granted else f"not granted: {verb} {resource}")


def find_program(names: tuple[str, ...], *version_arguments: str) -> Found:
    """Look for the first of several names of a program and ask it for its version."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return _run_program([path, *version_arguments])
    return Found(False, "not on the PATH")


def _run_program(command: list[str]) -> Found:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(False, f"does not run: {error}")
    # A program that fails says why in its last line; a version is in the first.
    lines = (result.stdout if result.returncode == 0 else result.stderr).strip().splitlines()
    return Found(result.returncode == 0, (lines[0] if result.returncode == 0 else lines[-1]) if lines else "")


def _cluster_probes() -> tuple[Probe, ...]:
    """Return what a cluster of one's own needs: programs, a way to it, and rights there."""
    kubectl, rights = "https://kubernetes.io/docs/tasks/tools", "the cluster's administrator (`deploy/rbac.yaml`)"
    return (
        Probe("kubectl", functools.partial(find_program, ("kubectl",), "version", "--client"), False, kubectl),
        Probe("helm", functools.partial(find_program, ("helm",), "version", "--short"), False, "https://helm.sh"),
        Probe("kubeconfig", find_cluster, False, "`kubectl config`, or `longshore cluster up` in a checkout"),
        Probe("rights: read nodes", functools.partial(find_rights, "list", "nodes"), False, rights),
        Probe("rights: read pods", functools.partial(find_rights, "list", "pods"), False, rights),
        Probe("rights: bind pods", functools.partial(find_rights, "create", "pods/binding"), False, rights),
    )


def all_probes() -> tuple[Probe, ...]:
    """Return everything to look for: the essentials first."""
    chromium = ("chromium", "chromium-browser", "google-chrome")
    return (
        Probe("python", find_python, True, "a Python of at least 3.11, then `make setup`"),
        *(Probe(name, functools.partial(find_package, name), True, "make setup") for name in required_packages()),
        Probe("jax", find_jax, False, "make setup"),
        Probe("chromium", functools.partial(find_program, chromium, "--version"), False, "apt-get install chromium"),
        Probe("git", functools.partial(find_program, ("git",), "--version"), False, "apt-get install git"),
        *(
            Probe(f"extra {name}", functools.partial(find_extra, packages), False, f"pip install 'longshore[{name}]'")
            for name, packages in all_extras().items()
        ),
        *_cluster_probes(),
        *(probe for entry in metadata.entry_points(group=PROBE_GROUP) for probe in entry.load()()),
    )
