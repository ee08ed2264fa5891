package inference

import (
	"context"
	"hash/maphash"
	"math"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// mostBytes is how much a scorer keeps of classes of pods; the class that was not asked for the longest goes first.
const mostBytes = 64 << 20

// leastClasses are kept whatever their size.
const leastClasses = 4

// So many pieces are worked on by the caller's thread alone. A block of a network takes 10 µs, so that even those of 8,000
// nodes take less than waiting may: who waits for others lets whatever else is to be done go first, on this core and on
// theirs. A piece of a class takes ten times as long, and there are many only for the first pod of its kind.
const (
	fewBlocks = 128
	fewPieces = 8
)

// defaultMaxOutside is the share of values outside of what was met in training from which on a model is not believed.
const defaultMaxOutside = 0.25

// operation is the name that the scheduler's own metric of goroutines shows.
const operation = "Longshore"

// Scorer scores nodes with one model; it owns buffers and caches, and serves one caller at a time.
type Scorer struct {
	model        *Model
	parallelizer fwk.Parallelizer
	surroundings *Surroundings
	held         *Held
	maxOutside   float32
	seed         maphash.Seed

	// The nodes, in the order of the snapshot. tick counts the calls; changed says in which one a node last changed.
	tick, frame, readingsNumber uint64
	nodes                       []node
	byName                      map[string]int
	changed                     []uint64
	cpuUsed, memoryUsed, isOn   []float64
	isFeasible                  []bool
	largest                     []largest // one, or none where it has to be worked out
	facts                       clusterFacts
	typical                     *typical

	// What others have to do with the pod.
	socials map[uint64]*social
	queries map[string]*query
	domains map[string]*domain
	others  [neighboursColumn + 1][]float64

	classes  map[uint64]*class
	stale    []int
	ofOthers []float32 // the cluster's part of the first layer
	run      run

	// What the parallel parts work on; the functions are made once, since each would cost memory.
	view        view
	current     *class
	stage       *stage
	isLast      bool
	index       []int
	runBlock    func(int)
	renewPieces func(int)
	outside     float32
}

// Option changes a scorer.
type Option func(*Scorer)

// Within tells a scorer of services, controllers and namespaces; without them pods that name no spread constraints of
// their own belong to nobody.
func Within(surroundings *Surroundings) Option {
	return func(s *Scorer) { s.surroundings = surroundings }
}

// MaxOutside sets the share of values outside of the envelope from which on Score refuses; 1 = it never does.
func MaxOutside(share float32) Option {
	return func(s *Scorer) { s.maxOutside = share }
}

// NewScorer returns a scorer with empty caches; without a parallelizer it works on the caller's thread alone.
func NewScorer(m *Model, parallelizer fwk.Parallelizer, options ...Option) *Scorer {
	s := &Scorer{
		model: m, parallelizer: parallelizer, maxOutside: defaultMaxOutside, seed: maphash.MakeSeed(), typical: newTypical(),
		byName: map[string]int{}, socials: map[uint64]*social{}, queries: map[string]*query{}, domains: map[string]*domain{},
		classes: map[uint64]*class{},
	}
	s.run = run{program: m.program, near: func(at int) []nearZone { return s.nodes[at].near }}
	s.runBlock, s.renewPieces = s.block, s.renewPiece
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
	s.sync(all, readings)
	if problem := s.find(feasible); problem != nil {
		return problem
	}
	of, problem := s.classOf(pod)
	if problem != nil {
		return problem
	}
	s.bringUp(ctx, of)
	s.lookAround(pod)
	s.prepare(of)
	for i := range s.model.program.stages {
		if err := ctx.Err(); err != nil {
			return problemf(Cancelled, "stopped while scoring pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
		s.runStage(ctx, i)
	}
	if err := ctx.Err(); err != nil {
		return problemf(Cancelled, "stopped while scoring pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
	return s.finish(of, out)
}

// find notes which nodes are feasible.
func (s *Scorer) find(feasible []fwk.NodeInfo) *Problem {
	clear(s.isFeasible)
	s.index = s.index[:0]
	next := 0
	for _, info := range feasible {
		// Mostly they come in the order of the snapshot.
		if next >= len(s.nodes) || s.nodes[next].info != info {
			found, ok := s.byName[info.Node().Name]
			if !ok {
				return problemf(WrongSize, "the feasible node `%s` is not in the snapshot", info.Node().Name)
			}
			next = found
		}
		s.isFeasible[next] = true
		s.index = append(s.index, next)
		next++
	}
	return nil
}

// lookAround fills the columns that depend on other nodes, as far as the model reads them.
func (s *Scorer) lookAround(pod *v1.Pod) {
	reads := &s.model.reads
	s.run.app = nil
	if reads.crowding || reads.neighbours || reads.app {
		of := s.socialOf(pod)
		if reads.crowding {
			s.crowding(of)
		}
		if reads.neighbours {
			s.neighbours(of)
		}
		if reads.app && len(of.soft) > 0 {
			of.soft[0].query.renew(s)
			s.run.app = of.soft[0].query.counts
		}
	}
	for i, is := range s.isFeasible {
		s.others[feasibleColumn][i] = bit(is)
	}
}

// runStage runs a part of the network: the cluster's values, then the nodes', then pools.
func (s *Scorer) runStage(ctx context.Context, at int) {
	stages := s.model.program.stages
	one := &stages[at]
	s.run.before(one)
	if at > 0 && len(one.rows) == 0 && len(one.pools) == 0 {
		return
	}
	s.stage = one
	// What nobody pools is only asked for where the pod may go.
	s.isLast = len(one.pools) == 0
	s.inParallel(ctx, s.run.numBlocks(), fewBlocks, s.runBlock)
	s.run.after(one)
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

// block runs the present stage on one block of nodes.
func (s *Scorer) block(block int) {
	from := block * blockSize
	to := min(from+blockSize, len(s.nodes))
	if s.isLast && !anyOf(s.isFeasible[from:to]) {
		return
	}
	if s.stage == &s.model.program.stages[0] {
		s.complete(from, to)
	}
	s.run.block(s.stage, block)
}

func anyOf(values []bool) bool {
	for _, value := range values {
		if value {
			return true
		}
	}
	return false
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
		if math.IsNaN(float64(score)) || math.IsInf(float64(score), 0) {
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
