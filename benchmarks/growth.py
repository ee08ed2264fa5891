"""How a simulator step grows with the nodes: `python benchmarks/growth.py NODES`, one process per size.

One environment, two pods per node, so that 10,000 nodes fill in half a minute; memory is the whole process' peak.
"""

import resource
import sys

from longshore_lab.speed.simulator import measure

cell = measure(int(sys.argv[1]), 1, pods_per_node=2)
memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{cell.nodes} nodes: {1e6 / cell.steps_per_second:.0f} µs per step, {memory_mb:.0f} MB")
