"""A policy by what the user calls it: a name, a bundle's folder, a shipped bundle, or `path/to/file.py:name`."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from longshore.core.arrays.feature_table import STANDALONE
from longshore.core.arrays.features import chosen
from longshore.core.network.bundle import Bundle
from longshore.core.words.errors import InputError, nearest_name
from longshore.filters import LIMITED, MEASURED, filter_set
from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from longshore.policies.bundle_folder import read_folder, shipped_names
from longshore.policies.learned import learned


class _Found(NamedTuple):
    """A bundle, and what the user said about it."""

    bundle: Bundle
    name: str
    preference: dict[str, float] | None


def find_policy(text: str, filters: str | None = None, *, keeps_rows: bool = False) -> Policy:
    """Look a policy up by its name, or read it from its folder; a name wins over a folder of that name.

    Args:
        text: `kube-default`, `runs/mine`, `openb` (a bundle that comes with longshore), `path/to/file.py:name` or, for
            a policy that takes weights at run time, `runs/mine@latency=0.8+watts=0.2`.
        filters: the filter set; None = `upstream` for names, and what it was trained behind for a bundle.
        keeps_rows: for many decisions on one cluster that changes a little between them (`policies.learned`).

    Raises:
        InputError: neither a policy nor a folder, or a bundle that is refused.
    """
    if text in REGISTRY:
        return _plain(text, filters)
    return _trained(_find_bundle(text), filters, keeps_rows=keeps_rows)


def find_live_policy(text: str, filters: str | None = None, *, waits_for_readings: bool = False) -> Policy:
    """Look a policy up for `longshore schedule`, and refuse it at the start if it cannot serve there.

    Args:
        text: as for `find_policy`.
        filters: as for `find_policy`.
        waits_for_readings: pods with a hard latency limit go to nodes alone whose latency is known.

    Raises:
        InputError: there is none, it is refused, it reads what is not known in a live cluster, or it knows no limits.
    """
    policy = _find_live(text, filters)
    if not waits_for_readings:
        return policy
    if policy.filters not in (LIMITED, MEASURED):
        raise InputError(
            f"the policy `{text}` runs behind the filters `{policy.filters}`, for which latency limits do not count",
            f"choose `--filters {LIMITED}`, or no `--on-missing-readings wait`",
        )
    return _behind(policy, MEASURED)


def _find_live(text: str, filters: str | None) -> Policy:
    if text in REGISTRY:
        return _plain(text, filters)
    found = _find_bundle(text)
    missing = [feature.name for feature in chosen(found.bundle.feature_names) if STANDALONE not in feature.where]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise InputError(
            f"the policy `{text}` reads {names}, which a live cluster does not tell",
            "train it without these features",
        )
    return _trained(found, filters, keeps_rows=True)


def find_bundle(text: str) -> Bundle | None:
    """Return the bundle behind what the user calls a policy; None = it is none, and was not trained.

    Raises:
        InputError: neither a policy nor a folder, or a bundle that is refused.
    """
    return None if text in REGISTRY else _find_bundle(text).bundle


def check_size(policy: Policy, num_nodes: int) -> None:
    """Refuse a cluster that a network of fixed size cannot read.

    Raises:
        InputError: it is of another size.
    """
    if policy.num_nodes is not None and policy.num_nodes != num_nodes:
        raise InputError(
            f"the policy `{policy.name}` is a network for exactly {policy.num_nodes} nodes, "
            f"and the cluster has {num_nodes}",
            "train one of the networks that serve any number of nodes, such as deepsets",
        )


def _plain(name: str, filters: str | None) -> Policy:
    policy: Policy = replace(REGISTRY.find(name), name=name)
    return policy if filters is None else _behind(policy, filters)


def _trained(found: _Found, filters: str | None, *, keeps_rows: bool) -> Policy:
    policy = replace(learned(found.bundle, found.preference, keeps_rows=keeps_rows), name=found.name)
    return _behind(policy, filters or policy.filters)


def _behind(policy: Policy, filters: str) -> Policy:
    filter_set(filters)  # refuses a set that there is not
    return replace(policy, filters=filters)


def _find_bundle(text: str) -> _Found:
    folder, preference = _split(text)
    if not _exists(folder) and folder not in shipped_names():
        raise _unknown(text)
    # The folder is the name: two bundles of one name stay apart, and the row says where to find it.
    name = (folder.rstrip("/") or folder) + text[len(folder) :]
    return _Found(read_folder(Path(folder)), name, preference)


def _split(text: str) -> tuple[str, dict[str, float] | None]:
    """Split `folder@term=weight+term=weight`; a folder that has such a name is just a folder."""
    folder, separator, weights = text.rpartition("@")
    if not separator or "=" not in weights or _exists(text):
        return text, None
    found: dict[str, float] = {}
    for part in weights.split("+"):
        term, _, number = part.partition("=")
        if term.strip() in found:
            raise InputError(f"got the preference `{weights}`, expected each term once", f"give `{term.strip()}` once")
        try:
            found[term.strip()] = float(number)
        except ValueError as error:
            raise InputError(
                f"got the preference `{part}`, expected `term=weight`", f"for instance `{folder}@latency=0.8+watts=0.2`"
            ) from error
    return folder, found


def _exists(folder: str) -> bool:
    try:
        return Path(folder).exists()
    except (OSError, ValueError):  # a name that no file system takes
        return False


def _unknown(text: str) -> InputError:
    nearest = None if "/" in text else nearest_name(text, (*REGISTRY.names(), *shipped_names()))
    return InputError(
        f"got the policy `{text}`: there is no policy and no folder of that name",
        "`longshore list policies` names the policies; a bundle is named by its folder"
        if nearest is None
        else f"did you mean `{nearest}`?",
    )
