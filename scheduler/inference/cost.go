package inference

import (
	"math"
	"sync"
	"time"
)

// cost is what a network costs: seconds and bytes, for every node of a cluster and once.
type cost struct {
	perNode, once           float64
	bytesPerNode, bytesOnce int64
}

// overhead is what a node takes beside its numbers, in seconds, and margin by how much the estimate is raised: it leaves
// out the way to the memory, and cores are busy.
const (
	overhead = 20e-9
	margin   = 2
)

// bytesPerFloat is the size of what is kept.
const bytesPerFloat = 4

// costOf works the cost of a model out from its operations, as if nothing stayed the same from pod to pod.
func costOf(m *Model, processor speed) cost {
	found := m.program.costOf(processor)
	kept := len(m.features)
	if layer := m.program.firstLayer; layer != nil {
		kept += layer.width
		found.perNode += processor.seconds(layer.width*(1+len(m.others)), layer.width)
	}
	found.perNode, found.once = margin*(found.perNode+overhead), margin*found.once
	found.bytesOnce += mostBytes
	found.bytesPerNode += bytesPerFloat * int64(leastClasses*kept+len(m.others)+int(neighboursColumn)+1)
	return found
}

func (p *program) costOf(processor speed) cost {
	var found cost
	for i := range p.stages {
		one := &p.stages[i]
		for j := range one.before {
			found.once += p.seconds(&one.before[j], processor)
		}
		for _, ops := range [...][]op{one.rows, one.pools} {
			for j := range ops {
				found.perNode += p.seconds(&ops[j], processor)
			}
		}
	}
	for _, one := range p.values {
		switch {
		case one.isLocal:
			found.bytesOnce += bytesPerFloat * int64(one.width) * manyWorkers * blockSize
		case one.isPerNode:
			found.bytesPerNode += bytesPerFloat * int64(one.width)
		default:
			found.bytesOnce += bytesPerFloat * int64(one.width)
		}
	}
	found.bytesPerNode += bytesPerFloat * int64(p.partials) / blockSize
	return found
}

// numbersPerTanh is how many products take as long as one hyperbolic tangent.
const numbersPerTanh = 32

// seconds returns how long an operation takes, for one node or once.
func (p *program) seconds(o *op, processor speed) float64 {
	in, width := p.values[o.inputs[0]].width, p.values[o.output].width
	switch o.kind {
	case "linear":
		return processor.seconds(in*width, width)
	case "mixed", mixKind:
		return processor.seconds(max(len(o.matrix), in), 1)
	case applyKind, headKind, "lookup":
		return processor.seconds(in, 1)
	case "tanh":
		return processor.seconds(numbersPerTanh*width, 1)
	default:
		return processor.seconds(width, 1)
	}
}

// speed is how many products with their additions a processor does in a second: in wide registers, and one at a time.
type speed struct{ wide, plain float64 }

func (s speed) seconds(number, width int) float64 {
	if canMultiplyWide && width%wideOutputs == 0 {
		return float64(number) / s.wide
	}
	return float64(number) / s.plain
}

// speedHere is this machine's, measured once: it takes some milliseconds, and is not done on the scheduling path.
var speedHere = sync.OnceValue(func() speed { return speed{productsOf(2 * wideOutputs), productsOf(wideOutputs + 4)} })

// productsOf returns the products per second of a layer of some width. The best of several tries counts: in the others
// somebody else had the core.
func productsOf(width int) float64 {
	const tries, rounds = 10, 8
	one := op{matrix: make([]float32, width*width), vector: make([]float32, width)}
	one.turned = transposed(one.matrix, width)
	in, out := make([]float32, blockSize*width), make([]float32, blockSize*width)
	best := math.Inf(1)
	for range tries {
		started := time.Now()
		for range rounds {
			multiply(in, out, &one, blockSize, width, width)
		}
		best = min(best, time.Since(started).Seconds())
	}
	return rounds * blockSize * float64(width*width) / max(best, 1e-9)
}

// CheckSize returns a problem where the model would take longer, or more memory, than it may with so many nodes.
func (m *Model) CheckSize(numNodes, mostNodes int) *Problem {
	if numNodes <= mostNodes {
		return nil
	}
	return problemf(TooLarge, "policy `%s` can rank %d nodes within its deadline and memory limit on this machine, and there are %d "+
		"(hint: a smaller network, or larger `deadline` and `memoryLimit`)", m.name, mostNodes, numNodes)
}

// MostNodes returns how many nodes the model can rank within a time and some memory, on this machine.
func (m *Model) MostNodes(deadline time.Duration, memory int64) int {
	return m.mostNodes(costOf(m, speedHere()), deadline, memory)
}

func (m *Model) mostNodes(of cost, deadline time.Duration, memory int64) int {
	byTime := (deadline.Seconds() - of.once) / of.perNode
	byMemory := float64(memory-of.bytesOnce) / float64(of.bytesPerNode)
	return int(max(0, min(byTime, byMemory, math.MaxInt32)))
}
