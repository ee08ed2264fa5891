package inference

import (
	"slices"

	"longshore.dev/scheduler/bundle"
)

// blockSize is how many nodes are worked on at a time: their values then stay in the processor's nearest cache.
const blockSize = 64

// value is one value of the network: of every node, or of the whole cluster.
type value struct {
	isPerNode bool
	width     int
	// isLocal: read only while a block of nodes is worked on, and not kept beyond it.
	isLocal bool
}

// op is one operation with its values by number.
type op struct {
	kind   string
	inputs []int
	output int
	// Tensors: what is multiplied by, what is added, a table's edges and keys.
	matrix, vector, edges []float32
	// turned is linear's matrix with one row for each output, for processors that add one number at a time.
	turned []float32
	keys   []int64
	// partial is where in the scratch memory of a block a pool keeps what it has found so far.
	partial int
}

// `mixed` where all nodes share the mix is two operations: one for the cluster, one for the nodes. headKind is three that
// follow each other, see joinHead.
const mixKind, applyKind, headKind = "mix", "apply", "head"

// stage is a part of the network between two pools: first what is about the whole cluster, then, node by node, the
// rest. Pools of what a stage makes are known when it is over.
type stage struct {
	before []op
	rows   []op
	pools  []op
}

// program is a network, ready to run on any number of nodes.
type program struct {
	values []value
	stages []stage
	// The numbers of the values that are there from the start, and of the result.
	rows, preference, podKind, load, score int
	// readsLoad: scores depend on how full the cluster is.
	readsLoad bool
	// firstLayer is set where a linear layer alone reads the rows: of these, what depends on the node alone is kept.
	firstLayer *firstLayer
	// partials is how much scratch memory a block's pools need.
	partials int
	// isOrdered: the nodes' order counts.
	isOrdered bool
}

// firstLayer is the linear layer that a network begins with.
type firstLayer struct {
	output int
	width  int
	matrix []float32 // [features, width], as in the bundle
	vector []float32 // with what the preference adds
	// weights is the value that has matrix and vector, one after the other, where they depend on the kind of pod; else -1.
	weights int
}

// compile orders a network's operations into stages.
func compile(b *bundle.Bundle) *program {
	c := compiler{bundle: b, program: &program{stages: make([]stage, 1)}, numbers: map[string]int{}}
	p := c.program
	p.rows = c.number(bundle.Rows)
	c.number(bundle.Prior)
	p.preference = c.number(bundle.Preference)
	p.podKind = c.number(bundle.PodKind)
	p.load = c.number(bundle.Load)
	ops := c.joinHead(needed(b.Policy.Ops))
	c.byLoad = madeOf(ops, bundle.Load)
	p.readsLoad = c.byLoad[bundle.Score]
	first := c.findFirstLayer(ops)
	for _, one := range ops {
		switch {
		case first != nil && slices.Contains(first.replaced, one.Output):
		case one.Kind == "mixed" && !c.bundle.Shapes[one.Inputs[1]].IsPerNode:
			c.addMixed(one, ops)
		default:
			c.add(one)
		}
	}
	p.score = c.numbers[bundle.Score]
	p.markLocal()
	return p
}

// addMixed adds `mixed` where all nodes share the mix. On the rows alone, and with a mix that only the kind of pod
// decides and not the load, it is a first layer.
func (c *compiler) addMixed(one bundle.Op, ops []bundle.Op) {
	weights := "the weights of " + one.Output
	c.bundle.Shapes[weights] = bundle.Shape{Width: c.bundle.Shapes[one.Inputs[0]].Width + 1}
	c.add(bundle.Op{Kind: mixKind, Inputs: one.Inputs[1:], Output: weights, Tensors: one.Tensors})
	number := c.numbers[weights]
	isFirst := one.Inputs[0] == bundle.Rows && len(readersOf(ops, bundle.Rows)) == 1
	if isFirst && c.ready[number] == 0 && !c.byLoad[one.Inputs[1]] {
		c.program.firstLayer = &firstLayer{output: c.number(one.Output), width: 1, weights: number}
		return
	}
	c.add(bundle.Op{Kind: applyKind, Inputs: []string{one.Inputs[0], weights}, Output: one.Output})
}

// readersOf returns the operations that read one of some values and make none of them.
func readersOf(ops []bundle.Op, names ...string) []bundle.Op {
	isNamed := func(name string) bool { return slices.Contains(names, name) }
	var found []bundle.Op
	for _, one := range ops {
		if !isNamed(one.Output) && slices.ContainsFunc(one.Inputs, isNamed) {
			found = append(found, one)
		}
	}
	return found
}

// madeOf returns the values that one of the inputs has a part in.
func madeOf(ops []bundle.Op, input string) map[string]bool {
	found := map[string]bool{input: true}
	for _, one := range ops {
		found[one.Output] = slices.ContainsFunc(one.Inputs, func(name string) bool { return found[name] })
	}
	return found
}

