"""The same cluster, smaller or larger: what was learned on one size is tried on others."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.openb import Nodes


def scaled(nodes: Nodes, scale: float) -> Nodes:
    """Return `scale` times as many nodes of every kind: a quarter takes every fourth, four times takes each four times.

    Nodes of a kind have equal CPU, memory, GPUs and model. Every kind keeps a node at least.
    """
    if not 0 < scale <= 100:
        raise InputError(f"got the scale {scale} of the cluster, expected a number above 0 and at most 100")
    factor = Fraction(scale).limit_denominator(10_000)
    seen: Counter[tuple[object, ...]] = Counter()
    rows, names = [], []
    for row, name in enumerate(nodes.names):
        kind = (*(int(part[row]) for part in (nodes.cpu_milli, nodes.memory_mib, nodes.gpu_count)), nodes.model[row])
        before = seen[kind]
        seen[kind] += 1
        copies = math.ceil((before + 1) * factor) - math.ceil(before * factor)
        rows += [row] * copies
        names += [name] + [f"{name}-{copy}" for copy in range(2, copies + 1)] if copies else []
    index = np.array(rows, np.int64)
    return Nodes(
        names=tuple(names),
        cpu_milli=nodes.cpu_milli[index],
        memory_mib=nodes.memory_mib[index],
        gpu_count=nodes.gpu_count[index],
        model=tuple(nodes.model[row] for row in rows),
    )
