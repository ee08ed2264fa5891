"""A policy by what the user calls it: a name of the registry, or the folder of a bundle."""

from pathlib import Path

from longshore.core.words.errors import InputError, nearest_name
from longshore.deciding.decide import Chooser
from longshore.filters import filter_set
from longshore.policies import REGISTRY
from longshore.policies.bundle_folder import read_folder
from longshore.policies.learned import learned

REGISTRY_FILTERS = "upstream"
"""The filter set of policies that have a name: what they would do in kube-scheduler's place."""


def find_chooser(text: str, filters: str | None = None, *, keeps_rows: bool = False) -> Chooser:
    """Look a policy up by its name, or read it from its folder; a name wins over a folder of that name.

    Args:
        text: `kube-default`, `runs/mine`, or, for a policy that takes weights at run time,
            `runs/mine@latency=0.8+watts=0.2`.
        filters: the filter set; None = `upstream` for names, and what it was trained behind for a bundle.
        keeps_rows: for many decisions on one cluster that changes a little between them (`policies.learned`).

    Raises:
        InputError: neither a policy nor a folder, or a bundle that is refused.
    """
    if text in REGISTRY.names():
        return Chooser(text, REGISTRY.load(text), filter_set(filters or REGISTRY_FILTERS))
    folder, preference = _split(text)
    if not _exists(folder):
        raise _unknown(text)
    policy = read_folder(Path(folder))
    # The folder is the name: two bundles of one name stay apart, and the row says where to find it.
    name = (folder.rstrip("/") or folder) + text[len(folder) :]
    return Chooser(name, learned(policy, preference, keeps_rows=keeps_rows), filter_set(filters or policy.filters))


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
    nearest = None if "/" in text else nearest_name(text, REGISTRY.names())
    return InputError(
        f"got the policy `{text}`: there is no policy and no folder of that name",
        "`longshore list policies` names the policies; a bundle is named by its folder"
        if nearest is None
        else f"did you mean `{nearest}`?",
    )
