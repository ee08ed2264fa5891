package inference

import "math"

// scope is what can change a feature's value, beside another pod or other nodes. The words are those of
// src/longshore/core/words/scope.py.
type scope string

const (
	// Nothing more: one value for all nodes, or one for each.
	ofPod  scope = "pod"
	ofNode scope = "node"
	// What is measured on the node.
	ofReadings scope = "readings"
	// The pods that run on the node.
	ofPods scope = "pods on the node"
	// The pods that run anywhere: one value for all nodes, or one for each.
	ofCluster scope = "cluster"
	ofOthers  scope = "other nodes"
)

// Where a reading counts one half.
const (
	halfLatency     = 25.0
	halfConnections = 100.0
	halfTraffic     = 1e8
	halfCPUPerGPU   = 10_000.0
	halfGPUWatts    = 200.0
	manyDevices     = 8
)

// view is what a feature of one node is computed from, beside the node.
type view struct {
	largest *largest
	pod     *podFacts
	typical *typical
}

// feature is one column. Exactly one of own, cluster and others is set.
type feature struct {
	version int
	scope   scope
	own     func(v *view, n *node) float64
	cluster func(c *clusterFacts) float64
	others  othersColumn
	reads   reads
}

// othersColumn names the columns that depend on other nodes' pods, or on where the pod may go.
type othersColumn int

const (
	notOthers othersColumn = iota
	feasibleColumn
	crowdingColumn
	neighboursColumn
)

// reads is what a model looks at, so that nothing else is worked out.
type reads struct {
	readings, labels, taints, images, nodePreferences, gpus, typical, feasible, crowding, neighbours, app, zones bool
}

func (r *reads) join(other reads) {
	r.readings = r.readings || other.readings
	r.labels = r.labels || other.labels
	r.taints = r.taints || other.taints
	r.images = r.images || other.images
	r.nodePreferences = r.nodePreferences || other.nodePreferences
	r.gpus = r.gpus || other.gpus
	r.typical = r.typical || other.typical
	r.feasible = r.feasible || other.feasible
	r.crowding = r.crowding || other.crowding
	r.neighbours = r.neighbours || other.neighbours
	r.app = r.app || other.app
	r.zones = r.zones || other.zones
}

func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func saturated(value, half float64) float64 {
	value = max(value, 0)
	return value / (value + half)
}

func signedSaturated(value, half float64) float64 { return value / (math.Abs(value) + half) }

func ofMost(value, most float64) float64 {
	if most > 0 {
		return value / most
	}
	return 0
}

// measured returns a reading, saturated; 0 where it is not known.
func measured(value, half float64) float64 {
	if !known(value) {
		return 0
	}
	return saturated(value, half)
}

// keeps says whether a node's latency keeps a limit: without one always, without a reading never.
func (n *node) keeps(limit float64) float64 {
	return bit(!known(limit) || (known(n.reading.LatencyMillis) && n.reading.LatencyMillis <= limit))
}

func limited(limit float64) float64 {
	if !known(limit) {
		return 0
	}
	return saturated(limit, halfLatency)
}

func (n *node) cpuAfter(v *view) float64    { return share(n.cpuAsked+v.pod.cpu, n.cpu) }
func (n *node) memoryAfter(v *view) float64 { return share(n.memoryAsked+v.pod.memory, n.memory) }

// freeOf returns what is not asked for, by the largest node's, 0 to 1.
func freeOf(have, asked, most int64) float64 {
	if most <= 0 {
		return 0
	}
	return cut(float64(have-asked) / float64(most))
}

// addedWatts returns what the pod adds, as if the node drew `now` before.
func addedWatts(v *view, n *node, now float64) float64 {
	return ofMost(n.wattsAt(n.cpuAfter(v))-now, v.largest.watts)
}

func own(scope scope, compute func(v *view, n *node) float64) feature {
	return feature{version: 1, scope: scope, own: compute}
}

