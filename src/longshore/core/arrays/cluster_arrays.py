"""The cluster as padded arrays: the array-side state type, NumPy when live and JAX when simulated.

Named tuples all the way, so that JAX takes them as they are. Axis names: `nodes`, `classes` (distinct pod specs),
`resources` (CPU, memory, ephemeral storage, then extended ones by name), `queries` (rows of the counter table), `keys`
(topology keys), `devices` (GPUs of a node), `zones` (up to the last that a latency was measured to; none if none was).
Rows beyond the real nodes are padding.

Everything that depends on other pods reads `state.counts[queries, nodes]`; placing a pod of class c on node n adds
`tables.match[:, c]` to column n. A term table of width 0 means that no class has such a term; its filter costs nothing.
"""

from typing import Any, NamedTuple

from longshore.core.arrays.ops import Array


class NodeArrays(NamedTuple):
    """What a node is."""

    is_real: Array  # [nodes] bool; False = padding
    allocatable: Array  # [nodes, resources] int64
    allowed_pods: Array  # [nodes] int64
    domain: Array  # [keys, nodes] int32; 0 = the node lacks the key, 1 = its value is the empty string
    zone: Array  # [nodes] int32; as a row of `domain`, of the zone's label
    name_rank: Array  # [nodes] int32; position in the order of names, for ties
    gpu_capacity: Array  # [nodes, devices] int64 milli; 0 = no such device
    gpu_watts: Array  # [nodes, 2] float64; what one GPU draws when wholly free, and when not
    power_curve: Array  # [nodes, points] float64 watts at even steps of CPU use
    cost_per_hour: Array  # [nodes] float64
    carbon_grams_per_kwh: Array  # [nodes] float64


class Readings(NamedTuple):
    """What was last measured on a node; `*_known` says whether it was."""

    latency_ms: Array  # [nodes] float64
    latency_known: Array  # [nodes] bool
    connections: Array  # [nodes] float64
    connections_known: Array  # [nodes] bool
    traffic: Array  # [nodes] float64 bytes per second
    traffic_known: Array  # [nodes] bool
    cpu_ratio: Array  # [nodes] float64 measured use, 0..1
    cpu_known: Array  # [nodes] bool
    watts: Array  # [nodes] float64 measured draw
    watts_known: Array  # [nodes] bool
    zone_near: Array  # [nodes, zones] float32; column = `nodes.zone`; 1 / (1 + ms / 5), 0 = not known or its own zone


class Tables(NamedTuple):
    """Rows that classes point at. Row 0 is neutral: it allows all, weighs zero, counts nothing."""

    masks: Array  # [masks, nodes] bool
    weights: Array  # [weights, nodes] int64
    match: Array  # [queries, classes] int32; what one pod of the class adds to the query's counter
    log_size: Array  # [nodes + 3] float64; ln(i), as upstream's library computes it
    typical_cpu_millis: Array  # [typical] int64; of the kinds of pods that want a GPU
    typical_gpu_milli: Array  # [typical] int64
    typical_gpu_count: Array  # [typical] int64
    typical_share: Array  # [typical, nodes] float64; the share of pods of the kind that may use the node's model
    typical_rest: Array  # [nodes] float64; the share of all others, 1 - Σ typical_share; 0 without typical pods
    typical_pressure: Array  # [nodes] float64; what is asked of a GPU of the node's model, by the mean; 1 without GPUs


class Terms(NamedTuple):
    """Conditions on other pods, per class. A query of 0 is padding."""

    query: Array  # [classes, terms] int32
    key: Array  # [classes, terms] int32; row of `nodes.domain`


class SpreadTerms(NamedTuple):
    """Topology spread constraints, per class."""

    query: Array  # [classes, terms] int32
    key: Array  # [classes, terms] int32
    max_skew: Array  # [classes, terms] int64
    min_domains: Array  # [classes, terms] int64
    self_match: Array  # [classes, terms] int64; 1 if the class matches its own selector
    affinity_mask: Array  # [classes, terms] int32; row of `tables.masks`: the nodes that count by the pod's affinity
    taint_mask: Array  # [classes, terms] int32; the same by its tolerations
    is_hostname: Array  # [classes, terms] bool


