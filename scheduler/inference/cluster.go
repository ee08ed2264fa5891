package inference

import (
	"maps"
	"math"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// largest is the most that any node has, and what else depends on what all nodes are.
type largest struct {
	cpu, memory         int64
	watts, cost, carbon float64
	gpu                 float64
	meanCPU, meanMemory float64
	hasDevices          bool
}

// clusterFacts is what runs on all nodes together.
type clusterFacts struct {
	cpuMean, cpuMost, cpuLeast, cpuDeviation, memoryMean, onShare float64
}

// sync takes up what changed on the nodes since the last pod.
func (s *Scorer) sync(all []fwk.NodeInfo, readings Readings) {
	s.tick++
	if !s.isSameList(all) {
		s.relist(all)
	}
	isNewFrame, hasNewReadings := len(s.largest) == 0, readings.number != s.readingsNumber
	s.readingsNumber = readings.number
	hasNewZones := hasNewReadings
	for i, info := range all {
		n := &s.nodes[i]
		if n.info != info {
			n.info = info
		}
		isRead := hasNewReadings && s.takeReading(n, readings)
		if info.GetGeneration() == n.generation {
			if isRead {
				s.changed[i] = s.tick
			}
			continue
		}
		s.changed[i] = s.tick
		if info.Node() != n.object {
			n.object = info.Node()
			facts, annotated := s.factsOf(info), annotatedReading(n.object.Annotations)
			if !facts.equal(&n.nodeFacts) || n.watts == nil {
				n.nodeFacts, isNewFrame = facts, true
			}
			hasNewZones = hasNewZones || !maps.Equal(n.annotated.ZoneLatencyMillis, annotated.ZoneLatencyMillis)
			n.annotated = annotated
			s.takeReading(n, readings)
		}
		n.takeState(info)
		if s.model.reads.gpus {
			n.bookDevices(info.GetPods(), s.held, nil)
		}
		if s.model.reads.typical {
			s.typical.add(n, info.GetPods())
		}
		s.cpuUsed[i], s.memoryUsed[i], s.isOn[i] = n.cpuUsed, n.memoryUsed, bit(n.numPods > 0)
	}
	if isNewFrame {
		s.newFrame()
	} else if hasNewZones && s.model.reads.zones {
		s.numberZones()
	}
	s.renewDevices(isNewFrame)
	s.poolCluster()
}

// isSameList says whether the nodes are those of the last time, in the same order.
func (s *Scorer) isSameList(all []fwk.NodeInfo) bool {
	if len(all) != len(s.nodes) {
		return false
	}
	for i, info := range all {
		// A generation belongs to one state of one node: only others can be of another name.
		if info.GetGeneration() != s.nodes[i].generation && info.Node().Name != s.nodes[i].name {
			return false
		}
	}
	return true
}

// relist makes room for other nodes; what is known of those that stay is kept.
func (s *Scorer) relist(all []fwk.NodeInfo) {
	before, beforeChanged := s.nodes, s.byName
	s.nodes = make([]node, len(all))
	s.byName = make(map[string]int, len(all))
	kept := make([]bool, len(before))
	for i, info := range all {
		name := info.Node().Name
		if old, found := beforeChanged[name]; found {
			s.nodes[i] = before[old]
			kept[old] = true
		} else {
			s.nodes[i] = node{generation: -1}
		}
		s.nodes[i].name = name
		s.byName[name] = i
	}
	for i := range before {
		if !kept[i] && s.model.reads.typical {
			s.typical.remove(&before[i])
		}
	}
	s.changed = zeroed64(s.changed, len(all))
	s.cpuUsed, s.memoryUsed, s.isOn = zeroed(s.cpuUsed, len(all)), zeroed(s.memoryUsed, len(all)), zeroed(s.isOn, len(all))
	for i := range s.nodes {
		n := &s.nodes[i]
		s.changed[i] = s.tick
		s.cpuUsed[i], s.memoryUsed[i], s.isOn[i] = n.cpuUsed, n.memoryUsed, bit(n.numPods > 0)
	}
	s.isFeasible = make([]bool, len(all))
	for column := range s.others {
		s.others[column] = zeroed(s.others[column], len(all))
	}
	s.largest = s.largest[:0]
}

func zeroed64(values []uint64, length int) []uint64 {
	if cap(values) < length {
		return make([]uint64, length)
	}
	values = values[:length]
	clear(values)
	return values
}

// takeReading gives a node its reading, and says whether it is another one.
func (s *Scorer) takeReading(n *node, readings Readings) bool {
	now, given := readings.byNode[n.name]
	if !given {
		now = n.annotated
	}
	before := n.reading
	n.reading = now
	return !sameNumber(before.LatencyMillis, now.LatencyMillis) || !sameNumber(before.Connections, now.Connections) ||
		!sameNumber(before.TrafficBytesPerSecond, now.TrafficBytesPerSecond) || !sameNumber(before.CPURatio, now.CPURatio)
}

// sameNumber compares readings; two that are not known are the same.
func sameNumber(a, b float64) bool { return a == b || (!known(a) && !known(b)) }

// newFrame works out what depends on what all nodes are. Everything that is kept of classes of pods is then stale.
func (s *Scorer) newFrame() {
	s.frame++
	var most largest
	points := 2
	for i := range s.nodes {
		points = max(points, len(s.nodes[i].curve))
	}
	cpu, memory := 0.0, 0.0
	for i := range s.nodes {
		n := &s.nodes[i]
		n.watts = resampled(n.curve, points)
		most.cpu, most.memory = max(most.cpu, n.cpu), max(most.memory, n.memory)
		most.watts = max(most.watts, slices.Max(n.watts))
		most.cost, most.carbon = max(most.cost, n.cost), max(most.carbon, n.carbon)
		most.gpu = max(most.gpu, float64(n.gpuCount)*wholeGPU)
		cpu += float64(n.cpu)
		memory += float64(n.memory)
	}
	most.meanCPU, most.meanMemory = cpu/float64(len(s.nodes)), memory/float64(len(s.nodes))
	most.hasDevices = most.gpu > 0
	s.largest = append(s.largest[:0], most)
	s.run.resize(len(s.nodes))
	if s.model.reads.zones {
		s.numberZones()
	}
	if s.model.program.isOrdered {
		s.run.order = s.run.order[:0]
		for i := range s.nodes {
			s.run.order = append(s.run.order, i)
		}
		slices.SortFunc(s.run.order, func(a, b int) int { return strings.Compare(s.nodes[a].name, s.nodes[b].name) })
	}
}

// numberZones numbers the zones, and says how near they are to every node.
func (s *Scorer) numberZones() {
	numbers := map[string]int{}
	r := &s.run
	r.zones, r.zoneSize = r.zones[:0], append(r.zoneSize[:0], 0)
	for i := range s.nodes {
		n := &s.nodes[i]
		n.zoneNumber = 0
		if n.hasZone {
			if numbers[n.zone] == 0 {
				numbers[n.zone] = len(numbers) + 1
				r.zoneSize = append(r.zoneSize, 0)
			}
			n.zoneNumber = numbers[n.zone]
			r.zoneSize[n.zoneNumber]++
		}
		r.zones = append(r.zones, n.zoneNumber)
	}
	r.numZones = len(numbers)
	for i := range s.nodes {
		n := &s.nodes[i]
		n.near = n.near[:0]
		for zone, millis := range n.reading.ZoneLatencyMillis {
			if number := numbers[zone]; number != 0 && number != n.zoneNumber && millis >= 0 && known(millis) {
				n.near = append(n.near, nearZone{number, float32(halfNearMillis / (halfNearMillis + millis))})
			}
		}
		slices.SortFunc(n.near, func(a, b nearZone) int { return a.zone - b.zone })
	}
}

// renewDevices works out what is left of GPUs, and what that is worth to typical pods.
func (s *Scorer) renewDevices(isNewFrame bool) {
	if !s.model.reads.gpus {
		return
	}
	isOther := s.typical.renew() || isNewFrame
	if isOther && !isNewFrame {
		s.frame++
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		if isOther || s.changed[i] == s.tick {
			s.typical.meet(n.gpuModel)
			n.countDevices(s.typical)
		}
	}
}

// poolCluster works out what runs on all nodes together.
func (s *Scorer) poolCluster() {
	c := clusterFacts{cpuLeast: 1}
	number := float64(len(s.nodes))
	for i, used := range s.cpuUsed {
		c.cpuMean += used
		c.cpuMost = max(c.cpuMost, used)
		c.cpuLeast = min(c.cpuLeast, used)
		c.memoryMean += s.memoryUsed[i]
		c.onShare += s.isOn[i]
	}
	c.cpuMean, c.memoryMean, c.onShare = c.cpuMean/number, c.memoryMean/number, c.onShare/number
	square := 0.0
	for _, used := range s.cpuUsed {
		square += (used - c.cpuMean) * (used - c.cpuMean)
	}
	c.cpuDeviation = math.Sqrt(square / number)
	s.facts = c
}