func pooled(compute func(c *clusterFacts) float64) feature {
	return feature{version: 1, scope: ofCluster, cluster: compute}
}

func reading(compute func(v *view, n *node) float64) feature {
	return feature{version: 1, scope: ofReadings, own: compute, reads: reads{readings: true}}
}

// featureTable returns every feature that the plugin can compute, by name. Those of core/arrays/feature_table.py that are
// missing do not exist in the plugin: nobody tells it which pod comes next. TestContractTable compares the two tables.
func featureTable() map[string]feature {
	table := map[string]feature{}
	for _, part := range []map[string]feature{nodeFeatures(), podFeatures(), readingFeatures(), moneyFeatures(), wishFeatures(), gpuFeatures()} {
		for name, one := range part {
			table[name] = one
		}
	}
	return table
}

func nodeFeatures() map[string]feature {
	return map[string]feature{
		"node_cpu_used":    own(ofPods, func(_ *view, n *node) float64 { return n.cpuUsed }),
		"node_memory_used": own(ofPods, func(_ *view, n *node) float64 { return n.memoryUsed }),
		"node_pods_used":   own(ofPods, func(_ *view, n *node) float64 { return n.podsUsed }),
		"node_cpu_free":    own(ofPods, func(v *view, n *node) float64 { return freeOf(n.cpu, n.cpuAsked, v.largest.cpu) }),
		"node_memory_free": own(ofPods, func(v *view, n *node) float64 { return freeOf(n.memory, n.memoryAsked, v.largest.memory) }),
		"node_is_on":       inVersion(2, own(ofPods, func(_ *view, n *node) float64 { return bit(n.isOn) })),
		"after_cpu_used":   own(ofPods, func(v *view, n *node) float64 { return n.cpuAfter(v) }),
		"after_memory_used": own(ofPods, func(v *view, n *node) float64 {
			return n.memoryAfter(v)
		}),
		"after_pods_used": own(ofPods, func(_ *view, n *node) float64 { return share(n.numPods+1, n.pods) }),
		"after_imbalance": own(ofPods, func(v *view, n *node) float64 { return math.Abs(n.cpuAfter(v) - n.memoryAfter(v)) }),

		"cluster_cpu_mean":      pooled(func(c *clusterFacts) float64 { return c.cpuMean }),
		"cluster_cpu_most":      pooled(func(c *clusterFacts) float64 { return c.cpuMost }),
		"cluster_cpu_least":     pooled(func(c *clusterFacts) float64 { return c.cpuLeast }),
		"cluster_cpu_deviation": pooled(func(c *clusterFacts) float64 { return min(2*c.cpuDeviation, 1) }),
		"cluster_memory_mean":   pooled(func(c *clusterFacts) float64 { return c.memoryMean }),
		"cluster_on_share":      inVersion(2, pooled(func(c *clusterFacts) float64 { return c.onShare })),
	}
}

func podFeatures() map[string]feature {
	return map[string]feature{
		"pod_cpu":    own(ofPod, func(v *view, _ *node) float64 { return cut(float64(v.pod.cpu) / max(v.largest.meanCPU, 1)) }),
		"pod_memory": own(ofPod, func(v *view, _ *node) float64 { return cut(float64(v.pod.memory) / max(v.largest.meanMemory, 1)) }),
		"pod_gpu": own(ofPod, func(v *view, _ *node) float64 {
			return saturated(float64(v.pod.gpu.milli*v.pod.gpu.count), wholeGPU)
		}),
		"pod_latency_soft":     own(ofPod, func(v *view, _ *node) float64 { return limited(v.pod.latencySoft) }),
		"pod_has_latency_soft": own(ofPod, func(v *view, _ *node) float64 { return bit(known(v.pod.latencySoft)) }),
		"pod_latency_hard":     own(ofPod, func(v *view, _ *node) float64 { return limited(v.pod.latencyHard) }),
		"pod_has_latency_hard": own(ofPod, func(v *view, _ *node) float64 { return bit(known(v.pod.latencyHard)) }),
	}
}

