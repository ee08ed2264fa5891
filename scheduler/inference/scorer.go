package inference

import (
	"context"
	"hash/maphash"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// mostBytes is how much a scorer keeps of classes of pods; the class that was not asked for the longest goes first.
const mostBytes = 64 << 20

// leastClasses are kept whatever their size.
const leastClasses = 4

// So many pieces are worked on by the caller's thread alone. A block of a network takes 2 µs, so that even those of 8,000
// nodes take less than waiting may: who waits for others lets whatever else is to be done go first, on this core and on
// theirs. A piece of a class takes ten times as long, and there are many only for the first pod of its kind.
const (
	fewBlocks = 128
	fewPieces = 8
)

// mostBlocksPerLook is after how many blocks at most it is asked whether there is time left; of a network whose blocks
// take longer, after as many as take secondsPerLook.
const (
	mostBlocksPerLook = 16
	secondsPerLook    = 0.0005
)

// manyWorkers share the blocks of a larger cluster, each with scratch memory of its own.
const manyWorkers = 32

// defaultMaxOutside is the share of values outside of what was met in training from which on a model is not believed.
const defaultMaxOutside = 0.25

// notFinite are the bits of a number's exponent, all of which are set in what is infinite or not a number.
const notFinite = 0x7f800000

// operation is the name that the scheduler's own metric of goroutines shows.
const operation = "Longshore"

// Scorer scores nodes with one model; it owns buffers and caches, and serves one caller at a time.
type Scorer struct {
	model          *Model
	blocksPerLook  int
	parallelizer   fwk.Parallelizer
	contextObjects *ContextObjects
	held           *Held
	maxOutside     float32
	seed           maphash.Seed

	// The nodes, in the order of the snapshot. tick counts the calls; changed says in which one a node last changed, and
	// touched which nodes may have in this one.
	tick, frame, readingsNumber uint64
	nodes                       []node
	nodeIndex                   *NodeIndex
	generations                 []int64
	changed                     []uint64
	touched                     []int32
	usage                       usage
	facts                       clusterFacts
	largest                     []largest // one, or none where it has to be worked out
	typical                     *typical

	// Where the pod may go: the places of the feasible nodes and, where these are not all, which ones they are.
	index      []int32
	isAll      bool
	isFeasible []bool

	// What others have to do with the pod.
	relations map[uint64]*podRelations
	queries   map[string]*query
	domains   map[string]*domain
	others    [neighboursColumn + 1]column
	sums      []float64 // scratch of a column

	classes map[uint64]*class
	stale   []int
	shared  sharedPart
	settled *class // whose kind of pod the network was last told, and how full the cluster is
	run     run

	// What the parallel parts work on; the functions are made once, since each would cost memory.
	view        view
	current     *class
	stage       *stage
	isLast      bool
	ctx         context.Context
	runShares   func(int)
	renewPieces func(int)
	outside     float32
}

// Option changes a scorer.
type Option func(*Scorer)

// Within tells a scorer of services, controllers and namespaces; without them pods that name no spread constraints of
// their own belong to nobody.
func Within(contextObjects *ContextObjects) Option {
	return func(s *Scorer) { s.contextObjects = contextObjects }
}

// MaxOutside sets the share of values outside of the envelope from which on Score refuses; 1 = it never does.
func MaxOutside(share float32) Option {
	return func(s *Scorer) { s.maxOutside = share }
}

// NewScorer returns a scorer with empty caches; without a parallelizer it works on the caller's thread alone.
func NewScorer(m *Model, parallelizer fwk.Parallelizer, options ...Option) *Scorer {
	s := &Scorer{
		model: m, parallelizer: parallelizer, maxOutside: defaultMaxOutside, seed: maphash.MakeSeed(), typical: newTypical(),
		nodeIndex: NewNodeIndex(nil), relations: map[uint64]*podRelations{}, queries: map[string]*query{}, domains: map[string]*domain{},
		classes: map[uint64]*class{},
	}
	s.blocksPerLook = int(max(1, min(mostBlocksPerLook, secondsPerLook/(blockSize*costOf(m, speedHere()).perNode))))
	s.run = run{program: m.program, near: func(at int) []nearZone { return s.nodes[at].near }}
	s.runShares, s.renewPieces = s.share, s.renewPiece
	for _, option := range options {
		option(s)
	}
	return s
}

// Outside returns which share of what the model read of the feasible nodes at the last call was outside of what it met
// in training.
func (s *Scorer) Outside() float32 { return s.outside }

// Score writes the score of feasible[i] to out[i]. `all` are all nodes of the snapshot: the context is pooled over
// them. An error is a *Problem, a reason to fall back; out is then not to be read.
func (s *Scorer) Score(
	ctx context.Context, pod *v1.Pod, all, feasible []fwk.NodeInfo, readings Readings, out []float32,
) error {
	if len(all) == 0 || len(feasible) == 0 {
		return nil
	}
	if s.model.numNodes != 0 && len(all) != s.model.numNodes {
		return problemf(WrongSize, "got a cluster of %d nodes, expected %d: the network of policy `%s` is of fixed size",
			len(all), s.model.numNodes, s.model.name)
	}
	isDone := s.sync(ctx, all, readings)
	if !isDone {
		return cancelled(ctx, pod)
	}
	if problem := s.find(feasible); problem != nil {
		return problem
	}
	of := s.classOf(pod)
	s.settle(of)
	s.bringUp(ctx, of)
	if !s.lookAround(ctx, pod) {
		return cancelled(ctx, pod)
	}
	s.prepare(of)
	for i := range s.model.program.stages {
		if ctx.Err() != nil {
			return cancelled(ctx, pod)
		}
		s.runStage(ctx, i)
	}
	if ctx.Err() != nil {
		return cancelled(ctx, pod)
	}
	return s.finish(of, out)
}

func cancelled(ctx context.Context, pod *v1.Pod) *Problem {
	return problemf(Cancelled, "stopped while scoring pod %s/%s: %v", pod.Namespace, pod.Name, ctx.Err())
}

// find notes which nodes are feasible.
func (s *Scorer) find(feasible []fwk.NodeInfo) *Problem {
	var missing fwk.NodeInfo
	if s.index, missing = s.nodeIndex.Find(feasible, s.index[:0]); missing != nil {
		return problemf(WrongSize, "the feasible node `%s` is not in the snapshot", missing.Node().Name)
	}
	if s.isAll = len(feasible) == len(s.nodes); s.isAll {
		return nil
	}
	clear(s.isFeasible)
	for _, at := range s.index {
		s.isFeasible[at] = true
	}
	return nil
}

// lookAround fills the columns that depend on other nodes, as far as the model reads them; false = there was no time.
func (s *Scorer) lookAround(ctx context.Context, pod *v1.Pod) bool {
	reads := &s.model.reads
	s.run.app = nil
	if reads.crowding || reads.neighbours || reads.app {
		of := s.relationsOf(pod)
		if reads.crowding && !s.crowding(ctx, of) {
			return false
		}
		if reads.neighbours && !s.neighbours(ctx, of) {
			return false
		}
		if reads.app && len(of.soft) > 0 {
			if !of.soft[0].query.renew(ctx, s) {
				return false
			}
			s.run.app = of.soft[0].query.counts
		}
	}
	if reads.feasible {
		s.others[feasibleColumn].takeBits(s.isFeasible, s.isAll)
	}
	return true
}

// runStage runs a part of the network: the cluster's values, then the nodes', then pools.
func (s *Scorer) runStage(ctx context.Context, at int) {
	one := &s.model.program.stages[at]
	if at > 0 { // else it is settled already
		s.run.before(one)
		if len(one.rows) == 0 && len(one.pools) == 0 {
			return
		}
	}
	s.stage, s.ctx = one, ctx
	// What nobody pools is only asked for where the pod may go.
	s.isLast = len(one.pools) == 0
	if workers := s.numWorkers(); workers > 1 {
		s.parallelizer.Until(ctx, workers, s.runShares, operation)
	} else {
		s.share(0)
	}
	s.run.after(one)
}

// numWorkers says how many share the blocks of nodes.
func (s *Scorer) numWorkers() int {
	if s.parallelizer == nil || len(s.nodes) <= fewBlocks*blockSize {
		return 1
	}
	return manyWorkers
}

// share runs the present stage on a worker's share of the blocks.
func (s *Scorer) share(worker int) {
	workers, isFirst := s.numWorkers(), s.stage == &s.model.program.stages[0]
	for look, block := 0, worker; block < s.run.numBlocks(); look, block = look+1, block+workers {
		if look%s.blocksPerLook == 0 && s.ctx.Err() != nil {
			return
		}
		p := s.run.partOf(block, worker)
		if s.isLast && !s.isAll && !slices.Contains(s.isFeasible[p.from:p.to], true) {
			continue
		}
		if isFirst {
			s.complete(p)
		}
		s.run.block(s.stage, p)
	}
}

func (s *Scorer) inParallel(ctx context.Context, pieces, few int, work func(int)) {
	if s.parallelizer != nil && pieces > few {
		s.parallelizer.Until(ctx, pieces, work, operation)
		return
	}
	for piece := range pieces {
		if ctx.Err() != nil { // as the parallelizer does
			return
		}
		work(piece)
	}
}

// finish copies the scores of the feasible nodes, and refuses those that are not to be believed.
func (s *Scorer) finish(of *class, out []float32) error {
	if s.outside = s.shareOutside(of); s.outside > s.maxOutside {
		return problemf(OutOfDistribution, "%.0f %% of what policy `%s` reads is outside of what it met in training, "+
			"expected at most %.0f %%", 100*s.outside, s.model.name, 100*s.maxOutside)
	}
	scores := s.run.data[s.model.program.score]
	if !s.model.program.values[s.model.program.score].isPerNode {
		scores = s.inSnapshotOrder(scores)
	}
	for i, at := range s.index {
		score := scores[at]
		if math.Float32bits(score)&notFinite == notFinite {
			return problemf(NotFinite, "policy `%s` gave node `%s` the score %v", s.model.name, s.nodes[at].name, score)
		}
		out[i] = score
	}
	return nil
}

// inSnapshotOrder returns scores that were made in the order of names in that of the snapshot.
func (s *Scorer) inSnapshotOrder(scores []float32) []float32 {
	s.run.partials = zeroed(s.run.partials, max(len(s.nodes), s.run.numBlocks()*s.model.program.partials))
	for place, at := range s.run.order {
		s.run.partials[at] = scores[place]
	}
	return s.run.partials[:len(s.nodes)]
}
