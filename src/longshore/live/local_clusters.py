"""Which clusters are local ones, in which KWOK runs. Packages that start such clusters say so by an entry point."""

from importlib import metadata

ENTRY_POINT_GROUP = "longshore.local_clusters"
"""Each entry is a function: the API server's address in, whether the cluster is one of its own out."""


def is_local(server: str) -> bool:
    """Say whether the API server is that of a local cluster, such as one of `longshore cluster up`."""
    return any(entry.load()(server) for entry in metadata.entry_points(group=ENTRY_POINT_GROUP))
