"""`longshore schedule`: a scheduler of its own in a live cluster, for pods with its `schedulerName`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.interruption import stop_event
from longshore.cli.output import note

if TYPE_CHECKING:
    from longshore.kube.identity import Identity
    from longshore.policies.base import Policy
    from longshore.scheduling.service import Settings
    from longshore.store.decisions import DecisionLog

NO_STORE = "none"
_NAME, _LONGEST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"), 253
"""Names of objects in an API server."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="schedule")(schedule)


def schedule(
    policy: Annotated[str, typer.Option(help="Name of a policy, or the folder of a bundle.")] = "kube-default",
    kubeconfig: Annotated[
        Path | None, typer.Option(help="By default $KUBECONFIG, ~/.kube/config, or the pod's own identity.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig; by default the current one.")] = None,
    scheduler_name: Annotated[str, typer.Option(help="Pods with this schedulerName are scheduled.")] = "longshore",
    filters: Annotated[
        str | None, typer.Option(help="Filter set: upstream or upstream+latency; a bundle has its own by default.")
    ] = None,
    leader_elect: Annotated[bool, typer.Option(help="Let one of several replicas decide, by a lease.")] = True,
    wait: Annotated[bool, typer.Option(help="Wait while another replica holds the lease, or end at once.")] = True,
    lease_namespace: Annotated[str, typer.Option(help="Namespace of the lease.")] = "longshore-system",
    lease_name: Annotated[str, typer.Option(help="Name of the lease.")] = "longshore-scheduler",
    store: Annotated[
        str | None, typer.Option(help="Decision log: a file, a URL or `none`; by default in your data folder.")
    ] = None,
    readings: Annotated[Path | None, typer.Option(help="File of readings per node, read when it changes.")] = None,
    metrics_address: Annotated[
        str, typer.Option(help="Where /metrics, /healthz and /readyz are served; port 0 = a free one.")
    ] = "127.0.0.1:0",
    seed: Annotated[int, typer.Option(help="Seed of random ties and of the random policy.", min=0, max=2**32 - 1)] = 0,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log what happens between decisions, too.")] = False,
) -> None:
    """Schedule the pods of a live cluster that name this scheduler, until SIGTERM or Ctrl-C.

    Ends with code 1 where the cluster does not let it (credentials, rights, the lease), and with 2 where what it was
    given cannot serve (policy, kubeconfig).
    """
    from longshore.deciding.find import find_live_policy
    from longshore.kube.config import load_identity
    from longshore.scheduling.service import Settings

    host, port = _address(metrics_address)
    names = {"--scheduler-name": scheduler_name, "--lease-namespace": lease_namespace, "--lease-name": lease_name}
    for option, name in names.items():
        _check_name(option, name)
    chosen = find_live_policy(policy, filters)
    identity = load_identity(kubeconfig, context)
    settings = Settings(
        scheduler_name=scheduler_name,
        elects_leader=leader_elect,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        waits_for_lease=wait,
        identity=_unique_identity(),
        seed=seed,
    )
    _set_up_logging(verbose)
    log = _open_store(store)
    try:
        _run(identity, chosen, settings, log, readings, host, port)
    finally:
        if log is not None:
            log.close()
            if log.num_dropped:
                note(f"{log.num_dropped} entries of the decision log could not be written")


def _run(
    identity: "Identity",
    policy: "Policy",
    settings: "Settings",
    log: "DecisionLog | None",
    readings: Path | None,
    host: str,
    port: int,
) -> None:
    import gc
    import sys

    import uvloop

    from longshore.kube.client import Client
    from longshore.scheduling.failpoints import from_environment
    from longshore.scheduling.metrics import SchedulerMetrics
    from longshore.scheduling.service import Service, Surroundings
    from longshore.server.health import HealthServer
    from longshore.telemetry.file import FileSource

    async def serve() -> None:
        metrics = SchedulerMetrics(settings.scheduler_name)
        metrics.set_model(policy.name, sha256=policy.version)
        if log is not None:
            metrics.watch_log(lambda: log.num_dropped)
        source = None if readings is None else FileSource(readings)
        async with stop_event() as stop, Client(identity) as client:
            around = Surroundings(metrics, note, stop, log, source, from_environment())
            service = Service(client, policy, settings, around)
            ready = {"watch": service.why_not_ready}
            async with HealthServer(metrics.registry, ready=ready, host=host, port=port) as server:
                note(f"policy {policy.name}; metrics at {server.address}/metrics")
                await service.run()
        note(f"stopped; {service.scheduler.num_bound} pods bound")

    # Cycles are rare here: looking for them seldom keeps the slowest decisions short.
    gc.set_threshold(50_000, 20, 50)
    # The log's thread hands the interpreter back within half a millisecond; by default it may keep it for five.
    sys.setswitchinterval(0.0005)
    uvloop.run(serve())


def _open_store(store: str | None) -> "DecisionLog | None":
    if store == NO_STORE:
        return None
    from longshore.store.decisions import DecisionLog
    from longshore.store.location import default_store
    from longshore.store.schema import check_store

    where = store or str(default_store())
    check_store(where)
    return DecisionLog(where)


def _check_name(option: str, name: str) -> None:
    from longshore.core.words.errors import InputError

    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        got = f"got `{option} {name}`, expected small letters, digits, `-` and `.`, at most {_LONGEST_NAME}"
        raise InputError(got, "for instance `longshore-scheduler`")


def _address(text: str) -> tuple[str, int]:
    from longshore.core.words.errors import InputError

    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"got the address `{text}`, expected HOST:PORT", "for instance `127.0.0.1:0`, a free port")
    return host.strip("[]"), int(port)


def _unique_identity() -> str:
    import socket
    import uuid

    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _set_up_logging(verbose: bool) -> None:
    import logging

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.WARNING)
    logging.getLogger("longshore").setLevel(logging.DEBUG if verbose else logging.INFO)
