"""Natural logarithm, bit for bit as Go's `math.Log` computes it on amd64.

PodTopologySpread rounds `count * ln(size + 2)` to an integer; a logarithm that differs in its last bit would differ
from upstream at the boundary. The method is the classic one of FreeBSD's msun (reduce to [√½, √2), odd polynomial).
"""

import math
from functools import lru_cache

import numpy as np

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


def log(x: float) -> float:
    """Compute ln(x) for a finite x > 0."""
    mantissa, exponent = math.frexp(x)
    if mantissa < math.sqrt(2) / 2:
        mantissa, exponent = mantissa * 2, exponent - 1
    f, k = mantissa - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_ODD[0] + s4 * (_ODD[1] + s4 * (_ODD[2] + s4 * _ODD[3])))
    even = s4 * (_EVEN[0] + s4 * (_EVEN[1] + s4 * _EVEN[2]))
    half_square = 0.5 * f * f
    return k * _LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + k * _LN2_LOW)) - f)


@lru_cache(maxsize=64)
def log_table(size: int) -> np.ndarray:
    """Tabulate ln(0..size-1); ln(0) is given as 0, it is never read."""
    table = np.array([0.0] + [log(float(i)) for i in range(1, size)])
    table.flags.writeable = False
    return table
