"""A word on stderr where a cluster is not like those that a trained policy was made for."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from longshore.cli.output import note

if TYPE_CHECKING:
    from longshore.core.arrays.encode import Encoded
    from longshore.core.words.trace import Trace


def warn_outside(policies: Iterable[str], encoded: "Encoded") -> None:
    """Warn of every bundle among the policies for which the cluster lies outside of its training."""
    from longshore.deciding.envelope import outside_of
    from longshore.deciding.find import find_bundle

    for name in policies:
        bundle = find_bundle(name)
        warning = None if bundle is None else outside_of(bundle, encoded).warning(name)
        if warning is not None:
            note(f"warning: {warning}")


def warn_outside_trace(policies: Iterable[str], trace: "Trace") -> None:
    """Do so for a trace, all of whose pods count."""
    from longshore.core.arrays.encode import encode
    from longshore.deciding.find import find_bundle

    trained = [name for name in policies if find_bundle(name) is not None]
    if trained:
        warn_outside(trained, encode(trace.snapshot()))
