package inference

import (
	"context"
	"maps"
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

// nodesPerLook is after how many nodes it is asked whether there is time left: a node with its pods takes microseconds.
const nodesPerLook = 64

// hasTime says whether there is time for another node; it looks at the clock now and then.
func hasTime(ctx context.Context, number int) bool {
	return number%nodesPerLook != nodesPerLook-1 || ctx.Err() == nil
}

// sync takes up what changed on the nodes since the last pod; false = there was no time for all of it. What is missing
// is then taken up by the next call, and all that depends on all nodes made anew.
func (s *Scorer) sync(ctx context.Context, all []fwk.NodeInfo, readings Readings) bool {
	isDone := s.syncAll(ctx, all, readings)
	if !isDone {
		s.largest = s.largest[:0]
	}
	return isDone
}

func (s *Scorer) syncAll(ctx context.Context, all []fwk.NodeInfo, readings Readings) bool {
	s.tick++
	if !s.findTouched(all) {
		s.relist(all)
	}
	hasNewReadings := readings.number != s.readingsNumber
	s.readingsNumber = readings.number
	if hasNewReadings {
		s.takeReadings(readings)
	}
	isNewFrame, hasNewZones := len(s.largest) == 0, hasNewReadings
	for i, at := range s.touched {
		if !hasTime(ctx, i) {
			return false
		}
		isOther, hasOtherZones := s.syncNode(int(at), all[at], readings)
		isNewFrame, hasNewZones = isNewFrame || isOther, hasNewZones || hasOtherZones
	}
	if isNewFrame {
		s.newFrame()
	} else if hasNewZones && s.model.reads.zones {
		s.numberZones()
	}
	if !s.renewDevices(ctx, isNewFrame) {
		return false
	}
	s.facts = s.usage.pool(s.model.load)
	return true
}

// findTouched finds the nodes that may have changed; false where they are others, or come in another order.
func (s *Scorer) findTouched(all []fwk.NodeInfo) bool {
	if len(all) != len(s.nodes) {
		return false
	}
	s.touched = s.touched[:0]
	infos, generations := s.nodeIndex.infos[:len(all)], s.generations[:len(all)]
	for i, info := range all {
		// A generation belongs to one state of one node. The node itself, which is often in no near cache, is not read
		// but for that.
		if own := ownOf(info); own != nil && own == infos[i] && own.Generation == generations[i] {
			continue
		}
		if info.Node().Name != s.nodes[i].name {
			return false
		}
		s.touched = append(s.touched, int32(i))
	}
	return true
}

// Distrust has a node looked at anew at the next call, though its generation may be the same.
func (s *Scorer) Distrust(node string) {
	if at, found := s.nodeIndex.places[node]; found && int(at) < len(s.generations) {
		s.generations[at] = -1
	}
}

// takeReadings gives every node its new reading.
func (s *Scorer) takeReadings(readings Readings) {
	for i := range s.nodes {
		if s.takeReading(&s.nodes[i], readings) {
			s.changed[i] = s.tick
		}
	}
}

// syncNode takes up what changed on a node, and says whether the node itself is another, and whether its zones are.
func (s *Scorer) syncNode(at int, info fwk.NodeInfo, readings Readings) (isOther, hasOtherZones bool) {
	n := &s.nodes[at]
	n.info = info
	s.nodeIndex.replace(int32(at), ownOf(info))
	if info.GetGeneration() == s.generations[at] {
		return false, false
	}
	s.generations[at], s.changed[at] = info.GetGeneration(), s.tick
	if info.Node() != n.object {
		n.object = info.Node()
		facts, annotated := s.factsOf(info), annotatedReading(n.object.Annotations)
		if !facts.equal(&n.nodeFacts) || n.watts == nil {
			n.nodeFacts, isOther = facts, true
		}
		hasOtherZones = !maps.Equal(n.annotated.ZoneLatencyMillis, annotated.ZoneLatencyMillis)
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
	s.usage.take(at, n)
	return isOther, hasOtherZones
}

// relist makes room for other nodes; what is known of those that stay is kept.
func (s *Scorer) relist(all []fwk.NodeInfo) {
	before, beforePlaces, beforeGenerations := s.nodes, s.nodeIndex.places, s.generations
	s.nodeIndex = NewNodeIndex(all)
	s.nodes, s.generations = make([]node, len(all)), make([]int64, len(all))
	s.touched = s.touched[:0]
	s.changed = zeroed(s.changed, len(all))
	s.usage.resize(len(all))
	kept := make([]bool, len(before))
	for i, info := range all {
		name := info.Node().Name
		s.generations[i] = -1
		if old, found := beforePlaces[name]; found {
			s.nodes[i], s.generations[i] = before[old], beforeGenerations[old]
			kept[old] = true
		}
		s.nodes[i].name = name
		s.changed[i] = s.tick
		s.usage.take(i, &s.nodes[i])
		s.touched = append(s.touched, int32(i))
	}
	for i := range before {
		if !kept[i] && s.model.reads.typical {
			s.typical.remove(&before[i])
		}
	}
	s.isFeasible = make([]bool, len(all))
	for i := range s.others {
		s.others[i].values = zeroed(s.others[i].values, len(all))
	}
	s.largest = s.largest[:0]
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
	s.settled = nil
	s.run.resize(len(s.nodes), s.numWorkers())
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

// renewDevices works out what is left of GPUs, and what that is worth to typical pods; false = there was no time for all.
func (s *Scorer) renewDevices(ctx context.Context, isNewFrame bool) bool {
	if !s.model.reads.gpus {
		return true
	}
	isOther := s.typical.renew() || isNewFrame
	if isOther && !isNewFrame {
		s.frame++
	}
	if isNewFrame {
		s.typical.countGPUs(s.nodes)
	}
	if isOther {
		s.typical.press()
		for i := range s.nodes {
			if !hasTime(ctx, i) {
				return false
			}
			s.countDevices(&s.nodes[i])
		}
		return true
	}
	for i, at := range s.touched {
		if !hasTime(ctx, i) {
			return false
		}
		s.countDevices(&s.nodes[at])
	}
	return true
}

func (s *Scorer) countDevices(n *node) {
	s.typical.meet(n.gpuModel)
	n.countDevices(s.typical)
}
