package inference

import (
	"math"
	"slices"
	"sort"
)

// run works a program out. The values of nodes lie row by row.
type run struct {
	program  *program
	numNodes int
	data     [][]float32 // by value; of local ones, a block for every worker
	partials []float32   // [blocks, program.partials]: what the pools of each block have found
	sums     []float64   // scratch of pools
	means    []float32   // scratch of pools over zones
	// What the network is told about nodes beside the rows.
	zones    []int // numbers of the nodes' zones, 0 = none
	numZones int
	zoneSize []float64
	near     func(node int) []nearZone
	app      []float64
	order    []int // nodes by name
}

// part is some nodes that are worked on together, and whose scratch memory the work is done in.
type part struct{ block, from, to, worker int }

// resize makes room for a number of nodes, and for so many who work at the same time.
func (r *run) resize(numNodes, workers int) {
	r.numNodes = numNodes
	if r.data == nil {
		r.data = make([][]float32, len(r.program.values))
	}
	for i, one := range r.program.values {
		length := one.width
		switch {
		case one.isLocal:
			length *= workers * blockSize
		case one.isPerNode:
			length *= numNodes
		}
		r.data[i] = zeroed(r.data[i], length)
	}
	r.partials = zeroed(r.partials, r.numBlocks()*r.program.partials)
}

func (r *run) numBlocks() int { return (r.numNodes + blockSize - 1) / blockSize }

func (r *run) partOf(block, worker int) part {
	return part{block, block * blockSize, min((block+1)*blockSize, r.numNodes), worker}
}

// at returns the numbers of some nodes, or of the cluster, and how many belong to each node: 0 = the same for all.
func (r *run) at(number int, p part) ([]float32, int) {
	one := &r.program.values[number]
	switch {
	case !one.isPerNode:
		return r.data[number], 0
	case one.isLocal:
		return r.data[number][p.worker*blockSize*one.width:][:(p.to-p.from)*one.width], one.width
	default:
		return r.data[number][p.from*one.width : p.to*one.width], one.width
	}
}

// block runs a stage on some nodes.
func (r *run) block(s *stage, p part) {
	for i := range s.rows {
		r.operate(&s.rows[i], p)
	}
	for i := range s.pools {
		if s.pools[i].isByBlock() {
			r.pool(&s.pools[i], p)
		}
	}
}

// before runs what a stage does for the whole cluster at once.
func (r *run) before(s *stage) {
	for i := range s.before {
		r.operate(&s.before[i], part{to: 1})
	}
}

// operate runs one operation on some nodes or, where its output is of the cluster, once.
func (r *run) operate(o *op, p part) {
	out, _ := r.at(o.output, p)
	in, step := r.at(o.inputs[0], p)
	width, rows := r.program.values[o.output].width, p.to-p.from
	if !r.program.values[o.output].isPerNode {
		rows = 1
	}
	switch o.kind {
	case "linear":
		multiply(in, out, o, rows, r.program.values[o.inputs[0]].width, width)
	case "relu":
		reluInto(out, in)
	case "tanh":
		for i, v := range in {
			out[i] = float32(math.Tanh(float64(v)))
		}
	case "scale":
		for row := range rows {
			for j, v := range o.vector {
				out[row*width+j] = in[row*step+j] * v
			}
		}
	case "add":
		r.add(o, out, rows, width, p)
	case "concat":
		r.concat(o, out, rows, width, p)
	case "outer":
		other, otherStep := r.at(o.inputs[1], p)
		outer(out, in, other, rows, step, otherStep, r.program.values[o.inputs[0]].width, r.program.values[o.inputs[1]].width)
	case "mixed":
		r.mixed(o, out, in, rows, step, p)
	case headKind:
		sumReluDot(out, in, r.data[o.inputs[1]], o.matrix, o.vector[0])
	case mixKind:
		mix(o, out, in)
	case applyKind:
		weights := r.data[o.inputs[1]]
		for row := range rows {
			wide := len(weights) - 1
			out[row] = dot(in[row*step:][:wide], weights) + weights[wide]
		}
	}
}

