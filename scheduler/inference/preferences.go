package inference

import v1 "k8s.io/api/core/v1"

// What images are worth, as upstream's ImageLocality has it: below 23 MB in all they do not count, 1 GB per container
// counts full.
const (
	leastImageBytes = int64(23) << 20
	mostImageBytes  = int64(1000) << 20
)

// unwantedTaints counts the soft taints of a node that the pod does not tolerate.
func (p *podFacts) unwantedTaints(n *node) int {
	count := 0
	taints := n.object.Spec.Taints
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectPreferNoSchedule && !tolerates(p.softTolerations, &taints[i]) {
			count++
		}
	}
	return count
}

func tolerates(tolerations []v1.Toleration, taint *v1.Taint) bool {
	for i := range tolerations {
		one := &tolerations[i]
		if (one.Effect != "" && one.Effect != taint.Effect) || (one.Key != "" && one.Key != taint.Key) {
			continue
		}
		// Other operators are an alpha feature that is off: such a toleration covers nothing.
		isEqual := one.Operator == "" || one.Operator == v1.TolerationOpEqual
		if one.Operator == v1.TolerationOpExists || (isEqual && one.Value == taint.Value) {
			return true
		}
	}
	return false
}

// wishedFor adds the weights of the pod's node preferences that match.
func (p *podFacts) wishedFor(n *node) int64 {
	if p.nodePreferences == nil {
		return 0
	}
	return p.nodePreferences.Score(n.object)
}

// imageWorth scores 0 to 100 by how many bytes of the pod's images the node has.
func (p *podFacts) imageWorth(n *node) int64 {
	states := n.info.GetImageStates()
	if len(states) == 0 || p.numContainers == 0 {
		return 0
	}
	sum := int64(0)
	for i, name := range p.images {
		if state, found := states[name]; found {
			sum += int64(float64(state.Size) * p.imageSpread[i])
		}
	}
	most := mostImageBytes * int64(p.numContainers)
	sum = min(max(sum, leastImageBytes), most)
	return 100 * (sum - leastImageBytes) / (most - leastImageBytes)
}

// compareAll works out what a pod's wishes are measured by: the most that any node has.
func (p *podFacts) compareAll(s *Scorer) {
	reads := &s.model.reads
	p.taintsMost, p.preferredMost = 0, 0
	for i := range s.nodes {
		n := &s.nodes[i]
		if reads.taints {
			p.taintsMost = max(p.taintsMost, float64(p.unwantedTaints(n)))
		}
		if reads.nodePreferences {
			p.preferredMost = max(p.preferredMost, float64(max(p.wishedFor(n), -p.wishedFor(n))))
		}
	}
	if !reads.images {
		return
	}
	p.imageSpread = make([]float64, len(p.images))
	for at, name := range p.images {
		count := 0
		for i := range s.nodes {
			if _, found := s.nodes[i].info.GetImageStates()[name]; found {
				count++
			}
		}
		p.imageSpread[at] = float64(count) / float64(len(s.nodes))
	}
}
