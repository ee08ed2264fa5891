package longshore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"longshore.dev/scheduler/inference"
)

// Reasons to leave a pod to the profile's other score plugins, beside those of inference.
const (
	circuitOpen   inference.Reason = "circuit-open"
	staleReadings inference.Reason = "stale-readings"
	modelMissing  inference.Reason = "model-missing"
	panicked      inference.Reason = "panic"
	otherError    inference.Reason = "error"
)

// A cold ranking may take so many times the deadline, but not longer than the second.
const (
	coldFactor       = 10
	mostColdDeadline = time.Second
)

// rankingsPerSample: of one ranking in so many it is noted how much processor time it took. To ask the kernel for that is
// to let it take the core away, if others wait for it; without such a call it mostly leaves the core until its next tick.
const rankingsPerSample = 32

// stockPolicy is what the decision log calls the profile's other score plugins.
const stockPolicy = "kube-scheduler"

// decide says whether the policy ranks the nodes of a pod. It is asked once in a cycle; the answer is in the state.
func (p *Longshore) decide(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) bool {
	found := verdictIn(state)
	if found == nil {
		found = p.ask(ctx, pod, nodes)
		state.Write(stateKey, found)
	}
	return found.scores != nil
}

// willRank says whether the next pod is one for the policy, as far as that can be known before it is looked at.
func (p *Longshore) willRank() bool {
	if p.arguments.Shadow || p.models.current.Load() == nil {
		return false
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.models.current.Load() != p.last || !p.circuit.isOpen()
}

// ask has the policy rank the nodes. A panic anywhere means that it does not.
func (p *Longshore) ask(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo) (found *verdict) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	defer func() {
		if value := recover(); value != nil {
			p.metrics.fallbacks(string(panicked)).Inc()
			klog.FromContext(ctx).Error(fmt.Errorf("%v", value), "Ranking failed", "pod", klog.KObj(pod), "stack", string(debug.Stack()))
			p.nodeIndex, p.ranks = inference.NewNodeIndex(nil), nil // made anew for the next pod
			found = &verdict{}
		}
	}()
	found = &verdict{}
	if len(nodes) == 0 {
		return found
	}
	started := p.clock.Now()
	all := p.allNodes(nodes)
	p.locate(all, nodes)
	p.learned = resized(p.learned, len(nodes))
	made := ranking{nodes: nodes, numNodes: len(all), chosen: -1}

	policy, failure := p.askPolicy(ctx, pod, all, nodes)
	p.reportProblems(pod)
	if failure == nil {
		made.policy, made.version, made.scores = policy.name, policy.sha256, p.learned
		made.chosen = p.lowestNamedBest(p.learned, policy.tieTolerance)
	} else {
		made.policy, made.failure = stockPolicy, failure
		p.sayFallback(ctx, pod, failure)
	}
	if made.chosen >= 0 && !p.arguments.Shadow {
		found.scores = p.toScores(made)
	}
	found.pending = p.describe(pod, made, started)
	p.metrics.duration.Observe(p.clock.Since(started).Seconds())
	return found
}

// ranking is what was found for one pod.
type ranking struct {
	nodes    []fwk.NodeInfo
	numNodes int
	scores   []float32
	chosen   int // -1 = none
	policy   string
	version  string
	failure  *inference.Problem
}

// allNodes returns the nodes of the snapshot, over which the context is pooled.
func (p *Longshore) allNodes(feasible []fwk.NodeInfo) []fwk.NodeInfo {
	all, err := p.snapshot.NodeInfos().List()
	if err != nil || len(all) < len(feasible) {
		return feasible
	}
	return all
}

// askPolicy writes the policy's scores to p.learned; a problem is the reason to fall back.
func (p *Longshore) askPolicy(ctx context.Context, pod *v1.Pod, all, nodes []fwk.NodeInfo) (*policy, *inference.Problem) {
	policy := p.models.current.Load()
	if policy != p.last {
		p.circuit.reset() // what the one before did is not this one's fault
		p.last, p.isCold = policy, true
	}
	if policy == nil {
		if problem := p.models.problem.Load(); problem != nil {
			return nil, &inference.Problem{Reason: problem.reason, Message: problem.text}
		}
		return nil, &inference.Problem{Reason: modelMissing, Message: "no bundle in " + p.arguments.ModelPath}
	}
	if p.circuit.isOpen() {
		return nil, &inference.Problem{
			Reason: circuitOpen, Message: fmt.Sprintf("the model failed %d times", p.circuit.failures),
		}
	}
	if problem := policy.checkSize(len(all)); problem != nil {
		return nil, problem
	}
	if problem := p.trials.admit(policy.sha256, coldDeadline(p.arguments.Deadline.Duration)); problem != nil {
		if problem.Reason == quarantined {
			p.models.takeBack(policy, quarantined, problem)
		}
		return nil, problem
	}
	var readings inference.Readings
	if p.telemetry != nil {
		readings = p.telemetry.known()
	}
	if p.telemetry != nil && policy.needsReadings {
		if text := p.telemetry.uselessness(p.clock.Now(), readings, all); text != "" {
			return nil, &inference.Problem{Reason: staleReadings, Message: text}
		}
	}
	allowed := p.arguments.Deadline.Duration
	if p.isCold {
		p.isCold, allowed = false, coldDeadline(allowed)
	}
	started := time.Now()
	problem := p.scoreWithin(ctx, allowed, policy, pod, all, nodes, readings)
	p.trials.survived()
	if problem == nil && time.Since(started) > p.arguments.Deadline.Duration {
		// Late, as the first one may be. It says nothing about the next, which is to be in time.
		policy.isProven.Store(true)
		return policy, nil
	}
	p.judge(policy, problem)
	return policy, problem
}