func readingFeatures() map[string]feature {
	return map[string]feature{
		"latency":       reading(func(_ *view, n *node) float64 { return measured(n.reading.LatencyMillis, halfLatency) }),
		"latency_known": reading(func(_ *view, n *node) float64 { return bit(known(n.reading.LatencyMillis)) }),
		"latency_within_soft": reading(func(v *view, n *node) float64 {
			return n.keeps(min(v.pod.latencySoft, v.pod.latencyHard))
		}),
		"latency_within_hard": reading(func(v *view, n *node) float64 { return n.keeps(v.pod.latencyHard) }),
		"connections":         reading(func(_ *view, n *node) float64 { return measured(n.reading.Connections, halfConnections) }),
		"connections_known":   reading(func(_ *view, n *node) float64 { return bit(known(n.reading.Connections)) }),
		"traffic":             reading(func(_ *view, n *node) float64 { return measured(n.reading.TrafficBytesPerSecond, halfTraffic) }),
		"traffic_known":       reading(func(_ *view, n *node) float64 { return bit(known(n.reading.TrafficBytesPerSecond)) }),
		"cpu_measured": reading(func(_ *view, n *node) float64 {
			if !known(n.reading.CPURatio) {
				return 0
			}
			return cut(n.reading.CPURatio)
		}),
		"cpu_measured_known": reading(func(_ *view, n *node) float64 { return bit(known(n.reading.CPURatio)) }),
	}
}

func moneyFeatures() map[string]feature {
	return map[string]feature{
		"idle_watts": own(ofNode, func(v *view, n *node) float64 { return ofMost(n.watts[0], v.largest.watts) }),
		"full_watts": own(ofNode, func(v *view, n *node) float64 { return ofMost(n.watts[len(n.watts)-1], v.largest.watts) }),
		"added_watts": own(ofPods, func(v *view, n *node) float64 {
			return addedWatts(v, n, n.wattsAt(n.cpuUsed))
		}),
		"added_watts_from_off": inVersion(2, own(ofPods, func(v *view, n *node) float64 {
			switch {
			case n.isOn:
				return addedWatts(v, n, n.wattsAt(n.cpuUsed))
			case v.pod.keepsOn:
				return addedWatts(v, n, 0)
			}
			return 0
		})),
		"cost":   own(ofNode, func(v *view, n *node) float64 { return ofMost(n.cost, v.largest.cost) }),
		"carbon": own(ofNode, func(v *view, n *node) float64 { return ofMost(n.carbon, v.largest.carbon) }),
	}
}

func wishFeatures() map[string]feature {
	return map[string]feature{
		"is_feasible": {version: 1, scope: ofOthers, others: feasibleColumn, reads: reads{feasible: true}},
		"spread_crowding": {
			version: 1, scope: ofOthers, others: crowdingColumn, reads: reads{crowding: true, labels: true},
		},
		"neighbours_wanted": {
			version: 1, scope: ofOthers, others: neighboursColumn, reads: reads{neighbours: true, labels: true},
		},
		"taints_unwanted": {version: 1, scope: ofNode, reads: reads{taints: true}, own: func(v *view, n *node) float64 {
			return ofMost(float64(v.pod.unwantedTaints(n)), v.pod.taintsMost)
		}},
		"affinity_wanted": {version: 1, scope: ofNode, reads: reads{nodePreferences: true, labels: true}, own: func(v *view, n *node) float64 {
			return ofMost(float64(v.pod.wishedFor(n)), v.pod.preferredMost)
		}},
		"images_present": {version: 1, scope: ofNode, reads: reads{images: true}, own: func(v *view, n *node) float64 {
			return cut(float64(v.pod.imageWorth(n)) / 100)
		}},
	}
}
