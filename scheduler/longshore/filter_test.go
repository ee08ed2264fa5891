package longshore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// notes are annotations of a pod or node.
type notes = map[string]string

func noted(pod *v1.Pod, given notes) *v1.Pod {
	pod.Annotations = given
	return pod
}

// onNode returns a bound pod with annotations.
func onNode(name, node string, given notes) *v1.Pod {
	return noted(st.MakePod().Name(name).UID(name).Node(node).Obj(), given)
}

func gpuNode(name string, given notes) *v1.Node {
	node := st.MakeNode().Name(name).Obj()
	node.Annotations = given
	return node
}

// filtered runs a pod through PreFilter and Filter on one node.
func (f *fixture) filtered(t *testing.T, pod *v1.Pod, node *v1.Node, pods ...*v1.Pod) *fwk.Status {
	t.Helper()
	f.world.show([]*v1.Node{node}, pods)
	state := framework.NewCycleState()
	if _, status := f.plugin.PreFilter(f.ctx, state, pod, nil); !status.IsSuccess() {
		return status
	}
	return f.plugin.Filter(f.ctx, state, pod, f.world.infos(t, []*v1.Node{node})[0])
}

func TestFilter(t *testing.T) {
	eight := notes{"longshore.dev/gpu-count": "8", "longshore.dev/gpu-model": "T4"}
	one := notes{"longshore.dev/gpu-count": "1"}
	half := notes{"longshore.dev/gpu-milli": "500"}
	within := notes{"latencyHardConstraint": "30"}
	tests := map[string]struct {
		pod, node notes
		pods      []*v1.Pod
		policy    func(*policy)
		wantCode  fwk.Code
		wantText  string
	}{
		"asks for nothing":          {wantCode: fwk.Skip},
		"one of eight":              {pod: one, node: eight},
		"all of eight":              {pod: notes{"longshore.dev/gpu-count": "8"}, node: eight},
		"an accepted model":         {pod: notes{"longshore.dev/gpu-count": "1", "longshore.dev/gpu-model": "A100|T4"}, node: eight},
		"another model":             {pod: notes{"longshore.dev/gpu-count": "1", "longshore.dev/gpu-model": "A100"}, node: eight, wantCode: fwk.UnschedulableAndUnresolvable, wantText: wrongModel},
		"more than there are":       {pod: notes{"longshore.dev/gpu-count": "2"}, node: one, wantCode: fwk.UnschedulableAndUnresolvable, wantText: noDevices},
		"no devices at all":         {pod: half, wantCode: fwk.UnschedulableAndUnresolvable, wantText: noDevices},
		"taken by another":          {pod: half, node: one, pods: []*v1.Pod{onNode("a", "n", notes{"longshore.dev/gpu-milli": "501"})}, wantCode: fwk.Unschedulable, wantText: noDevices},
		"shared with another":       {pod: half, node: one, pods: []*v1.Pod{onNode("a", "n", half)}},
		"no request":                {pod: notes{"longshore.dev/gpu-count": "many"}, node: eight, wantCode: fwk.UnschedulableAndUnresolvable, wantText: "are no request for GPUs"},
		"near enough":               {pod: within, node: notes{"longshore.dev/latency-ms": "30"}},
		"too far":                   {pod: within, node: notes{"longshore.dev/latency-ms": "30.1"}, wantCode: fwk.UnschedulableAndUnresolvable, wantText: beyondLimit},
		"nobody has measured":       {pod: within, wantCode: fwk.UnschedulableAndUnresolvable, wantText: notMeasured},
		"no limit":                  {pod: notes{"latencyHardConstraint": "soon"}, wantCode: fwk.UnschedulableAndUnresolvable, wantText: "expected a number"},
		"trained without limits":    {pod: within, policy: func(p *policy) { p.ignoresLimits = true }, wantCode: fwk.Skip},
		"a soft limit is no filter": {pod: notes{"latencySoftConstraint": "1"}, wantCode: fwk.Skip},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if test.policy != nil {
				test.policy(f.plugin.models.current.Load())
			}
			status := f.filtered(t, noted(newPod("new"), test.pod), gpuNode("n", test.node), test.pods...)
			if status.Code() != test.wantCode || !strings.Contains(status.Message(), test.wantText) {
				t.Errorf("got %v `%s`, expected %v `%s`", status.Code(), status.Message(), test.wantCode, test.wantText)
			}
		})
	}
}

func TestFilterInShadowLetsEveryNodePass(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.Shadow = true })
	pod := noted(newPod("new"), notes{"longshore.dev/gpu-count": "1"})
	if status := f.filtered(t, pod, gpuNode("n", nil)); !status.IsSkip() {
		t.Errorf("got %v, expected that a shadow is never in the way", status)
	}
}

