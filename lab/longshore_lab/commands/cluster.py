"""`longshore cluster`: a real cluster on this machine in one command, and out of the way again in another."""

from typing import TYPE_CHECKING, Annotated

import typer

from longshore.cli.groups import add_group
from longshore.cli.output import JsonOption, emit, note, write_table

if TYPE_CHECKING:
    from longshore_lab.cluster.local import PartStatus

_DEFAULT_NAME = "longshore"
Name = Annotated[str, typer.Option("--name", help="The cluster's name; clusters of other names run beside it.")]
_MIB = 1024 * 1024


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    about = "A real cluster on this machine: upstream's control plane, KWOK nodes, real nodes."
    add_group(app, "cluster", about, up, status, down, kubeconfig, reset, list=list_clusters)


def up(
    name: Name = _DEFAULT_NAME,
    nodes: Annotated[int, typer.Option(help="KWOK nodes: real objects whose pods are only said to run.")] = 10,
    node_cpu: Annotated[str, typer.Option(help="CPU of each KWOK node.")] = "64",
    node_memory: Annotated[str, typer.Option(help="Memory of each KWOK node.")] = "256Gi",
    real_nodes: Annotated[int, typer.Option(help="Nodes that run containers (root is needed).")] = 0,
    scheduler: Annotated[bool, typer.Option(help="Run stock kube-scheduler for pods that name no other.")] = True,
    json_mode: JsonOption = False,
) -> None:
    """Start a cluster and wait until it takes pods."""
    from longshore_lab.cluster import ClusterOptions
    from longshore_lab.cluster import up as start

    options = ClusterOptions(
        name=name,
        nodes=nodes,
        node_cpu=node_cpu,
        node_memory=node_memory,
        real_nodes=real_nodes,
        has_scheduler=scheduler,
    )
    cluster = start(options, note)
    option = "" if name == _DEFAULT_NAME else f" --name {name}"
    note(f"the cluster `{name}` is up; to use it:")
    facts = {"name": name, "kubeconfig": str(cluster.kubeconfig)}
    emit(json_mode, facts, lambda: print(f"export KUBECONFIG={cluster.kubeconfig}"))
    note(f"`longshore cluster down{option}` takes it down")


def status(name: Name = _DEFAULT_NAME, json_mode: JsonOption = False) -> None:
    """Show every part of a cluster. Exit 1 if one has died or the cluster was never finished."""
    from longshore_lab.cluster import find

    cluster = find(name)
    parts = cluster.status()
    dead = [part for part in parts if part.state == "dead"]

    def render() -> None:
        write_table(("part", "state", "pid", "port", "memory", "log"), [_row(part) for part in parts])
        for part in dead:
            print(f"\n{part.name} has died; the last lines of {part.log}:")
            for line in part.last_lines:
                print(f"  {line}")
        if not cluster.record.is_ready:
            note(f"the cluster was never finished; `longshore cluster down --name {name}` clears it away")

    payload = {
        "name": name,
        "is_ready": cluster.record.is_ready,
        "server": cluster.server,
        "kubeconfig": str(cluster.kubeconfig),
        "parts": [{**_facts(part), "log": str(part.log), "last_lines": part.last_lines} for part in parts],
    }
    emit(json_mode, payload, render)
    if dead or not cluster.record.is_ready:
        raise typer.Exit(1)


def down(name: Name = _DEFAULT_NAME, json_mode: JsonOption = False) -> None:
    """Stop every process of a cluster and delete its data."""
    from longshore_lab.cluster import down as stop

    was_there = stop(name)
    told = f"the cluster `{name}` is down" if was_there else f"there was no cluster `{name}`"
    emit(json_mode, {"name": name, "was_there": was_there}, lambda: note(told))


def kubeconfig(name: Name = _DEFAULT_NAME, json_mode: JsonOption = False) -> None:
    """Print the path of the administrator's kubeconfig."""
    from longshore_lab.cluster import find

    path = str(find(name).kubeconfig)
    emit(json_mode, {"name": name, "kubeconfig": path}, lambda: print(path))


def reset(name: Name = _DEFAULT_NAME, json_mode: JsonOption = False) -> None:
    """Delete what workloads made (by its label) and nothing else."""
    from longshore_lab.cluster import find
    from longshore_lab.cluster.reset import reset as delete

    deleted = {kind: count for kind, count in delete(find(name).kubeconfig).items() if count}

    def render() -> None:
        if deleted:
            write_table(("kind", "deleted"), [(kind, str(count)) for kind, count in deleted.items()])
        else:
            note("no workload has left anything")

    emit(json_mode, {"deleted": deleted}, render)


def list_clusters(json_mode: JsonOption = False) -> None:
    """List the clusters of this machine."""
    from longshore.core.words.errors import LongshoreError, UnknownNameError
    from longshore_lab.cluster import cluster_names, find

    rows = []
    for name in cluster_names():
        try:
            cluster = find(name)
        except UnknownNameError:
            continue  # it was taken down a moment ago
        except LongshoreError as error:
            note(f"{error}: {error.hint}")
            continue
        dead = [part.name for part in cluster.status() if part.state == "dead"]
        rows.append({"name": name, "is_ready": cluster.record.is_ready, "dead": dead, "server": cluster.server})

    def render() -> None:
        if not rows:
            note("no clusters; `longshore cluster up` starts one")
            return
        write_table(
            ("name", "state", "server"),
            [(str(row["name"]), _state(bool(row["is_ready"]), bool(row["dead"])), str(row["server"])) for row in rows],
        )

    emit(json_mode, {"clusters": rows}, render)


def _state(is_ready: bool, has_dead: bool) -> str:
    if not is_ready:
        return "not finished"
    return "a part is dead" if has_dead else "up"


def _facts(part: "PartStatus") -> dict[str, object]:
    facts = ("name", "state", "pid", "port", "memory_bytes")
    return {fact: getattr(part, fact) for fact in facts}


def _row(part: "PartStatus") -> tuple[str, ...]:
    memory = "" if part.memory_bytes is None else f"{part.memory_bytes / _MIB:.0f} MiB"
    return (part.name, part.state, _text(part.pid), _text(part.port), memory, str(part.log))


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
