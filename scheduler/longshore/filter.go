package longshore

import (
	"context"
	"maps"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"longshore.dev/scheduler/inference"
)

const needsKey fwk.StateKey = "PreFilter" + Name

var (
	_ fwk.PreFilterPlugin   = &Longshore{}
	_ fwk.FilterPlugin      = &Longshore{}
	_ fwk.EnqueueExtensions = &Longshore{}
)

// What is said about nodes that do not fit; `longshore schedule` says the same.
const (
	wrongModel    = "node(s) didn't have the requested GPU model"
	noDevices     = "Insufficient GPU devices"
	beyondLimit   = "node(s) exceeded the pod's hard latency limit"
	notMeasured   = "node(s) had no latency reading for the pod's hard limit"
	devicesVanish = "node(s) had GPU devices taken meanwhile"
)

// podNeeds is what Filter looks for.
type podNeeds struct {
	inference.Needs
	hasLimit bool
	readings inference.Readings
	isTooFar sync.Once // a node was, as far as is known
}

// Clone returns the same needs.
func (n *podNeeds) Clone() fwk.StateData { return n }

// PreFilter reads what a pod asks for by longshore's annotations; for a pod that asks for nothing Filter is not called.
// What cannot be read does not count, and an event says so.
func (p *Longshore) PreFilter(
	_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	p.held.Begin()
	if p.arguments.Shadow {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	needs, unreadable := inference.NeedsOf(pod)
	unreadable = append(unreadable, inference.UnknownKeys(pod.Annotations)...)
	if len(unreadable) > 0 {
		p.passOver(pod, strings.Join(unreadable, "; "))
	}
	made := &podNeeds{Needs: needs, hasLimit: needs.HasLimit() && p.limitsLatency()}
	if !made.hasLimit && !needs.HasDevices() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if made.hasLimit && p.telemetry != nil {
		made.readings = p.telemetry.known()
	}
	state.Write(needsKey, made)
	return nil, nil
}

// limitsLatency says whether hard limits count: not for a policy that was trained where they do not. Without a policy
// they do: the promise was made to the pod.
func (p *Longshore) limitsLatency() bool {
	policy := p.models.current.Load()
	return policy == nil || !policy.ignoresLimits
}

// PreFilterExtensions returns nil: Filter reads a node's pods from the node that it is given.
func (p *Longshore) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects nodes without the GPUs, or not within the hard latency limit, that a pod asks for. It is never an
// error.
func (p *Longshore) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	needs := needsIn(state)
	if needs == nil {
		return nil
	}
	if needs.HasDevices() {
		switch _, fit := needs.Devices(pod, node, p.held); fit {
		case inference.DevicesTaken:
			return fwk.NewStatus(fwk.Unschedulable, noDevices)
		case inference.TooFewDevices:
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, noDevices)
		case inference.WrongModel:
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, wrongModel)
		}
	}
	if needs.hasLimit {
		reason := ""
		switch needs.Latency(node.Node(), needs.readings) {
		case inference.BeyondLimit:
			reason = beyondLimit
		case inference.NotMeasured:
			if p.arguments.OnMissingReadings == waitForReadings {
				reason = notMeasured
			}
		}
		if reason != "" {
			needs.isTooFar.Do(func() { p.limited.put(pod) })
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
		}
	}
	return nil
}

func needsIn(state fwk.CycleState) *podNeeds {
	data, err := state.Read(needsKey)
	if err != nil {
		return nil
	}
	needs, _ := data.(*podNeeds)
	return needs
}

// EventsToRegister returns what may make room for a pod that Filter rejected. New readings are no event of the
// cluster's; see pollReadings.
func (p *Longshore) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	// With the taints, as all of upstream's plugins that wait for new nodes: the Add of a tainted one may be missed.
	nodes := fwk.Add | fwk.UpdateNodeAnnotation | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.Update}, QueueingHintFn: podMayHelp},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: nodes}, QueueingHintFn: nodeMayHelp},
	}, nil
}

// podMayHelp says whether what happened to a pod is a reason to look again at one that Filter rejected: it has changed
// itself, or another has left GPUs behind.
func podMayHelp(_ klog.Logger, pod *v1.Pod, old, now any) (fwk.QueueingHint, error) {
	before, after, err := util.As[*v1.Pod](old, now)
	if err != nil {
		return fwk.Queue, err
	}
	if after != nil {
		if after.UID == pod.UID {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil // GPUs are given back by going
	}
	if needs, _ := inference.NeedsOf(pod); !needs.HasDevices() {
		return fwk.QueueSkip, nil
	}
	if left, _ := inference.NeedsOf(before); !left.HasDevices() && before.Annotations[inference.DevicesAnnotation] == "" {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// nodeMayHelp says the same of a node: it is new, or what it says about itself has changed.
func nodeMayHelp(_ klog.Logger, _ *v1.Pod, old, now any) (fwk.QueueingHint, error) {
	before, after, err := util.As[*v1.Node](old, now)
	if err != nil {
		return fwk.Queue, err
	}
	if before == nil || after == nil {
		return fwk.Queue, nil
	}
	if maps.Equal(inference.SaidBy(before), inference.SaidBy(after)) && equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// pollReadings takes up new readings, and has the pods looked at again that they may help.
func (p *Longshore) pollReadings(logger klog.Logger) {
	before := p.telemetry.known()
	p.telemetry.poll()
	now := p.telemetry.known()
	if now.Equal(before) {
		return
	}
	pods := p.limited.all()
	maps.DeleteFunc(pods, func(_ string, pod *v1.Pod) bool {
		needs, _ := inference.NeedsOf(pod)
		return !needs.MayBeNearer(before, now, p.arguments.OnMissingReadings == placeWithoutReadings)
	})
	if len(pods) > 0 {
		p.handle.Activate(logger, pods)
	}
}

// waiting knows pods that were kept off nodes by their hard latency limits, and have no node yet.
type waiting struct {
	mutex sync.Mutex
	pods  map[string]*v1.Pod
}

func (w *waiting) put(pod *v1.Pod) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.pods == nil {
		w.pods = map[string]*v1.Pod{}
	}
	w.pods[string(pod.UID)] = pod
}

func (w *waiting) drop(pod *v1.Pod) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.pods, string(pod.UID))
}

func (w *waiting) all() map[string]*v1.Pod {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.pods)
}
