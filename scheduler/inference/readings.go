package inference

import (
	"math"

	fwk "k8s.io/kube-scheduler/framework"
)

// Reading is what was last measured on a node. What is not a finite number is not known.
type Reading struct {
	LatencyMillis         float64
	Connections           float64
	TrafficBytesPerSecond float64
	CPURatio              float64
	Watts                 float64
	// ZoneLatencyMillis is the latency from the node to the nodes of each zone, by the zone's name.
	ZoneLatencyMillis map[string]float64
}

// Unknown returns a reading of which nothing is known: fill in what is.
func Unknown() Reading {
	nan := math.NaN()
	return Reading{nan, nan, nan, nan, nan, nil}
}

// Readings are the readings of many nodes, made once and then only read. The zero value holds none.
//
// A node that is named here is known by that reading alone; of the others, what their annotations say counts.
type Readings struct {
	byNode map[string]Reading
	// number tells one table from the next, so that a scorer looks at every node again only when it is another one.
	number uint64
}

// NewReadings returns a table of readings by the name of the node. The number must differ from that of every other
// table that the same scorer is given, and must not be 0; the map must not be written to afterwards.
func NewReadings(byNode map[string]Reading, number uint64) Readings {
	return Readings{byNode: byNode, number: number}
}

// Equal says whether these are the same readings, not only like ones.
func (r Readings) Equal(other Readings) bool { return r.number == other.number }

// Len says of how many nodes something was measured.
func (r Readings) Len() int { return len(r.byNode) }

// NameAny says whether one of the nodes at least is named.
func (r Readings) NameAny(nodes []fwk.NodeInfo) bool {
	for _, node := range nodes {
		if _, found := r.byNode[node.Node().Name]; found {
			return true
		}
	}
	return false
}
