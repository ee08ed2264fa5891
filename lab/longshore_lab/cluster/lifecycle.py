"""Bring a local cluster up, find it again, take it down: whatever happened in between, `down` leaves nothing behind."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longshore.cli.interruption import in_order
from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.live import api
from longshore_lab.build import require_program
from longshore_lab.cluster import access, identities, nodes, parts, processes, state
from longshore_lab.cluster.local import LocalCluster
from longshore_lab.cluster.real import lifecycle as real
from longshore_lab.cluster.real.network import Network
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord

Tell = Callable[[str], None]
_READY_SECONDS = 120.0
_NODE_POLL_SECONDS = 0.2
_GRACE_SECONDS = 2.0
"""Before a part is killed: what it holds is thrown away with the cluster."""
SCHEDULER = "kube-scheduler"


def up(options: ClusterOptions | None = None, tell: Tell = lambda _: None) -> LocalCluster:
    """Make a cluster and return it when its nodes take pods; if that fails, what was started is stopped again.

    Raises:
        InputError: an option is wrong.
        ComponentMissingError: the programs have not been built.
        LongshoreError: there is a cluster of that name already, or a part did not start.
    """
    options = options or ClusterOptions()
    state.check_options(options)
    for program in ("etcd", "kube-apiserver", *parts.FOLLOWERS, SCHEDULER):
        require_program(program)
    with state.lock(options.name):
        _refuse_existing(options.name)
        try:
            return _up(options, tell)
        except BaseException:
            tell("stopping what was started …")
            _take_down(options.name, keep_logs=True)
            raise


def find(name: str = state.DEFAULT_NAME) -> LocalCluster:
    """Return a cluster that is up, or half up.

    Raises:
        UnknownNameError: there is none of that name.
    """
    return LocalCluster(state.cluster_folder(name), state.read_record(name))


def down(name: str = state.DEFAULT_NAME) -> bool:
    """Stop every process of a cluster and remove its folder; return whether there was something."""
    with state.lock(name):
        return _take_down(name)


@contextmanager
def temporary(options: ClusterOptions, tell: Tell = lambda _: None) -> Iterator[LocalCluster]:
    """Give a cluster that is taken down afterwards, whatever happens; errors as of `up`."""
    with in_order():
        cluster = up(options, tell)
        try:
            yield cluster
        finally:
            down(cluster.name)


def _refuse_existing(name: str) -> None:
    if name not in state.cluster_names():
        _take_down(name)  # what an interrupted start may have left without a record
        return
    cluster = find(name)
    hint = f"`longshore cluster down --name {name}` takes it down, `--name OTHER` makes another one beside it"
    is_whole = cluster.record.is_ready and all(part.state == "running" for part in cluster.status())
    state_text = "runs already" if is_whole else "is there, but not all of it runs"
    raise LongshoreError(f"the cluster `{name}` {state_text}", hint)


def _up(options: ClusterOptions, tell: Tell) -> LocalCluster:
    started = time.monotonic()

    def say(message: str) -> None:
        tell(f"{time.monotonic() - started:5.1f} s  {message}")

    cluster, network = _prepare(options)
    say("starting etcd and kube-apiserver")
    for name in parts.CONTROL_PLANE:
        cluster.add_part(parts.part(cluster.record, cluster.folder, name))
    cluster.wait_for_apiserver()
    say(f"kube-apiserver is ready at {cluster.server}")
    api.call(cluster.kubeconfig, lambda client: api.create_all(client, access.cluster_rules()))
    for name in parts.FOLLOWERS:
        cluster.add_part(parts.part(cluster.record, cluster.folder, name))
    if options.has_scheduler:
        cluster.start_scheduler(SCHEDULER)
    if network is not None:
        real.start(cluster, network, say)
    api.call(cluster.kubeconfig, lambda client: _make_nodes(cluster, client, say))
    cluster.record.is_ready = True
    state.write_record(cluster.record)
    return cluster


def _prepare(options: ClusterOptions) -> tuple[LocalCluster, Network | None]:
    """Make the folder with everything that lies in it before the first process starts, and the real nodes' network."""
    folder = state.cluster_folder(options.name)
    folder.mkdir(parents=True, mode=0o700)
    for name in ("logs", "config", "pki"):
        (folder / name).mkdir(mode=0o700)
    record = ClusterRecord(options=options)
    network = real.prepare(folder, options.real_nodes) if options.real_nodes else None
    if network is not None:
        record.address = network.gateway
    state.claim_ports(record, ["etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager"])
    cluster = LocalCluster(folder, record)
    identities.make_keys(folder / "pki", record.address)
    identities.write_kubeconfigs(folder, cluster.server)
    return cluster, network


async def _make_nodes(cluster: LocalCluster, client: Client, say: Tell) -> None:
    """Create the nodes and wait until they take pods and until pods can be created at all."""
    objects = nodes.kwok_nodes(cluster.options)
    num_nodes = cluster.options.nodes + cluster.options.real_nodes
    await nodes.create_nodes(client, objects)
    say(f"{len(objects)} nodes created, waiting until {num_nodes} are ready")
    # Pods run as a service account; the controller-manager makes each namespace's default one. A lease shows that KWOK
    # works, too: the nodes were ready before it saw them.
    signs = ["/api/v1/namespaces/default/serviceaccounts/default"]
    signs += [nodes.lease_path(content["metadata"]["name"]) for content in objects[:1]]

    async def is_over() -> bool:
        cluster.check_alive()
        if await nodes.count_ready(client) < num_nodes:
            return False
        return all([await api.answers(client, sign) for sign in signs])

    if not await api.until(is_over, _READY_SECONDS, _NODE_POLL_SECONDS):
        ready = await nodes.count_ready(client)
        raise LongshoreError(
            f"{ready} of {num_nodes} nodes are ready after {_READY_SECONDS:g} s", f"see {cluster.folder / 'logs'}"
        )
    say(f"{num_nodes} nodes are ready")


def _take_down(name: str, *, keep_logs: bool = False) -> bool:
    """Stop clients before the API server (it waits for its watchers), and that before etcd; then remove the folder."""
    folder = state.cluster_folder(name)
    try:
        running = {part.name: part.process for part in state.read_record(name).parts.values() if part.process}
    except LongshoreError:  # no record, or an unreadable one: the marks remain
        running = {}
    groups = [[running.pop(part)] for part in reversed(parts.CONTROL_PLANE) if part in running]
    for group in (list(running.values()), *groups, processes.find_marked(folder)):
        processes.stop(group, _GRACE_SECONDS)
    real.clear_away(folder)
    was_there = folder.is_dir()
    kept = state.clusters_folder() / f".{name}.logs"
    shutil.rmtree(kept, ignore_errors=True)
    if keep_logs and (folder / "logs").is_dir():
        (folder / "logs").rename(kept)
    shutil.rmtree(folder, ignore_errors=True)
    return was_there
