"""The sum of powers of use, which `compress` and `balance` share."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.objectives.load import Resource, used_ratio

MAX_EXPONENT = 16.0


def sum_of_powers(arrays: ClusterArrays, resource: Resource, exponent: float) -> Array:
    """Return Σ_n used_n^exponent over the real nodes."""
    return (used_ratio(arrays, resource) ** exponent).sum()


def check_exponent(objective: str, exponent: float) -> None:
    """Refuse exponents at which unused nodes would count, or at which nothing but full nodes would."""
    if not 0.0 < exponent <= MAX_EXPONENT:
        raise InputError(
            f"objective `{objective}`: got exponent `{exponent}`, expected more than 0 and at most {MAX_EXPONENT:g}",
            "2 packs, 0.5 spreads",
        )