// writeAt writes a file that counts as written at that time.
func writeAt(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	writeFile(t, path, text)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// activated notes the pods that a framework was asked to look at again.
type activated struct {
	fwk.Handle
	pods map[string]*v1.Pod
}

func (a *activated) Activate(_ klog.Logger, pods map[string]*v1.Pod) { a.pods = pods }

func TestReadingsOfTheFileLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.yaml")
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	handle := &activated{Handle: f.plugin.handle}
	f.plugin.handle = handle
	pod := noted(newPod("new"), notes{"latencyHardConstraint": "30"})
	node := gpuNode("n", notes{"longshore.dev/latency-ms": "10"})
	tests := []struct {
		content  string
		wantCode fwk.Code
	}{
		{"nodes: {\"n\": {latency_ms: 31}}", fwk.UnschedulableAndUnresolvable},
		{"nodes: {\"n\": {latency_ms: 29}}", fwk.Success},
		{"nodes: {\"n\": {connections: 7}}", fwk.UnschedulableAndUnresolvable},
		{"nodes: {other: {latency_ms: 1}}", fwk.Success}, // its annotation counts
	}
	for i, test := range tests {
		writeAt(t, file, test.content, f.clock.Now().Add(time.Duration(i)*time.Second))
		handle.pods = nil
		f.plugin.pollReadings(klog.Background())
		if status := f.filtered(t, pod, node); status.Code() != test.wantCode {
			t.Errorf("%s: got %v, expected %v", test.content, status, test.wantCode)
		}
	}
	if len(handle.pods) != 1 {
		t.Errorf("got %v, expected that new readings have the waiting pod looked at again", handle.pods)
	}
	handle.pods = nil
	f.plugin.pollReadings(klog.Background())
	if handle.pods != nil {
		t.Error("the same readings are no reason to look again")
	}
	f.plugin.limited.drop(pod)
	writeAt(t, file, "nodes: {\"n\": {latency_ms: 2}}", f.clock.Now())
	f.plugin.pollReadings(klog.Background())
	if len(handle.pods) != 0 {
		t.Errorf("got %v, expected none: the pod has its node", handle.pods)
	}
}

func TestLimitsCountWithoutAPolicy(t *testing.T) {
	f := newFixture(t)
	f.plugin.models.current.Store(nil)
	pod := noted(newPod("new"), notes{"latencyHardConstraint": "30"})
	if status := f.filtered(t, pod, gpuNode("n", nil)); status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Errorf("got %v, expected that the promise to the pod is kept", status)
	}
}

func TestGonePodsAreForgotten(t *testing.T) {
	f := newFixture(t)
	pod := noted(newPod("new"), notes{"latencyHardConstraint": "30"})
	f.plugin.held.Put(pod.UID, "0")
	f.plugin.limited.put(pod)
	f.plugin.forget(cache.DeletedFinalStateUnknown{Obj: pod})
	if f.plugin.held.Get(pod.UID) != "" || len(f.plugin.limited.all()) != 0 {
		t.Error("got something, expected that nothing is kept of a pod that is gone")
	}
}

// TestHints asks which events are a reason to look at a rejected pod again.
func TestHints(t *testing.T) {
	gpus, limit := notes{"longshore.dev/gpu-count": "1"}, notes{"latencyHardConstraint": "30"}
	holder := onNode("holder", "n", notes{"longshore.dev/gpu-devices": "0"})
	plain := onNode("plain", "n", nil)
	waiting := noted(newPod("new"), gpus)
	changed := noted(newPod("new"), nil)
	node, fuller := gpuNode("n", gpus), gpuNode("n", notes{"longshore.dev/gpu-count": "2"})
	beating := gpuNode("n", notes{"longshore.dev/gpu-count": "1", "heartbeat": "2"})
	tainted := gpuNode("n", gpus)
	tainted.Spec.Taints = []v1.Taint{{Key: "gone"}}
	for name, test := range map[string]struct {
		hint     fwk.QueueingHintFn
		pod      *v1.Pod
		old, now any
		want     fwk.QueueingHint
	}{
		"GPUs are free":                        {podMayHelp, waiting, holder, nil, fwk.Queue},
		"a pod without GPUs goes":              {podMayHelp, waiting, plain, nil, fwk.QueueSkip},
		"GPUs are free, latency is wanted":     {podMayHelp, noted(newPod("new"), limit), holder, nil, fwk.QueueSkip},
		"another pod's status":                 {podMayHelp, waiting, holder, holder, fwk.QueueSkip},
		"its own annotations":                  {podMayHelp, waiting, waiting, changed, fwk.Queue},
		"a node comes":                         {nodeMayHelp, waiting, nil, node, fwk.Queue},
		"a node has more GPUs":                 {nodeMayHelp, waiting, node, fuller, fwk.Queue},
		"a node's taint":                       {nodeMayHelp, waiting, node, tainted, fwk.Queue},
		"a node's annotation of somebody else": {nodeMayHelp, waiting, node, beating, fwk.QueueSkip},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := test.hint(klog.Background(), test.pod, test.old, test.now); got != test.want || err != nil {
				t.Errorf("got %v (%v), expected %v", got, err, test.want)
			}
		})
	}
}