// coldDeadline is how long the first ranking of a new model may take, and the one that tries it again after an open
// circuit: what the model keeps of every node has to be made first, which takes longer than all later rankings.
func coldDeadline(deadline time.Duration) time.Duration {
	return max(deadline, min(coldFactor*deadline, mostColdDeadline))
}

// scoreWithin runs the policy for as long as it may take.
func (p *Longshore) scoreWithin(
	parent context.Context, deadline time.Duration,
	policy *policy, pod *v1.Pod, all, nodes []fwk.NodeInfo, readings inference.Readings,
) (problem *inference.Problem) {
	ctx := &deadlineContext{Context: parent, until: time.Now().Add(deadline)}
	defer ctx.stop()
	defer func() {
		if value := recover(); value != nil {
			problem = &inference.Problem{Reason: panicked, Message: fmt.Sprint(value)}
			policy.scorer = policy.newScorer()
			klog.FromContext(ctx).Error(nil, "Scoring panicked", "pod", klog.KObj(pod), "value", value, "stack", string(debug.Stack()))
		}
	}()
	wait(ctx, p.delay)
	err := p.scoreTimed(ctx, policy, pod, all, nodes, readings)
	if ctx.Err() != nil {
		// A late answer is not used: a model that is always late must open the circuit.
		return &inference.Problem{Reason: inference.Cancelled, Message: fmt.Sprintf("scoring took longer than %v", deadline)}
	}
	if err != nil {
		if errors.As(err, &problem) {
			return problem
		}
		return &inference.Problem{Reason: otherError, Message: err.Error()}
	}
	for i, score := range p.learned {
		if score-score != 0 { // infinite, or not a number
			return &inference.Problem{
				Reason: inference.NotFinite, Message: fmt.Sprintf("node %s: the score is %v", nodes[i].Node().Name, score),
			}
		}
	}
	return nil
}

// scoreTimed runs the policy and, of some rankings, notes the processor time that they took: the time by the clock also
// has what the thread waited while others had its core. Of parallel parts, which only the first pod of its kind has, it is
// the caller's. The caller is not held on its thread for this; where it ends up on another one, nothing is noted.
func (p *Longshore) scoreTimed(
	ctx context.Context, policy *policy, pod *v1.Pod, all, nodes []fwk.NodeInfo, readings inference.Readings,
) error {
	p.numRankings++
	if p.numRankings%rankingsPerSample != 2 { // the second: the first is cold
		return policy.scorer.Score(ctx, pod, all, nodes, readings, p.learned)
	}
	thread, started := threadTime()
	err := policy.scorer.Score(ctx, pod, all, nodes, readings, p.learned)
	if same, ended := threadTime(); same == thread {
		p.metrics.processorTime.Observe((ended - started).Seconds())
	}
	return err
}

// judge tells the circuit how the policy did, and takes a new policy back whose first scores are no numbers.
func (p *Longshore) judge(policy *policy, problem *inference.Problem) {
	if problem == nil {
		policy.isProven.Store(true)
		p.circuit.succeeded()
		return
	}
	switch problem.Reason {
	case inference.OutOfDistribution, inference.WrongSize:
		return // of the pod or the cluster, not of the model
	case inference.NotFinite:
		if !policy.isProven.Load() {
			p.models.takeBack(policy, problem.Reason, noNumbers(policy, problem))
		}
	}
	p.circuit.failed()
	p.isCold = p.isCold || p.circuit.isOpen() // by the time that it is asked again, most nodes will have changed
}

// locate finds the places of the nodes that the pod fits on.
func (p *Longshore) locate(all, nodes []fwk.NodeInfo) {
	var missing fwk.NodeInfo
	if p.places, missing = p.nodeIndex.Find(nodes, p.places[:0]); missing == nil && len(p.ranks) <= len(all) {
		return
	}
	// Nodes have come or gone. Who still reads the scores of the last pod has the index of then.
	p.nodeIndex = inference.NewNodeIndex(all, nodes)
	p.ranks = p.nodeIndex.Ranks()
	p.places, _ = p.nodeIndex.Find(nodes, p.places[:0])
}

// toScores turns a ranking into what kube-scheduler is given.
func (p *Longshore) toScores(made ranking) *nodeScores {
	// Not kept from pod to pod: nobody says when the scores of the last one are not read any more.
	scores := make([]int8, len(p.ranks))
	toNodeScores(made.scores, made.chosen, p.places, scores)
	return &nodeScores{p.nodeIndex.Places(), scores}
}

func resized(buffer []float32, size int) []float32 {
	if cap(buffer) < size {
		return make([]float32, size)
	}
	return buffer[:size]
}
