package inference

import (
	"context"
	"math"

	v1 "k8s.io/api/core/v1"
)

// renewSize is how many stale nodes are computed again at a time.
const renewSize = 32

// class is what is kept of pods that are alike: the features of every node that depend on the node and the pod alone,
// and what the first layer makes of them.
type class struct {
	facts   *podFacts
	podKind [6]float32
	frame   uint64
	tick    uint64
	used    uint64
	rows    []float32 // [nodes, features]
	first   []float32 // [nodes, width of the first layer]
	outside []uint16  // by node: features outside of what was met in training
}

// classOf returns the class of a pod, made on first use.
func (s *Scorer) classOf(pod *v1.Pod) (*class, *Problem) {
	key := s.classKey(pod)
	of := s.classes[key]
	if of == nil {
		facts, problem := s.factsOfPod(pod)
		if problem != nil {
			return nil, problem
		}
		of = s.room()
		of.facts, of.podKind, of.frame = facts, kindOf(&facts.gpu), 0
		s.classes[key] = of
	}
	of.used = s.tick
	return of, nil
}

// kindOf returns 1 for the pod's kind by the GPU that it wants, 0 for the others.
func kindOf(wants *gpuRequest) (kind [6]float32) {
	switch {
	case wants.count > 1:
		kind[min(wants.count, 3)+2] = 1
	case wants.milli >= wholeGPU:
		kind[3] = 1
	case wants.milli >= wholeGPU/2:
		kind[2] = 1
	case wants.milli >= 1:
		kind[1] = 1
	default:
		kind[0] = 1
	}
	return kind
}

// room returns an empty class: a new one, or the memory of the one that was not asked for the longest.
func (s *Scorer) room() *class {
	width := len(s.model.features)
	if first := s.model.program.firstLayer; first != nil {
		width += first.width
	}
	most := max(mostBytes/(4*width*len(s.nodes)+1), leastClasses)
	if len(s.classes) < most {
		return &class{}
	}
	oldest, least := uint64(0), uint64(math.MaxUint64)
	for key, one := range s.classes {
		if one.used < least {
			oldest, least = key, one.used
		}
	}
	found := s.classes[oldest]
	delete(s.classes, oldest)
	return found
}

// bringUp computes again what is stale of a class.
func (s *Scorer) bringUp(ctx context.Context, of *class) {
	features := len(s.model.features)
	s.stale = s.stale[:0]
	isNew := of.frame != s.frame
	if isNew {
		of.facts.compareAll(s)
		of.rows = zeroed(of.rows, features*len(s.nodes))
		if first := s.model.program.firstLayer; first != nil {
			of.first = zeroed(of.first, first.width*len(s.nodes))
		}
		if cap(of.outside) < len(s.nodes) {
			of.outside = make([]uint16, len(s.nodes))
		}
		of.outside = of.outside[:len(s.nodes)]
	}
	for i, changed := range s.changed {
		if isNew || changed > of.tick {
			s.stale = append(s.stale, i)
		}
	}
	s.view = view{&s.largest[0], of.facts, s.typical}
	s.current = of
	s.inParallel(ctx, (len(s.stale)+renewSize-1)/renewSize, fewPieces, s.renewPieces)
	if ctx.Err() == nil { // else some of it is not done, and is to be looked at again
		of.frame, of.tick = s.frame, s.tick
	}
}

// renewPiece computes some stale nodes again.
func (s *Scorer) renewPiece(piece int) {
	for _, at := range s.stale[piece*renewSize : min((piece+1)*renewSize, len(s.stale))] {
		s.renew(s.current, at)
	}
}

// renew computes one node's own features of a class, and what the first layer makes of them.
func (s *Scorer) renew(of *class, at int) {
	m, n := s.model, &s.nodes[at]
	row := of.rows[at*len(m.features):][:len(m.features)]
	if of.frame != s.frame {
		for _, i := range m.still {
			row[i] = float32(m.features[i].own(&s.view, n))
		}
	}
	for _, i := range m.moving {
		row[i] = float32(m.features[i].own(&s.view, n))
	}
	outside := uint16(0)
	for _, places := range [...][]int{m.still, m.moving} {
		for _, i := range places {
			if row[i] < m.low[i] || row[i] > m.high[i] {
				outside++
			}
		}
	}
	of.outside[at] = outside
	if layer := m.program.firstLayer; layer != nil {
		sum := of.first[at*layer.width:][:layer.width]
		copy(sum, layer.vector)
		for _, places := range [...][]int{m.still, m.moving} {
			for _, i := range places {
				addTimes(sum, row[i], layer.matrix[i*layer.width:][:layer.width])
			}
		}
	}
}

// prepare puts what is the same for all nodes where the network reads it.
func (s *Scorer) prepare(of *class) {
	m, p := s.model, s.model.program
	copy(s.run.data[p.preference], m.preference)
	copy(s.run.data[p.podKind], of.podKind[:])
	s.run.data[p.rows] = of.rows
	if p.firstLayer == nil {
		return
	}
	s.ofOthers = zeroed(s.ofOthers, p.firstLayer.width)
	for _, i := range m.cluster {
		value := float32(m.features[i].cluster(&s.facts))
		addTimes(s.ofOthers, value, p.firstLayer.matrix[i*p.firstLayer.width:][:p.firstLayer.width])
	}
}

// complete adds to what is kept of some nodes what depends on others.
func (s *Scorer) complete(from, to int) {
	m, p := s.model, s.model.program
	of, features := s.current, len(m.features)
	if p.firstLayer == nil {
		for _, i := range m.cluster {
			value := float32(m.features[i].cluster(&s.facts))
			for at := from; at < to; at++ {
				of.rows[at*features+i] = value
			}
		}
		for _, i := range m.others {
			column := s.others[m.features[i].others]
			for at := from; at < to; at++ {
				of.rows[at*features+i] = float32(column[at])
			}
		}
		return
	}
	width := p.firstLayer.width
	for at := from; at < to; at++ {
		sum, kept := s.run.data[p.firstLayer.output][at*width:][:width], of.first[at*width:][:width]
		sumInto(sum, kept, s.ofOthers)
		for _, i := range m.others {
			addTimes(sum, float32(s.others[m.features[i].others][at]), p.firstLayer.matrix[i*width:][:width])
		}
	}
}

// shareOutside returns the share of the values that were read of the feasible nodes which are outside of the envelope.
func (s *Scorer) shareOutside(of *class) float32 {
	m, total := s.model, 0
	for _, i := range m.cluster {
		if value := float32(m.features[i].cluster(&s.facts)); value < m.low[i] || value > m.high[i] {
			total += len(s.index)
		}
	}
	for _, at := range s.index {
		total += int(of.outside[at])
		for _, i := range m.others {
			if value := float32(s.others[m.features[i].others][at]); value < m.low[i] || value > m.high[i] {
				total++
			}
		}
	}
	return float32(total) / float32(len(s.index)*len(m.features))
}