func (r *run) add(o *op, out []float32, rows, width int, p part) {
	sum, sumStep := r.at(o.inputs[0], p)
	if len(o.inputs) == 1 {
		for row := range rows {
			copy(out[row*width:][:width], sum[row*sumStep:][:width])
		}
	}
	for _, input := range o.inputs[1:] {
		in, step := r.at(input, p)
		for row := range rows {
			sumInto(out[row*width:][:width], sum[row*sumStep:][:width], in[row*step:][:width])
		}
		sum, sumStep = out, width
	}
}

func (r *run) concat(o *op, out []float32, rows, width int, p part) {
	place := 0
	for _, input := range o.inputs {
		in, step := r.at(input, p)
		wide := r.program.values[input].width
		for row := range rows {
			copy(out[row*width+place:][:wide], in[row*step:][:wide])
		}
		place += wide
	}
}

func outer(out, a, b []float32, rows, stepA, stepB, wideA, wideB int) {
	for row := range rows {
		for i := range wideA {
			for j := range wideB {
				out[(row*wideA+i)*wideB+j] = a[row*stepA+i] * b[row*stepB+j]
			}
		}
	}
}

// mix makes one vector of the columns of a matrix, and last one number of the vector: `mixed` where all nodes share the
// mix, which is then made once.
func mix(o *op, out, given []float32) {
	for i := range out[:len(out)-1] {
		out[i] = dot(given, o.matrix[i*len(given):][:len(given)])
	}
	out[len(out)-1] = dot(given, o.vector)
}

// mixed multiplies rows by a vector that is mixed from the columns of a matrix, for every node its own.
func (r *run) mixed(o *op, out, in []float32, rows, step int, p part) {
	mix, mixStep := r.at(o.inputs[1], p)
	wide, sets := r.program.values[o.inputs[0]].width, r.program.values[o.inputs[1]].width
	for row := range rows {
		given := mix[row*mixStep:][:sets]
		sum := dot(given, o.vector)
		x := in[row*step:][:wide]
		var total float32
		for i, v := range x {
			if v != 0 {
				total += v * dot(given, o.matrix[i*sets:][:sets])
			}
		}
		out[row] = total + sum
	}
}

// pool takes some nodes into what is pooled over all.
func (r *run) pool(o *op, p part) {
	in, _ := r.at(o.inputs[0], p)
	found := r.partials[p.block*r.program.partials+o.partial:][:r.program.values[o.output].width]
	if o.kind == "max_nodes" {
		findMost(found, in)
	} else {
		addUp(found, in)
	}
}

// after completes the pools of a stage.
func (r *run) after(s *stage) {
	for i := range s.pools {
		o := &s.pools[i]
		switch o.kind {
		case "mean_nodes", "max_nodes":
			r.joinBlocks(o)
		case "mean_app":
			r.meanApp(o)
		case "mean_zone", "mean_near":
			r.meanZone(o)
		case "flatten":
			r.flatten(o)
		case "lookup":
			r.lookup(o)
		}
	}
}

// joinBlocks puts together what a pool found in the blocks.
func (r *run) joinBlocks(o *op) {
	out := r.data[o.output]
	r.sums = zeroed(r.sums, len(out))
	for block := range r.numBlocks() {
		for j, found := range r.partials[block*r.program.partials+o.partial:][:len(out)] {
			switch {
			case o.kind == "mean_nodes":
				r.sums[j] += float64(found)
			case block == 0:
				r.sums[j] = float64(found)
			default:
				r.sums[j] = max(r.sums[j], float64(found))
			}
		}
	}
	for j, sum := range r.sums {
		if o.kind == "mean_nodes" {
			sum /= float64(r.numNodes)
		}
		out[j] = float32(sum)
	}
}

