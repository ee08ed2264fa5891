"""`longshore schedule`: a scheduler of its own in a live cluster, for pods with its `schedulerName`."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from longshore.cli.interruption import stop_event
from longshore.cli.options import ContextOption, KubeconfigOption, ReadingsOption
from longshore.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longshore.kube.identity import Identity
    from longshore.policies.base import Policy
    from longshore.scheduling.service import Settings
    from longshore.server.serving import Tls
    from longshore.store.decisions import DecisionLog
    from longshore.telemetry.base import Source

NO_STORE = "none"
_NAME, _LONGEST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"), 253
"""Names of objects in an API server."""
Address = Annotated[str, typer.Option(help="Where /metrics, /healthz and /readyz are served; port 0 = a free one.")]
Certificate = Annotated[
    Path | None, typer.Option(help="Serve those by HTTPS with this certificate (PEM), read again when renewed.")
]
Key = Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")]
Authorize = Annotated[
    bool, typer.Option(help="Show /metrics to those alone to whom the API server grants `get /metrics`.")
]


class OnMissingReadings(StrEnum):
    """What becomes of a pod with a hard latency limit on a node whose latency is not known."""

    PLACE = "place"
    WAIT = "wait"


MissingReadings = Annotated[
    OnMissingReadings,
    typer.Option(help="May a node of unknown latency take a pod with a hard latency limit, or does the pod wait?"),
]


class Page(NamedTuple):
    """Where metrics and health are served, and to whom."""

    host: str
    port: int
    tls: "Tls | None"
    is_reviewed: bool


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="schedule")(schedule)


def schedule(
    policy: Annotated[str, typer.Option(help="Name of a policy, or the folder of a bundle.")] = "kube-default",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
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
    keep_decisions: Annotated[
        int | None, typer.Option(help="Decisions that the log keeps; by default a million.", min=1)
    ] = None,
    readings: ReadingsOption = None,
    on_missing_readings: MissingReadings = OnMissingReadings.PLACE,
    metrics_address: Address = "127.0.0.1:0",
    metrics_tls_certificate: Certificate = None,
    metrics_tls_key: Key = None,
    metrics_authorize: Authorize = False,
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
    from longshore.telemetry.sources import find_sources

    sources = find_sources(readings or ())
    page = _page(metrics_address, metrics_tls_certificate, metrics_tls_key, metrics_authorize)
    _check_names({"--scheduler-name": scheduler_name, "--lease-namespace": lease_namespace, "--lease-name": lease_name})
    chosen = find_live_policy(policy, filters, waits_for_readings=on_missing_readings == "wait")
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
    log = _open_store(store, keep_decisions)
    try:
        _run(identity, chosen, settings, log, sources, page)
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
    sources: "Mapping[str, Source]",
    page: "Page",
) -> None:
    import gc
    import sys

    import uvloop

    from longshore.kube.client import Client
    from longshore.kube.reviews import Reviewer
    from longshore.scheduling.metrics import SchedulerMetrics
    from longshore.scheduling.service import Service, Surroundings
    from longshore.server.rights import Access
    from longshore.server.routes import make_app
    from longshore.server.serving import MOST_CONNECTIONS, Server

    async def serve() -> None:
        metrics = SchedulerMetrics(settings.scheduler_name)
        metrics.set_model(policy.name, sha256=policy.version)
        if log is not None:
            metrics.watch_log(lambda: log.num_dropped)
        async with stop_event() as stop, Client(identity) as client:
            around = Surroundings(metrics, note, stop, log, sources)
            service = Service(client, policy, settings, around)
            checks = {"health": {}, "readiness": {"watch": service.why_not_ready}}
            access = Access(reviewer=Reviewer(client) if page.is_reviewed else None)
            app = make_app({**checks, "metrics": metrics.registry}, access)
            told = Server(
                app, "health", host=page.host, port=page.port, tls=page.tls, most_connections=MOST_CONNECTIONS
            )
            async with told as server:
                note(f"policy {policy.name}; metrics at {server.address}/metrics")
                await service.run()
        note(f"stopped; {service.scheduler.num_bound} pods bound")

    # Cycles are rare here: looking for them seldom keeps the slowest decisions short.
    gc.set_threshold(50_000, 20, 50)
    # The log's thread hands the interpreter back within half a millisecond; by default it may keep it for five.
    sys.setswitchinterval(0.0005)
    uvloop.run(serve())


def _open_store(store: str | None, keep_decisions: int | None) -> "DecisionLog | None":
    if store == NO_STORE:
        return None
    from longshore.store.decisions import KEPT_ROWS, DecisionLog
    from longshore.store.location import default_store
    from longshore.store.schema import check_store

    where = store or str(default_store())
    check_store(where)
    return DecisionLog(where, kept_rows=keep_decisions or KEPT_ROWS)


def _check_names(names: "Mapping[str, str]") -> None:
    from longshore.core.words.errors import InputError

    for option, name in names.items():
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            got = f"got `{option} {name}`, expected small letters, digits, `-` and `.`, at most {_LONGEST_NAME}"
            raise InputError(got, "for instance `longshore-scheduler`")


def _page(address: str, certificate: Path | None, key: Path | None, is_reviewed: bool) -> Page:
    from longshore.core.words.errors import InputError
    from longshore.server.serving import LOCAL, tls_of

    host, port = _address(address)
    tls = tls_of(certificate, key, "`--metrics-tls-certificate` and `--metrics-tls-key`")
    if is_reviewed and tls is None and host not in LOCAL:
        got = f"got `--metrics-authorize` with plain HTTP on {host}, expected HTTPS for tokens"
        raise InputError(got, "give `--metrics-tls-certificate` and `--metrics-tls-key`")
    return Page(host, port, tls, is_reviewed)


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
