package inference

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"longshore.dev/scheduler/bundle"
)

// renewSize is how many stale nodes are computed again at a time.
const renewSize = 32

// class is what is kept of pods that are alike: the features of every node that depend on the node and the pod alone,
// and what the first layer makes of them.
type class struct {
	facts   *podFacts
	podKind [bundle.NumPodKinds]float32
	frame   uint64
	tick    uint64
	used    uint64
	rows    []float32 // [nodes, features]
	// What the first layer makes of the rows, as far as these depend on the node and the pod alone: [nodes, its width].
	first          []float32
	matrix, vector []float32 // of that layer
	// Features outside of what was met in training, by node and in all.
	outside    []uint16
	allOutside int
}

// classOf returns the class of a pod, made on first use.
func (s *Scorer) classOf(pod *v1.Pod) *class {
	key := s.classKey(pod)
	of := s.classes[key]
	if of == nil {
		facts := s.factsOfPod(pod)
		of = s.room()
		of.facts, of.podKind, of.frame = facts, kindOf(&facts.gpu), 0
		s.classes[key] = of
	}
	of.used = s.tick
	return of
}

// kindOf returns 1 for the pod's kind by the GPU that it wants, 0 for the others.
func kindOf(wants *gpuRequest) (kind [bundle.NumPodKinds]float32) {
	switch {
	case wants.count > 4:
		kind[8] = 1
	case wants.count > 2:
		kind[7] = 1
	case wants.count > 1:
		kind[6] = 1
	case wants.milli >= wholeGPU:
		kind[5] = 1
	case wants.milli >= 1:
		// By quarters of a GPU.
		kind[1+4*wants.milli/wholeGPU] = 1
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
	isNew := of.frame != s.frame
	if isNew {
		s.begin(of)
	}
	s.stale = s.stale[:0]
	for i, changed := range s.changed {
		if isNew || changed > of.tick {
			s.stale = append(s.stale, i)
		}
	}
	s.view = view{&s.largest[0], of.facts, s.typical}
	s.current = of
	of.allOutside -= s.staleOutside(of)
	s.inParallel(ctx, (len(s.stale)+renewSize-1)/renewSize, fewPieces, s.renewPieces)
	of.allOutside += s.staleOutside(of)
	if ctx.Err() == nil { // else some of it is not done, and is to be looked at again
		of.frame, of.tick = s.frame, s.tick
	}
}

// begin makes room for what is kept of a class.
func (s *Scorer) begin(of *class) {
	of.facts.compareAll(s)
	of.rows = zeroed(of.rows, len(s.model.features)*len(s.nodes))
	of.outside, of.allOutside = zeroed(of.outside, len(s.nodes)), 0
	layer := s.model.program.firstLayer
	if layer == nil {
		return
	}
	of.first = zeroed(of.first, layer.width*len(s.nodes))
	of.matrix, of.vector = layer.matrix, layer.vector
	if layer.weights >= 0 { // of the kind of pod
		weights := slices.Clone(s.run.data[layer.weights])
		of.matrix, of.vector = weights[:len(weights)-1], weights[len(weights)-1:]
	}
}

func (s *Scorer) staleOutside(of *class) int {
	total := 0
	for _, at := range s.stale {
		total += int(of.outside[at])
	}
	return total
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
		// What depends on other nodes is 0 in this row, and comes later.
		first := of.first[at*layer.width:][:layer.width]
		addProducts(first, of.vector, row, of.matrix, 1, len(row), layer.width)
	}
}
