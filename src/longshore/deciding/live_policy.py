"""The policy of a live scheduler: looked up by name or folder, and refused at the start if it cannot serve here."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from longshore.core.arrays.features import STANDALONE, chosen
from longshore.core.network.bundle_files import POLICY_FILE
from longshore.core.words.errors import InputError
from longshore.deciding.choosers import find_chooser
from longshore.deciding.decide import Chooser
from longshore.policies import REGISTRY
from longshore.policies.bundle_folder import read_folder


@dataclass(frozen=True)
class LivePolicy:
    """A policy that can decide in a live cluster."""

    chooser: Chooser
    version: str = ""
    """SHA-256 of the bundle's `policy.json`, which names the weights' own; empty for policies without weights."""
    num_nodes: int | None = None
    """Of a network of fixed size; None = any number."""

    def check_cluster(self, num_nodes: int) -> None:
        """Refuse a cluster that the network cannot read.

        Raises:
            InputError: it is of another size.
        """
        if self.num_nodes is not None and self.num_nodes != num_nodes:
            raise InputError(
                f"the policy `{self.chooser.name}` is a network for exactly {self.num_nodes} nodes, "
                f"and the cluster has {num_nodes}",
                "train one of the networks that serve any number of nodes, such as deepsets",
            )


def find_live_policy(text: str, filters: str | None = None) -> LivePolicy:
    """Look a policy up, as `choosers.find_chooser` does, for `longshore schedule`.

    Raises:
        InputError: there is none, it is refused, or it reads what is not known in a live cluster.
    """
    chooser = find_chooser(text, filters, keeps_rows=True)
    if text in REGISTRY.names():
        return LivePolicy(chooser)
    folder = _folder(text)
    policy = read_folder(folder)
    missing = [feature.name for feature in chosen(policy.feature_names) if STANDALONE not in feature.where]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise InputError(
            f"the policy `{text}` reads {names}, which a live cluster does not tell",
            "train it without these features",
        )
    version = hashlib.sha256((folder / POLICY_FILE).read_bytes()).hexdigest()
    return LivePolicy(chooser, version, policy.num_nodes)


def _folder(text: str) -> Path:
    """Return the folder of `folder` or `folder@term=weight`."""
    return Path(text) if Path(text).exists() else Path(text.rpartition("@")[0])
