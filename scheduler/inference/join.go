package inference

import (
	"slices"

	"longshore.dev/scheduler/bundle"
)

// joinHead puts a score that is w · relu(of the node + of the cluster) + b, as a network with context ends, into one
// operation: one pass over the nodes, which keeps nothing in between, in place of three.
func (c *compiler) joinHead(ops []bundle.Op) []bundle.Op {
	last := len(ops) - 1
	if last < 2 || ops[last].Kind != "linear" || ops[last].Output != bundle.Score || c.bundle.Shapes[bundle.Score].Width != 1 {
		return ops
	}
	relu, isOne := c.onlyMaker(ops, ops[last].Inputs[0], "relu")
	if !isOne {
		return ops
	}
	add, isOne := c.onlyMaker(ops, ops[relu].Inputs[0], "add")
	if !isOne || len(ops[add].Inputs) != 2 {
		return ops
	}
	own, shared := ops[add].Inputs[0], ops[add].Inputs[1]
	if !c.bundle.Shapes[own].IsPerNode {
		own, shared = shared, own
	}
	if !c.bundle.Shapes[own].IsPerNode || c.bundle.Shapes[shared].IsPerNode || numMakers(ops, own) > 1 || numMakers(ops, shared) > 1 {
		return ops
	}
	joined := bundle.Op{Kind: headKind, Inputs: []string{own, shared}, Output: bundle.Score, Tensors: ops[last].Tensors}
	var kept []bundle.Op
	for i, one := range ops[:last] {
		if i != relu && i != add {
			kept = append(kept, one)
		}
	}
	return append(kept, joined)
}

// onlyMaker returns the operation of a kind that makes a value; false where another makes it too, or several read it.
func (c *compiler) onlyMaker(ops []bundle.Op, name, kind string) (int, bool) {
	at := slices.IndexFunc(ops, func(one bundle.Op) bool { return one.Output == name })
	if at < 0 || ops[at].Kind != kind || numMakers(ops, name) > 1 || len(readersOf(ops, name)) > 1 {
		return 0, false
	}
	return at, true
}

func numMakers(ops []bundle.Op, name string) int {
	count := 0
	for _, one := range ops {
		if one.Output == name {
			count++
		}
	}
	return count
}

// markLocal finds the values of nodes that are read only in the stage that makes them, block by block.
func (p *program) markLocal() {
	madeIn := map[int]int{}
	if p.firstLayer != nil {
		madeIn[p.firstLayer.output] = 0
	}
	for at := range p.stages {
		for _, one := range p.stages[at].rows {
			madeIn[one.output] = at
		}
	}
	for number := range madeIn {
		p.values[number].isLocal = number != p.score
	}
	for at := range p.stages {
		for _, one := range p.stages[at].rows {
			for _, input := range one.inputs {
				p.values[input].isLocal = p.values[input].isLocal && madeIn[input] == at
			}
		}
		for _, one := range p.stages[at].pools {
			input := one.inputs[0]
			p.values[input].isLocal = p.values[input].isLocal && madeIn[input] == at && one.isByBlock()
		}
	}
}

// isByBlock says whether a pool takes its values up block by block, and not when the stage is over.
func (o *op) isByBlock() bool { return o.kind == "mean_nodes" || o.kind == "max_nodes" }
