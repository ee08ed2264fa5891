"""The table of features: every input that a policy may read about a node, one row each.

A row has the name, the unit of what goes in, a description, the normalisation, the formula, the scope (what it depends
on), where it exists, and the version. Caches, bundles, the simulator, the plugin's contract and the page
`docs/reference/observation.md` read all of that here. Every value is in -1..1; `arrays.features` computes them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from longshore.core.arrays.feature_view import BLOCK, MEMORY_COLUMN, View
from longshore.core.arrays.gpu import WHOLE_GPU_MILLI, free_milli
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import CPU_COLUMN, pwr_node_watts
from longshore.core.words.scope import Scope

SIMULATOR, STANDALONE, PLUGIN = "simulator", "standalone", "plugin"
EVERYWHERE = (SIMULATOR, STANDALONE, PLUGIN)
IN_PYTHON = (SIMULATOR, STANDALONE)
"""Inside kube-scheduler nobody tells which pod comes next: a bundle that reads it is refused there."""

POD, NODE, READINGS, PODS, CLUSTER, OTHERS = Scope

# Where a reading counts one half. Limits of user-facing services lie around 25 ms; the others are middling nodes'.
HALF_LATENCY_MS = 25.0
HALF_CONNECTIONS = 100.0
HALF_TRAFFIC_BYTES_PER_SECOND = 1e8
HALF_CPU_MILLIS_PER_GPU = 10_000.0
HALF_GPU_WATTS = 200.0
_MANY_DEVICES = 8


@dataclass(frozen=True)
class Feature:
    """One row of the table: one column of what a policy reads."""

    name: str
    unit: str
    """Of what goes in, before the normalisation."""
    description: str
    normalisation: str
    compute: Callable[[View], Array]
    """The formula. Gives [nodes], or, where the scope says so, one number for all nodes; bits as booleans."""
    scope: Scope
    """What it depends on: caches keep a value until that changes, in Python and in Go."""
    where: tuple[str, ...] = EVERYWHERE
    """Where it exists. One that exists in the plugin has a Go twin of the same version and scope in
    `scheduler/inference`; a test there reads the table from `contract/features.json`."""
    is_own: bool = False
    """Of its scope it needs only the node itself, not even the size of the largest node or the mean one."""
    needs_gpus: bool = False
    """Offered only where a node has a GPU; it can be named all the same."""
    version: int = 1
    """It grows when the meaning changes: a bundle that was trained on the old one is then refused."""

    @property
    def block_row(self) -> int | None:
        """Its row of `View.block`, where it has one."""
        return BLOCK.index(self.name) if self.name in BLOCK else None


def _request(view: View, column: int) -> Array:
    return view.cut(view.request(column) / view.xp.maximum(view.mean(view.arrays.nodes.allocatable[:, column]), 1.0))


def _next_request(view: View, column: int) -> Array:
    following = view.arrays.state.next_class
    asked = view.arrays.classes.request[view.xp.maximum(following, 0), column]
    mean = view.xp.maximum(view.mean(view.arrays.nodes.allocatable[:, column]), 1.0)
    return view.cut(view.xp.where(following >= 0, asked, 0) / mean)


def _added_watts(view: View, added: Array) -> Array:
    return view.of_most(added, view.largest.watts)


def _pod_gpu(view: View) -> Array:
    classes = view.arrays.classes
    return view.saturated(classes.gpu_milli[view.pod_class] * classes.gpu_count[view.pod_class], WHOLE_GPU_MILLI)


def _cpu_deviation(view: View) -> Array:
    # Twice the deviation, since shares from 0 to 1 deviate by at most one half.
    return view.xp.minimum(2.0 * view.deviation(view.cpu_used, view.cpu_mean), 1.0)


def _within_soft(view: View) -> Array:
    classes = view.arrays.classes
    hard_ms = classes.latency_hard_ms[view.pod_class]
    return view.is_within(view.xp.minimum(classes.latency_soft_ms[view.pod_class], hard_ms))


def _cpu_measured(view: View) -> Array:
    readings = view.arrays.readings
    return view.cut(view.xp.where(view.known(readings.cpu_ratio, readings.cpu_known), readings.cpu_ratio, 0.0))


def _of_gpus(view: View, milli: Array) -> Array:
    return view.cut(milli / view.xp.maximum(view.gpu_milli, 1), -1.0)


def _gpu_free(view: View) -> Array:
    return _of_gpus(view, free_milli(view.arrays).sum(axis=1))


def _gpu_fragment(view: View) -> Array:
    return _of_gpus(view, view.fragment) if _has_typical(view) else view.nothing()


def _gpu_fragment_added(view: View) -> Array:
    return _of_gpus(view, view.fragment_after - view.fragment) if _has_typical(view) else view.nothing()


def _has_typical(view: View) -> bool:
    return int(view.arrays.tables.typical_share.shape[0]) > 0 and _has_devices(view)


def _has_devices(view: View) -> bool:
    return int(view.arrays.nodes.gpu_capacity.shape[1]) > 0


def _num_partly_used(view: View) -> Array:
    nodes, used = view.arrays.nodes, view.arrays.state.gpu_used
    return ((used > 0) & (used < nodes.gpu_capacity)).sum(axis=1)


def _crowding(view: View) -> Array:
    terms = view.arrays.classes.soft_spread
    if not view.has_terms(terms):
        return view.nothing()
    pods = view.pods_near(terms)
    return view.of_most(pods, view.most(pods))


def _neighbours(view: View) -> Array:
    terms, weights = view.arrays.classes.preferred, view.arrays.classes.preferred_weight
    return view.of_most(view.pods_near(terms, weights[view.pod_class])) if view.has_terms(terms) else view.nothing()


_BIT = "0 or 1"
_CUT = "cut to 0..1"
_MS = f"v / (v + {HALF_LATENCY_MS:g}); 0 without"
_MOST = "by the cluster's largest"

_GPU = f"v / (|v| + {WHOLE_GPU_MILLI})"
_LEFT_STEP = 50
_LEFT_STEPS = tuple(range(_LEFT_STEP, WHOLE_GPU_MILLI, _LEFT_STEP))
"""Where the table of what is left of a device is cut: it tells useful remainders from useless ones."""


def _left_after(view: View) -> Array:
    return view.xp.where(view.wants_share, view.take.left_after, 0)


def _is_left(view: View, least: int, most: int) -> Array:
    left = view.take.left_after
    return view.wants_share & (left >= least) & (left < most)


def _had(view: View, least: int) -> Array:
    left = view.take.left
    return view.wants_share & (left >= least) & (left < least + _LEFT_STEP)


def _blocks_lost(view: View, size: int) -> Array:
    return view.cut((view.num_free // size - view.num_free_after // size) / (_MANY_DEVICES // size))


def _has_gpus(view: View, number: int) -> Array:
    return view.gpu_milli == number * WHOLE_GPU_MILLI


def _with_gpus(view: View, values: Array) -> Array:
    """Return values of nodes with GPUs, 0 for the others."""
    return view.xp.where(view.gpu_milli > 0, values, 0.0)


def _cpu_per_gpu(view: View, cpu: Array, gpu_milli: Array) -> Array:
    if not _has_devices(view):
        return view.nothing()
    return view.saturated(cpu * WHOLE_GPU_MILLI / view.xp.maximum(gpu_milli, 1), HALF_CPU_MILLIS_PER_GPU)


def _pwr_watts_added(view: View) -> Array:
    if not _has_devices(view):  # a model of GPU nodes: elsewhere training is not to pick it beside `added_watts`
        return view.nothing()
    after = pwr_node_watts(view.arrays, view.take, view.request(CPU_COLUMN))
    return view.saturated(after - pwr_node_watts(view.arrays), HALF_GPU_WATTS)


_gpu = partial(Feature, is_own=True, needs_gpus=True)
"""A row about the GPUs of one node."""

FEATURES: tuple[Feature, ...] = (
    # The node before the placement.
    Feature("node_cpu_used", "ratio", "CPU: requested by allocatable", _CUT, lambda v: v.cpu_used, PODS, is_own=True),
    Feature("node_memory_used", "ratio", "memory: requested by allocatable", _CUT, lambda v: v.memory_used, PODS),
    Feature("node_pods_used", "ratio", "pods by the number that the node allows", _CUT, lambda v: v.pods_used, PODS),
    Feature("node_cpu_free", "milli-CPU", "CPU that is not requested", "by the largest node's CPU",
        lambda v: v.free[0], PODS),
    Feature("node_memory_free", "bytes", "memory that is not requested", "by the largest node's memory",
        lambda v: v.free[1], PODS),
    Feature("node_is_on", "bit", "the node is on: it runs a pod that keeps it from being removed", _BIT,
        lambda v: v.is_on, PODS, is_own=True, version=2),
    # The node after it.
    Feature(
        "after_cpu_used", "ratio", "CPU used with the pod on the node", _CUT, lambda v: v.cpu_after, PODS, is_own=True,
    ),
    Feature("after_memory_used", "ratio", "memory used with the pod on the node", _CUT, lambda v: v.memory_after, PODS),
    Feature("after_pods_used", "ratio", "pods used with the pod on the node", _CUT, lambda v: v.pods_after, PODS),
    Feature("after_imbalance", "ratio", "how far CPU and memory used are apart with the pod on the node",
        "absolute difference", lambda v: v.after_imbalance, PODS),
    # The pod; the same for all nodes.
    Feature("pod_cpu", "milli-CPU", "CPU that the pod asks for", "by the mean node's CPU, cut to 0..1",
        lambda v: _request(v, CPU_COLUMN), POD),
    Feature("pod_memory", "bytes", "memory that the pod asks for", "by the mean node's memory, cut to 0..1",
        lambda v: _request(v, MEMORY_COLUMN), POD),
    Feature("pod_gpu", "milli-GPU", "GPU share that the pod asks for, all devices", "v / (v + 1000)", _pod_gpu, POD),
    Feature("pod_latency_soft", "ms", "the pod's soft latency limit", _MS,
        lambda v: v.limit(v.arrays.classes.latency_soft_ms, HALF_LATENCY_MS), POD),
    Feature("pod_has_latency_soft", "bit", "the pod has a soft latency limit", _BIT,
        lambda v: v.xp.isfinite(v.arrays.classes.latency_soft_ms[v.pod_class]), POD),
    Feature("pod_latency_hard", "ms", "the pod's hard latency limit", _MS,
        lambda v: v.limit(v.arrays.classes.latency_hard_ms, HALF_LATENCY_MS), POD),
    Feature("pod_has_latency_hard", "bit", "the pod has a hard latency limit", _BIT,
        lambda v: v.xp.isfinite(v.arrays.classes.latency_hard_ms[v.pod_class]), POD),
    # The cluster; the same for all nodes, pooled over the real ones.
    Feature("cluster_cpu_mean", "ratio", "mean of `node_cpu_used`", _CUT, lambda v: v.cpu_mean, CLUSTER),
    Feature("cluster_cpu_most", "ratio", "largest `node_cpu_used`", _CUT, lambda v: v.most(v.cpu_used), CLUSTER),
    Feature("cluster_cpu_least", "ratio", "smallest `node_cpu_used`", _CUT, lambda v: v.least(v.cpu_used), CLUSTER),
    Feature(
        "cluster_cpu_deviation", "ratio", "standard deviation of `node_cpu_used`", "doubled", _cpu_deviation, CLUSTER,
    ),
    Feature("cluster_memory_mean", "ratio", "mean of `node_memory_used`", _CUT, lambda v: v.memory_mean, CLUSTER),
    Feature("cluster_on_share", "ratio", "share of the nodes that are on", "none", lambda v: v.on_share, CLUSTER,
        version=2),
    # Readings, each with whether it is known.
    Feature("latency", "ms", "latency between the node and the users, as last read", _MS,
        lambda v: v.reading(v.arrays.readings.latency_ms, v.arrays.readings.latency_known, HALF_LATENCY_MS), READINGS),
    Feature("latency_known", "bit", "`latency` is known", _BIT, lambda v: v.latency_known, READINGS),
    Feature("latency_within_soft", "bit", "`latency` keeps the soft limit, and the hard one; true without limits", _BIT,
        _within_soft, READINGS),
    Feature("latency_within_hard", "bit", "`latency` keeps the hard limit; true without one", _BIT,
        lambda v: v.is_within(v.arrays.classes.latency_hard_ms[v.pod_class]), READINGS),
    Feature("connections", "count", "TCP connections of the node, as last read",
        f"v / (v + {HALF_CONNECTIONS:g}); 0 without",
        lambda v: v.reading(v.arrays.readings.connections, v.arrays.readings.connections_known, HALF_CONNECTIONS),
        READINGS),
    Feature("connections_known", "bit", "`connections` is known", _BIT,
        lambda v: v.known(v.arrays.readings.connections, v.arrays.readings.connections_known), READINGS),
    Feature("traffic", "bytes per second", "network traffic of the node, as last read",
        f"v / (v + {HALF_TRAFFIC_BYTES_PER_SECOND:g}); 0 without",
        lambda v: v.reading(v.arrays.readings.traffic, v.arrays.readings.traffic_known, HALF_TRAFFIC_BYTES_PER_SECOND),
        READINGS),
    Feature("traffic_known", "bit", "`traffic` is known", _BIT,
        lambda v: v.known(v.arrays.readings.traffic, v.arrays.readings.traffic_known), READINGS),
    Feature(
        "cpu_measured", "ratio", "CPU that is really used, as last read", f"{_CUT}; 0 without", _cpu_measured, READINGS,
    ),
    Feature("cpu_measured_known", "bit", "`cpu_measured` is known", _BIT,
        lambda v: v.known(v.arrays.readings.cpu_ratio, v.arrays.readings.cpu_known), READINGS),
    # Power and money.
    Feature("idle_watts", "W", "what the node draws without pods", "by the most that any node draws",
        lambda v: v.of_most(v.arrays.nodes.power_curve[:, 0], v.largest.watts), NODE),
    Feature("full_watts", "W", "what the node draws when all its CPU is requested", "by the most that any node draws",
        lambda v: v.of_most(v.arrays.nodes.power_curve[:, -1], v.largest.watts), NODE),
    Feature("added_watts", "W", "what the pod adds on this node, idle nodes left on", "by the most that any node draws",
        lambda v: _added_watts(v, v.watts_after - v.watts_now), PODS),
    Feature("added_watts_from_off", "W", "what the pod adds on this node, nodes that no pod keeps on switched off",
        "by the most that any node draws", lambda v: _added_watts(v, v.watts_added_from_off), PODS, version=2),
    Feature("cost", "per hour", "what the node costs", _MOST, lambda v: v.of_most(v.arrays.nodes.cost_per_hour), NODE),
    Feature("carbon", "g/kWh", "grid intensity where the node stands", _MOST,
        lambda v: v.of_most(v.arrays.nodes.carbon_grams_per_kwh), NODE),
    # GPUs inside the node.
    Feature("gpu_size", "milli-GPU", "all GPUs of the node", _MOST, lambda v: v.of_most(v.gpu_milli), NODE),
    Feature("gpu_free", "milli-GPU", "what is free of the node's GPUs", "by the node's GPUs", _gpu_free, PODS),
    Feature("gpu_fragment", "milli-GPU", "what is free there and of no use to typical pods", "by the node's GPUs",
        _gpu_fragment, PODS),
    Feature("gpu_fragment_added", "milli-GPU", "by how much the pod would change `gpu_fragment`", "by the node's GPUs",
        _gpu_fragment_added, PODS),
    _gpu("gpu_left_after", "milli-GPU", "what a share leaves of its device; 0 for other pods", "by a whole GPU",
        lambda v: v.cut(_left_after(v) / WHOLE_GPU_MILLI), PODS),
    _gpu("gpu_left_nothing", "bit", "a share leaves nothing of its device", _BIT,
        partial(_is_left, least=0, most=1), PODS),
    *(
        _gpu(f"gpu_left_from_{least}", "bit", f"a share leaves {max(least, 1)} to {least + _LEFT_STEP - 1} milli", _BIT,
            partial(_is_left, least=max(least, 1), most=least + _LEFT_STEP), PODS)
        for least in (0, *_LEFT_STEPS)
    ),
    *(
        _gpu(f"gpu_had_from_{least}", "bit", f"a share finds {least} to {least + _LEFT_STEP - 1} milli of its device",
            _BIT, partial(_had, least=least), PODS)
        for least in _LEFT_STEPS
    ),
    _gpu("gpu_opens", "bit", "a share goes to a device that nobody uses", _BIT,
        lambda v: v.wants_share & (v.take.left >= WHOLE_GPU_MILLI), PODS),
    _gpu("gpu_partly_used", "count", "devices of the node that are neither free nor full",
        f"by {_MANY_DEVICES}, cut to 1", lambda v: v.cut(_num_partly_used(v) / _MANY_DEVICES), PODS),
    _gpu("gpu_wholly_free", "count", "devices of the node that nobody uses", f"by {_MANY_DEVICES}, cut to 1",
        lambda v: v.cut(v.num_free / _MANY_DEVICES), PODS),
    *(
        _gpu(
            f"gpu_blocks_of_{size}_lost", "count", f"by how much fewer pods with {size} whole GPUs the node could take",
            f"by {_MANY_DEVICES // size}, cut to 1", partial(_blocks_lost, size=size), PODS,
        )
        for size in (1, 2, 4, 8)
    ),
    _gpu("gpu_free_after", "milli-GPU", "what is free of the node's GPUs with the pod on it", "by the node's GPUs",
        lambda v: _of_gpus(v, v.gpu_idle - v.taken_milli), PODS),
    _gpu("gpu_waste_added", "milli-GPU", "by how much more of what is idle typical pods could not use", _GPU,
        lambda v: v.signed_saturated(v.potential - v.potential_after - v.taken_milli, WHOLE_GPU_MILLI), PODS),
    _gpu("gpu_unusable_added", "milli-GPU", "by how much FGD's fragment of the node grows", _GPU,
        lambda v: v.signed_saturated(v.fragment_after - v.fragment, WHOLE_GPU_MILLI), PODS),
    _gpu("gpu_potential_after", "milli-GPU", "what typical pods could use of the node's GPUs, with the pod on it",
        "by the node's GPUs", lambda v: _of_gpus(v, v.potential_after), PODS),
    _gpu("cpu_per_idle_gpu_after", "milli-CPU", "CPU left for each GPU that is idle, with the pod on the node",
        f"v / (v + {HALF_CPU_MILLIS_PER_GPU:g})",
        lambda v: _cpu_per_gpu(v, v.cpu_left_after, v.gpu_idle - v.taken_milli), PODS),
    _gpu("cpu_per_gpu", "milli-CPU", "the node's CPU for each of its GPUs", f"v / (v + {HALF_CPU_MILLIS_PER_GPU:g})",
        lambda v: _cpu_per_gpu(v, v.arrays.nodes.allocatable[:, CPU_COLUMN], v.gpu_milli), NODE),
    _gpu("gpu_devices", "count", "GPUs of the node", f"by {_MANY_DEVICES}, cut to 1",
        lambda v: v.cut(v.gpu_milli / (_MANY_DEVICES * WHOLE_GPU_MILLI)), NODE),
    *(
        _gpu(f"gpu_devices_{size}", "bit", f"the node has {size} GPUs", _BIT,
            partial(_has_gpus, number=size), NODE)
        for size in (1, 2, 4, 8)
    ),
    _gpu("gpu_model_wanted", "ratio", "what typical pods ask of a GPU of the node if they spread evenly over those that"
        " they may use, by what they ask of the mean GPU; 1 without GPUs", "v / (v + 1)",
        lambda v: v.saturated(v.arrays.tables.typical_pressure, 1.0), NODE, version=2),
    _gpu("gpu_busy_watts", "W", "what a GPU of the node draws when it is used", f"v / (v + {HALF_GPU_WATTS:g})",
        lambda v: v.saturated(_with_gpus(v, v.arrays.nodes.gpu_watts[:, 1]), HALF_GPU_WATTS), NODE),
    _gpu("gpu_idle_watts", "W", "what a GPU of the node draws when nobody uses it", f"v / (v + {HALF_GPU_WATTS:g})",
        lambda v: v.saturated(_with_gpus(v, v.arrays.nodes.gpu_watts[:, 0]), HALF_GPU_WATTS), NODE),
    _gpu("pwr_watts_added", "W", "what the pod adds by PWR's model of GPU nodes, idle nodes left on",
        f"v / (v + {HALF_GPU_WATTS:g})", _pwr_watts_added, PODS),
    # What constraints say.
    Feature("is_feasible", "bit", "the pod may go there", _BIT, lambda v: v.feasible, OTHERS),
    Feature("taints_unwanted", "count", "soft taints of the node that the pod does not tolerate", _MOST,
        lambda v: v.of_most(v.weights(v.arrays.classes.taint_weight)), NODE),
    Feature("affinity_wanted", "weight", "the pod's preferred node affinity", _MOST,
        lambda v: v.of_most(v.weights(v.arrays.classes.affinity_weight)), NODE),
    Feature("images_present", "score", "the pod's images that the node has, as upstream scores them", "by 100",
        lambda v: v.cut(v.weights(v.arrays.classes.image_weight) / 100.0), NODE),
    Feature("spread_crowding", "count", "pods of the same kind in the node's domains, over the soft spread constraints",
        _MOST, _crowding, OTHERS),
    Feature("neighbours_wanted", "weight", "pods near the node that the pod wants (or, below 0, does not want) there",
        _MOST, _neighbours, OTHERS),
    # The pod that waits behind this one, where the queue is known; the same for all nodes.
    Feature("next_cpu", "milli-CPU", "CPU that the pod behind this one asks for",
        "by the mean node's CPU, cut to 0..1; 0 without", lambda v: _next_request(v, CPU_COLUMN), CLUSTER, IN_PYTHON),
    Feature("next_memory", "bytes", "memory that the pod behind this one asks for",
        "by the mean node's memory, cut to 0..1; 0 without",
        lambda v: _next_request(v, MEMORY_COLUMN), CLUSTER, IN_PYTHON),
)  # fmt: skip
"""Every feature, in the order of the columns."""
