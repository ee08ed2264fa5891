package bundle

import (
	"fmt"
	"math"
	"slices"
)

// The values that are there before the first operation, and the one that the last must write.
const (
	Rows       = "rows"
	Prior      = "prior"
	Preference = "preference"
	PodKind    = "pod_kind"
	Load       = "load"
	Score      = "score"
)

// NumPodKinds is the width of PodKind: cpu, parts of a GPU by quarters, one GPU, two GPUs, up to four, more GPUs.
const NumPodKinds = 9

// NumLoads is the width of Load: of the cluster's GPUs, the shares that are free and used, and how scarce CPU is beside them.
const NumLoads = 3

// MaxWidth is how wide all values of a network together may be: repeated `concat` would else ask for more memory than
// there is, from a small file.
const MaxWidth = 65_536

// kind is how many values and tensors an operation reads; -1 values = one or more.
type kind struct{ values, tensors int }

var kinds = map[string]kind{
	"linear": {1, 2}, "relu": {1, 0}, "tanh": {1, 0}, "add": {-1, 0}, "scale": {1, 1}, "mixed": {2, 2}, "outer": {2, 0},
	"concat": {-1, 0}, "mean_nodes": {1, 0}, "max_nodes": {1, 0}, "mean_zone": {1, 0}, "mean_near": {1, 0},
	"mean_app": {1, 0}, "flatten": {1, 0}, "lookup": {1, 3},
}

// Shape is whether a value is per node, and its width; for those of `flatten` with the number of nodes worked in.
type Shape struct {
	IsPerNode bool
	Width     int
}

// checkNetwork refuses a network that could not run: unknown names, tensors that are missing, not finite or of another
// shape. It returns the shapes of all values by name.
func checkNetwork(p *Policy, tensors map[string]Tensor) (map[string]Shape, error) {
	if err := checkTensors(p, tensors); err != nil {
		return nil, err
	}
	if err := checkSize(p); err != nil {
		return nil, err
	}
	shapes := map[string]Shape{
		Rows: {true, len(p.Features)}, Prior: {true, 0}, Preference: {false, len(p.Preference)}, PodKind: {false, NumPodKinds},
		Load: {false, NumLoads},
	}
	if p.Prior != nil {
		shapes[Prior] = Shape{true, 1}
	}
	inputs := []string{Rows, Prior, Preference, PodKind, Load}
	total := 0
	for number, op := range p.Ops {
		where := fmt.Sprintf("operation %d (`%s`)", number, op.Kind)
		if err := checkNames(where, op, shapes, tensors); err != nil {
			return nil, err
		}
		if _, isWritten := shapes[op.Output]; slices.Contains(inputs, op.Output) {
			return nil, errorf(mixedHint, "%s: writes `%s`, which is an input", where, op.Output)
		} else if isWritten {
			return nil, errorf(mixedHint, "%s: writes `%s`, which an operation before it writes", where, op.Output)
		}
		shape, err := shapeOf(where, op, shapes, tensors, p.NumNodes)
		if err != nil {
			return nil, err
		}
		shapes[op.Output] = shape
		if total += shape.Width; total > MaxWidth {
			return nil, errorf("train a smaller network", "%s: the values so far are %d wide, expected at most %d", where, total, MaxWidth)
		}
	}
	return shapes, checkScore(p, shapes)
}

func checkScore(p *Policy, shapes map[string]Shape) error {
	score, found := shapes[Score]
	switch {
	case !found:
		return errorf(mixedHint, "no operation writes `score`")
	case score.IsPerNode && score.Width != 1:
		return errorf(mixedHint, "got a `score` of width %d, expected one number per node", score.Width)
	case !score.IsPerNode && (p.NumNodes == nil || score.Width != *p.NumNodes):
		return errorf(mixedHint, "got a `score` of %d numbers for the whole cluster, expected one per node", score.Width)
	}
	return nil
}

func checkTensors(p *Policy, tensors map[string]Tensor) error {
	used := map[string]bool{}
	for _, op := range p.Ops {
		for _, name := range op.Tensors {
			used[name] = true
			if _, found := tensors[name]; !found {
				return errorf("take policy.json and weights.safetensors of the same bundle",
					"the weights do not belong to the network: they lack `%s`", name)
			}
		}
	}
	for name, tensor := range tensors {
		if !used[name] {
			return errorf("take policy.json and weights.safetensors of the same bundle",
				"the weights do not belong to the network: they hold `%s`, which no operation reads", name)
		}
		for _, value := range tensor.Floats {
			if !isFinite(float64(value)) {
				return errorf("the training has diverged; train again with a smaller learning rate, or take an earlier checkpoint",
					"tensor `%s` holds numbers that are not finite (NaN or infinity)", name)
			}
		}
	}
	return nil
}

// checkSize asks for a number of nodes where, and only where, the network is of fixed size.
func checkSize(p *Policy) error {
	isFixed := slices.ContainsFunc(p.Ops, func(op Op) bool { return op.Kind == "flatten" || op.Kind == "lookup" })
	if isFixed && p.NumNodes == nil {
		return errorf("set num_nodes for networks of fixed size", "got num_nodes null, expected a number: the network is of fixed size")
	}
	if !isFixed && p.NumNodes != nil {
		return errorf("set num_nodes only for networks of fixed size",
			"got num_nodes %d, expected null: the network serves any size", *p.NumNodes)
	}
	return nil
}