class ClassArrays(NamedTuple):
    """What a class of pods asks for."""

    request: Array  # [classes, resources] int64
    keeps_on: Array  # [classes] int64; 1 = its pods keep their node on, 0 = they go with it (`PodSpec.keeps_node_on`)
    nonzero_request: Array  # [classes, 2] int64; CPU and memory as existing pods count in scores
    score_request: Array  # [classes, 2] int64; CPU and memory as the pod itself counts when it is scored
    static_masks: dict[str, Array]  # [classes] int32; rows of `tables.masks`, by filter
    taint_weight: Array  # [classes] int32; rows of `tables.weights`
    affinity_weight: Array
    image_weight: Array
    ports: Array  # [classes, terms] int32 queries that must count 0 on the node
    hard_spread: SpreadTerms
    soft_spread: SpreadTerms
    soft_is_default: Array  # [classes] bool; the cluster's default spread, which tolerates nodes without the key
    affinity: Terms  # required; all terms of a class share one query (pods that match all of them)
    affinity_self: Array  # [classes] bool; the class matches its own affinity terms
    anti_affinity: Terms  # required
    repelled_by: Terms  # required anti-affinity of others that matches this class
    preferred: Terms  # weighted terms, own and of others; weights are in `preferred_weight` and in `tables.match`
    preferred_weight: Array  # [classes, terms] int64
    gpu_count: Array  # [classes] int64
    gpu_milli: Array  # [classes] int64 per device; 0 = wants no GPU
    gpu_kind_query: Array  # [classes] int32; counts pods of the same GPU kind
    gpu_any_query: Array  # [] int32; counts pods that hold any GPU
    latency_soft_ms: Array  # [classes] float64; inf = no limit
    latency_hard_ms: Array  # [classes] float64; inf = no limit
    has_latency_limits: Array  # [classes] bool; both limits are set


class State(NamedTuple):
    """What placements change."""

    requested: Array  # [nodes, resources] int64
    nonzero_requested: Array  # [nodes, 2] int64
    pod_count: Array  # [nodes] int64
    keeping: Array  # [nodes] int64; pods that keep the node on (`is_on`)
    counts: Array  # [queries, nodes] int64
    gpu_used: Array  # [nodes, devices] int64 milli
    last_node: Array  # [] int32; where the last pod went, -1 at the start
    step: Array  # [] uint32; placements so far
    seed: Array  # [] uint32; with `step`, all the randomness there is
    next_class: Array  # [] int32; class of the pod that waits behind the one to place, -1 = none is known


class ClusterArrays(NamedTuple):
    """A cluster, its classes of pods and its present state."""

    nodes: NodeArrays
    readings: Readings
    tables: Tables
    classes: ClassArrays
    state: State


def rows_of(arrays: ClusterArrays, index: Any) -> ClusterArrays:
    """Return what belongs to some nodes; the counters and domains, which are about others too, are left as they are."""
    nodes, state, tables = arrays.nodes, arrays.state, arrays.tables
    return arrays._replace(
        nodes=nodes._replace(
            is_real=nodes.is_real[index],
            allocatable=nodes.allocatable[index],
            allowed_pods=nodes.allowed_pods[index],
            name_rank=nodes.name_rank[index],
            gpu_capacity=nodes.gpu_capacity[index],
            gpu_watts=nodes.gpu_watts[index],
            power_curve=nodes.power_curve[index],
            cost_per_hour=nodes.cost_per_hour[index],
            carbon_grams_per_kwh=nodes.carbon_grams_per_kwh[index],
        ),
        readings=Readings._make(values[index] for values in arrays.readings),
        tables=tables._replace(
            weights=tables.weights[:, index],
            typical_share=tables.typical_share[:, index],
            typical_rest=tables.typical_rest[index],
            typical_pressure=tables.typical_pressure[index],
        ),
        state=state._replace(
            requested=state.requested[index],
            nonzero_requested=state.nonzero_requested[index],
            pod_count=state.pod_count[index],
            keeping=state.keeping[index],
            gpu_used=state.gpu_used[index],
        ),
    )


def is_on(arrays: ClusterArrays) -> Array:
    """Say which nodes run a pod that keeps them from being removed [nodes] bool; padding rows are never on."""
    return arrays.nodes.is_real & (arrays.state.keeping > 0)