// meanApp is the mean over the nodes that run pods of the same owner or service, each as often as it runs one.
func (r *run) meanApp(o *op) {
	out, width := r.data[o.output], r.program.values[o.output].width
	r.sums = zeroed(r.sums, width)
	number := 0.0
	for node, count := range r.app {
		if count > 0 {
			number += count
			for j, v := range r.data[o.inputs[0]][node*width:][:width] {
				r.sums[j] += count * float64(v)
			}
		}
	}
	for j := range out {
		out[j] = float32(r.sums[j] / max(number, 1))
	}
}

// meanZone gives every node the mean over the nodes of its zone or, for mean_near, over all that are in a zone, each as
// near as its zone is. A node without a zone stands for itself.
func (r *run) meanZone(o *op) {
	in, out, width := r.data[o.inputs[0]], r.data[o.output], r.program.values[o.output].width
	r.sums = zeroed(r.sums, (r.numZones+1)*width)
	for node, zone := range r.zones {
		for j, v := range in[node*width:][:width] {
			r.sums[zone*width+j] += float64(v)
		}
	}
	r.means = zeroed(r.means, len(r.sums))
	for i := range r.means[width:] {
		r.means[width+i] = float32(r.sums[width+i] / r.zoneSize[1+i/width])
	}
	for node, zone := range r.zones {
		var near []nearZone
		if o.kind == "mean_near" {
			near = r.near(node)
		}
		if zone > 0 && len(near) == 0 { // as all others of the zone
			copy(out[node*width:][:width], r.means[zone*width:][:width])
			continue
		}
		r.meanNear(in[node*width:][:width], out[node*width:][:width], zone, near)
	}
}

// meanNear writes the mean of a node's zone, or of itself where it has none, and of zones near it.
func (r *run) meanNear(in, out []float32, zone int, near []nearZone) {
	width, weight := len(out), 1.0
	if zone > 0 {
		weight = r.zoneSize[zone]
	}
	for _, other := range near {
		weight += float64(other.near) * r.zoneSize[other.zone]
	}
	for j := range out {
		sum := float64(in[j])
		if zone > 0 {
			sum = r.sums[zone*width+j]
		}
		for _, other := range near {
			sum += float64(other.near) * r.sums[other.zone*width+j]
		}
		out[j] = float32(sum / weight)
	}
}

// flatten lays all nodes' rows side by side, in the order of their names.
func (r *run) flatten(o *op) {
	width := r.program.values[o.inputs[0]].width
	for place, node := range r.order {
		copy(r.data[o.output][place*width:][:width], r.data[o.inputs[0]][node*width:][:width])
	}
}

// lookup reads a table by what is free on the nodes, sorted, and by what pods ask for: a Q-table as a policy.
func (r *run) lookup(o *op) {
	in, width := r.data[o.inputs[0]], r.program.values[o.inputs[0]].width
	base := int64(len(o.edges) + 1)
	bucket := func(v float32) int64 {
		count := int64(0)
		for _, edge := range o.edges {
			if v >= edge {
				count++
			}
		}
		return count
	}
	free := make([]int64, r.numNodes)
	asked := make([]int64, width-1)
	for node := range r.numNodes {
		free[node] = bucket(in[node*width])
		for j := range asked {
			asked[j] = max(asked[j], bucket(in[node*width+1+j]))
		}
	}
	digits := append(slices.Sorted(slices.Values(free)), asked...)
	key, factor := int64(0), int64(1)
	for _, digit := range digits {
		key += digit * factor
		factor *= base
	}
	row := sort.Search(len(o.keys), func(i int) bool { return o.keys[i] >= key })
	row = min(row, len(o.keys)-1)
	found := o.matrix[row*(r.numNodes+1):][:r.numNodes+1]
	for node := range r.numNodes {
		r.data[o.output][node] = 0
		if o.keys[row] == key {
			place := sort.Search(r.numNodes, func(i int) bool { return digits[i] >= free[node] })
			r.data[o.output][node] = found[place] - found[r.numNodes]
		}
	}
}