func checkNames(where string, op Op, shapes map[string]Shape, tensors map[string]Tensor) error {
	expected, found := kinds[op.Kind]
	if !found {
		return errorf("use the release of longshore that wrote the bundle", "%s: there is no such operation", where)
	}
	if len(op.Tensors) != expected.tensors || len(op.Inputs) == 0 || (expected.values > 0 && len(op.Inputs) != expected.values) {
		return errorf(mixedHint, "%s: got %d values and %d tensors", where, len(op.Inputs), len(op.Tensors))
	}
	for _, name := range op.Inputs {
		if _, found := shapes[name]; !found {
			return errorf(mixedHint, "%s: reads `%s`, which nothing before it writes", where, name)
		}
	}
	for i, name := range op.Tensors {
		isKeys := op.Kind == "lookup" && i == 0
		if (tensors[name].Floats == nil) != isKeys && size(tensors[name].Shape) > 0 {
			return errorf("convert the tensors: float32, and whole numbers for a table's keys",
				"%s: tensor `%s` is not of the type that the operation reads", where, name)
		}
	}
	return nil
}

func size(shape []int) int {
	total := 1
	for _, length := range shape {
		total *= length
	}
	return total
}

func shapeOf(where string, op Op, shapes map[string]Shape, tensors map[string]Tensor, numNodes *int) (Shape, error) {
	isPerNode, widths := false, make([]int, len(op.Inputs))
	for i, name := range op.Inputs {
		isPerNode, widths[i] = isPerNode || shapes[name].IsPerNode, shapes[name].Width
	}
	of := make([][]int, len(op.Tensors))
	for i, name := range op.Tensors {
		of[i] = tensors[name].Shape
	}
	switch op.Kind {
	case "linear":
		if len(of[0]) != 2 || of[0][0] != widths[0] || !slices.Equal(of[1], of[0][1:]) {
			return Shape{}, errorf(mixedHint, "%s: got tensors %v and %v, expected [%d n] and [n]", where, of[0], of[1], widths[0])
		}
		return Shape{isPerNode, of[0][1]}, nil
	case "scale":
		if !slices.Equal(of[0], []int{widths[0]}) {
			return Shape{}, errorf(mixedHint, "%s: got a tensor %v, expected [%d]", where, of[0], widths[0])
		}
	case "mixed":
		if !slices.Equal(of[0], []int{widths[0], widths[1]}) || !slices.Equal(of[1], []int{widths[1]}) {
			return Shape{}, errorf(mixedHint, "%s: got tensors %v and %v, expected [%d %d] and [%d]", where, of[0], of[1], widths[0], widths[1], widths[1])
		}
		return Shape{isPerNode, 1}, nil
	case "outer":
		return Shape{isPerNode, bounded(float64(widths[0]) * float64(widths[1]))}, nil
	case "add":
		if len(slices.Compact(slices.Clone(widths))) > 1 {
			return Shape{}, errorf(mixedHint, "%s: got values of widths %v, expected equal ones", where, widths)
		}
	case "concat":
		total := 0
		for _, width := range widths {
			total += width
		}
		return Shape{isPerNode, total}, nil
	case "lookup":
		return lookupShape(where, of, shapes[op.Inputs[0]], numNodes)
	case "mean_nodes", "max_nodes", "mean_app", "mean_zone", "mean_near", "flatten":
		return pooledShape(where, op.Kind, shapes[op.Inputs[0]], numNodes)
	}
	return Shape{isPerNode, widths[0]}, nil
}

func lookupShape(where string, of [][]int, rows Shape, numNodes *int) (Shape, error) {
	keys, values, edges := of[0], of[1], of[2]
	if len(keys) != 1 || len(values) != 2 || len(edges) != 1 || keys[0] != values[0] || keys[0] == 0 {
		return Shape{}, errorf(mixedHint, "%s: got tensors %v, %v and %v, expected [n], [n m] and [k]", where, keys, values, edges)
	}
	if !rows.IsPerNode || rows.Width == 0 {
		return Shape{}, errorf(mixedHint, "%s: got a value of the whole cluster, expected one per node", where)
	}
	if numNodes == nil || values[1] != *numNodes+1 {
		return Shape{}, errorf(mixedHint, "%s: got a table of width %d, expected one more than the nodes", where, values[1])
	}
	return Shape{true, 1}, nil
}

func pooledShape(where, kind string, rows Shape, numNodes *int) (Shape, error) {
	if !rows.IsPerNode {
		return Shape{}, errorf(mixedHint, "%s: got a value of the whole cluster, expected one per node", where)
	}
	if kind == "flatten" {
		if numNodes == nil {
			return Shape{}, errorf(mixedHint, "%s: got num_nodes null, expected a number", where)
		}
		return Shape{false, bounded(float64(*numNodes) * float64(rows.Width))}, nil
	}
	return Shape{kind == "mean_zone" || kind == "mean_near", rows.Width}, nil
}

// bounded keeps a product from wrapping; what is larger than MaxWidth is refused by the caller.
func bounded(width float64) int { return int(math.Min(width, 2*MaxWidth)) }
