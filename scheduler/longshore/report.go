package longshore

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"longshore.dev/scheduler/inference"
)

// sayFallback counts a pod that the policy did not rank, and says why.
func (p *Longshore) sayFallback(ctx context.Context, pod *v1.Pod, failure *inference.Problem) {
	p.metrics.fallbacks(string(failure.Reason)).Inc()
	p.announcer.announce(pod, EventFallback, "The policy did not rank: "+reasonText(failure))
	klog.FromContext(ctx).V(3).Info("The policy did not rank", "pod", klog.KObj(pod), "reason", failure.Reason, "message", failure.Message)
}

// reportProblems writes what went wrong in the background as an event of a pod, since nothing else could carry it.
func (p *Longshore) reportProblems(pod *v1.Pod) {
	policy, problem := p.models.current.Load(), p.models.problem.Load()
	if policy != nil && problem != nil {
		p.announcer.announce(pod, EventModelKept, "The last good policy "+policy.name+" is used: "+problem.text)
	}
	if p.telemetry != nil {
		if problem := p.telemetry.trouble.Load(); problem != nil {
			p.announcer.announce(pod, EventReadingsKept, "The last good readings are used until they are too old: "+*problem)
		}
	}
	if p.ring != nil {
		if problem := p.ring.trouble.Load(); problem != nil {
			p.announcer.announce(pod, EventLogUnreachable, "Decisions wait to be logged, then the oldest are dropped: "+*problem)
		}
	}
}

// describe returns what the decision log gets when the pod has its node. In shadow it never gets one of ours, and is
// logged at once.
func (p *Longshore) describe(pod *v1.Pod, made ranking, started time.Time) *decision {
	if p.ring == nil {
		return nil
	}
	one := &decision{
		TimeMicros:    started.UnixMicro(),
		Mode:          "plugin",
		PodNamespace:  pod.Namespace,
		PodName:       pod.Name,
		PodUID:        string(pod.UID),
		Policy:        made.policy,
		PolicyVersion: made.version,
		SchedulerName: pod.Spec.SchedulerName,
		NumNodes:      made.numNodes,
		NumFeasible:   len(made.nodes),
		Candidates:    []candidate{},
		LatencyMicros: p.clock.Since(started).Microseconds(),
	}
	if made.failure != nil {
		text := reasonText(made.failure)
		one.FallbackReason = &text
	}
	if made.chosen >= 0 {
		one.rank(made)
	}
	if p.arguments.Shadow {
		one.Mode = "shadow"
		p.record(one)
		return nil
	}
	return one
}

// recordBinding logs the decision about a pod that is about to be bound, with the node that it really goes to: an
// extender, or other plugins with a say, may have chosen another than the policy.
func (p *Longshore) recordBinding(state fwk.CycleState, nodeName string) {
	found := verdictIn(state)
	if found == nil || found.pending == nil {
		return
	}
	one := *found.pending
	one.choose(nodeName)
	p.record(&one)
}

func (p *Longshore) record(one *decision) {
	if !p.ring.add(*one) {
		p.metrics.dropped.Inc()
	}
}

// rank adds the chosen node and the few best ones; the chosen one comes first also where others tie with it.
func (d *decision) rank(made ranking) {
	node, score := made.nodes[made.chosen].Node().Name, made.scores[made.chosen]
	d.Node, d.Score = &node, &score
	others := make([]candidate, 0, topCandidates)
	for i, other := range made.nodes {
		// Most names need not be read.
		if i != made.chosen && (len(others) < topCandidates || made.scores[i] >= others[topCandidates-1].score) {
			others = best(others, other.Node().Name, made.scores[i])
		}
	}
	if len(others) > 0 {
		d.RunnerUp = &others[0].node
	}
	d.Candidates = append([]candidate{{node, score}}, others[:min(len(others), topCandidates-1)]...)
}

// choose notes the node that the pod goes to. The policy's own choice stays the first candidate.
func (d *decision) choose(nodeName string) {
	if d.Node != nil && *d.Node == nodeName {
		return
	}
	d.RunnerUp, d.Score = nil, nil
	for i, one := range d.Candidates {
		if one.node == nodeName {
			d.Score = &d.Candidates[i].score
		}
	}
	d.Node = &nodeName
}

func reasonText(failure *inference.Problem) string {
	return string(failure.Reason) + ": " + failure.Message
}