type compiler struct {
	bundle  *bundle.Bundle
	program *program
	numbers map[string]int
	// ready is the stage in which a value is first there: for values of the cluster before its nodes' turn.
	ready []int
	// byLoad are the values that change with how full the cluster is.
	byLoad map[string]bool
}

// number returns a value's number, a new one on first use.
func (c *compiler) number(name string) int {
	if found, ok := c.numbers[name]; ok {
		return found
	}
	shape := c.bundle.Shapes[name]
	c.numbers[name] = len(c.program.values)
	c.program.values = append(c.program.values, value{isPerNode: shape.IsPerNode, width: shape.Width})
	c.ready = append(c.ready, 0)
	return c.numbers[name]
}

// needed returns the operations that the score depends on, in order.
func needed(ops []bundle.Op) []bundle.Op {
	wanted := map[string]bool{bundle.Score: true}
	var kept []bundle.Op
	for i := len(ops) - 1; i >= 0; i-- {
		if wanted[ops[i].Output] {
			for _, name := range ops[i].Inputs {
				wanted[name] = true
			}
			kept = append(kept, ops[i])
		}
	}
	slices.Reverse(kept)
	return kept
}

// joined is a first layer and the operations that it stands for.
type joined struct{ replaced []string }

// findFirstLayer looks for a linear layer that alone reads the rows, the preference maybe beside them.
func (c *compiler) findFirstLayer(ops []bundle.Op) *joined {
	names := []string{bundle.Rows}
	withPreference := map[string]bool{}
	for _, one := range ops {
		if one.Kind == "concat" && one.Inputs[0] == bundle.Rows &&
			(len(one.Inputs) == 1 || (len(one.Inputs) == 2 && one.Inputs[1] == bundle.Preference)) {
			names = append(names, one.Output)
			withPreference[one.Output] = len(one.Inputs) == 2
		}
	}
	readers := readersOf(ops, names...)
	if len(readers) != 1 || readers[0].Kind != "linear" {
		return nil
	}
	reader := readers[0]
	matrix, vector := c.bundle.Tensors[reader.Tensors[0]], slices.Clone(c.bundle.Tensors[reader.Tensors[1]].Floats)
	features, width := len(c.bundle.Policy.Features), matrix.Shape[1]
	if withPreference[reader.Inputs[0]] {
		for i, one := range c.bundle.Policy.Preference {
			for j := range vector {
				vector[j] += float32(one.Weight) * matrix.Floats[(features+i)*width+j]
			}
		}
	}
	c.program.firstLayer = &firstLayer{c.number(reader.Output), width, matrix.Floats[:features*width], vector, -1}
	return &joined{append(names[1:], reader.Output)}
}

// add puts an operation into the earliest stage in which all that it reads is there.
func (c *compiler) add(source bundle.Op) {
	p := c.program
	one := op{kind: source.Kind, output: -1}
	at := 0
	for _, name := range source.Inputs {
		number := c.number(name)
		one.inputs = append(one.inputs, number)
		at = max(at, c.ready[number])
	}
	one.output = c.number(source.Output)
	c.takeTensors(&one, source)
	for len(p.stages) < at+2 {
		p.stages = append(p.stages, stage{})
	}
	switch isPerNode := p.values[one.output].isPerNode; {
	case slices.Contains([]string{"mean_nodes", "max_nodes", "mean_app", "mean_zone", "mean_near", "flatten", "lookup"}, source.Kind):
		one.partial = p.partials
		if source.Kind == "mean_nodes" || source.Kind == "max_nodes" {
			p.partials += p.values[one.output].width
		}
		p.isOrdered = p.isOrdered || source.Kind == "flatten"
		p.stages[at].pools = append(p.stages[at].pools, one)
		at++
	case isPerNode:
		p.stages[at].rows = append(p.stages[at].rows, one)
	default:
		p.stages[at].before = append(p.stages[at].before, one)
	}
	c.ready[one.output] = at
}

// takeTensors gives an operation what it reads.
func (c *compiler) takeTensors(one *op, source bundle.Op) {
	floats := func(i int) []float32 { return c.bundle.Tensors[source.Tensors[i]].Floats }
	switch source.Kind {
	case "linear":
		width := c.program.values[one.output].width
		one.matrix, one.vector, one.turned = floats(0), floats(1), transposed(floats(0), width)
	case "mixed", mixKind, headKind:
		one.matrix, one.vector = floats(0), floats(1)
	case "scale":
		one.vector = floats(0)
	case "lookup":
		one.keys = c.bundle.Tensors[source.Tensors[0]].Whole
		one.matrix, one.edges = floats(1), floats(2)
	}
}

func transposed(matrix []float32, width int) []float32 {
	if width == 0 {
		return nil
	}
	height := len(matrix) / width
	turned := make([]float32, len(matrix))
	for i := range height {
		for j := range width {
			turned[j*height+i] = matrix[i*width+j]
		}
	}
	return turned
}
