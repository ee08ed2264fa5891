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
	within := notes{"longshore.dev/latency-hard-limit-ms": "30"}
	wait := func(a *Arguments) { a.OnMissingReadings = waitForReadings }
	tests := map[string]struct {
		pod, node notes
		pods      []*v1.Pod
		policy    func(*policy)
		arguments change
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
		"no request":                {pod: notes{"longshore.dev/gpu-count": "many"}, node: eight, wantCode: fwk.Skip},
		"near enough":               {pod: within, node: notes{"longshore.dev/latency-ms": "30"}},
		"too far":                   {pod: within, node: notes{"longshore.dev/latency-ms": "30.1"}, wantCode: fwk.UnschedulableAndUnresolvable, wantText: beyondLimit},
		"nobody has measured":       {pod: within},
		"nobody has, and it waits":  {pod: within, arguments: wait, wantCode: fwk.UnschedulableAndUnresolvable, wantText: notMeasured},
		"known, where others wait":  {pod: within, arguments: wait, node: notes{"longshore.dev/latency-ms": "30"}},
		"no limit":                  {pod: notes{"latencyHardConstraint": "soon"}, wantCode: fwk.Skip},
		"the thesis' name":          {pod: notes{"latencyHardConstraint": "30"}, node: notes{"longshore.dev/latency-ms": "30.1"}, wantCode: fwk.UnschedulableAndUnresolvable, wantText: beyondLimit},
		"trained without limits":    {pod: within, policy: func(p *policy) { p.ignoresLimits = true }, wantCode: fwk.Skip},
		"a soft limit is no filter": {pod: notes{"latencySoftConstraint": "1"}, wantCode: fwk.Skip},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if test.arguments != nil {
				test.arguments(&f.plugin.arguments)
			}
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
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile, a.OnMissingReadings = file, waitForReadings })
	f.plugin.handle = &activated{Handle: f.plugin.handle}
	pod := noted(newPod("new"), notes{"longshore.dev/latency-hard-limit-ms": "30"})
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
		f.plugin.pollReadings(klog.Background())
		if status := f.filtered(t, pod, node); status.Code() != test.wantCode {
			t.Errorf("%s: got %v, expected %v", test.content, status, test.wantCode)
		}
	}
}

// TestReadingsThatMayHelp has a pod wait for a node nearer than 30 ms, beside one that no node is too far for.
func TestReadingsThatMayHelp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.yaml")
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	handle := &activated{Handle: f.plugin.handle}
	f.plugin.handle = handle
	limited := noted(newPod("new"), notes{"longshore.dev/latency-hard-limit-ms": "30"})
	patient := noted(st.MakePod().Name("patient").UID("patient").Obj(), notes{"longshore.dev/latency-hard-limit-ms": "1000"})
	seconds := 0
	measure := func(content string) map[string]*v1.Pod {
		seconds++
		writeAt(t, file, content, f.clock.Now().Add(time.Duration(seconds)*time.Second))
		handle.pods = nil
		f.plugin.pollReadings(klog.Background())
		return handle.pods
	}
	measure("nodes: {\"n\": {latency_ms: 50}}")
	f.filtered(t, limited, gpuNode("n", nil))
	f.filtered(t, patient, gpuNode("n", nil))
	if got := measure("nodes: {\"n\": {latency_ms: 40}}"); got != nil {
		t.Errorf("nearer, and still too far: got %v, expected nobody", got)
	}
	if got := measure("nodes: {\"n\": {latency_ms: 20}}"); len(got) != 1 || got[string(limited.UID)] == nil {
		t.Errorf("near enough: got %v, expected the pod that was kept off", got)
	}
	if got := measure("nodes: {\"n\": {latency_ms: 20}}"); got != nil {
		t.Errorf("the same: got %v, expected nobody", got)
	}
	measure("nodes: {\"n\": {latency_ms: 50}}")
	f.plugin.limited.drop(limited)
	if got := measure("nodes: {\"n\": {latency_ms: 2}}"); got != nil {
		t.Errorf("got %v, expected nobody: the pod has its node", got)
	}
}

// TestStaleReadingsKeepNobodyPending has the readings run out while a pod with a hard limit waits.
func TestStaleReadingsKeepNobodyPending(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.yaml")
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	handle := &activated{Handle: f.plugin.handle}
	f.plugin.handle = handle
	pod := noted(newPod("new"), notes{"longshore.dev/latency-hard-limit-ms": "30"})
	writeAt(t, file, "nodes: {\"n\": {latency_ms: 50}}", f.clock.Now())
	f.plugin.pollReadings(klog.Background())
	if status := f.filtered(t, pod, gpuNode("n", nil)); status.Message() != beyondLimit {
		t.Fatalf("got %v, expected that the node is too far", status)
	}
	f.clock.Step(2 * f.plugin.arguments.ReadingsMaxAge.Duration)
	f.plugin.pollReadings(klog.Background())
	if len(handle.pods) != 1 {
		t.Errorf("got %v, expected that the pod is looked at again", handle.pods)
	}
	if status := f.filtered(t, pod, gpuNode("n", nil)); !status.IsSuccess() {
		t.Errorf("got %v, expected that a node of unknown latency may take it", status)
	}
}

// TestAnnotationsThatCannotBeRead has one looked at three times: once it is said, and again when it is another one.
func TestAnnotationsThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	wrong := noted(newPod("new"), notes{"longshore.dev/latency-hard-limit-ms": "30ms"})
	f.filtered(t, wrong, gpuNode("n", nil))
	if got := f.said(); !strings.Contains(got, EventAnnotationIgnored) || !strings.Contains(got, "got `30ms`") {
		t.Errorf("got %q, expected %s with the text", got, EventAnnotationIgnored)
	}
	f.filtered(t, wrong, gpuNode("n", nil))
	if got := f.said(); got != "" {
		t.Errorf("the same again: got %q, expected no event", got)
	}
	f.filtered(t, noted(newPod("new"), notes{"longshore.dev/gpu-count": "many"}), gpuNode("n", nil))
	if got := f.said(); !strings.Contains(got, "are no request for GPUs") {
		t.Errorf("another one: got %q, expected an event", got)
	}
}

func TestLimitsCountWithoutAPolicy(t *testing.T) {
	f := newFixture(t)
	f.plugin.models.current.Store(nil)
	pod := noted(newPod("new"), notes{"latencyHardConstraint": "30"})
	if status := f.filtered(t, pod, gpuNode("n", notes{"longshore.dev/latency-ms": "31"})); status.Message() != beyondLimit {
		t.Errorf("got %v, expected that the promise to the pod is kept", status)
	}
}

func TestGonePodsAreForgotten(t *testing.T) {
	f := newFixture(t)
	pod := noted(newPod("new"), notes{"latencyHardConstraint": "30"})
	f.plugin.held.Put(pod, "node-0", "0")
	f.plugin.limited.put(pod)
	f.plugin.passedOver.isNews(pod.UID, "it")
	f.plugin.forget(cache.DeletedFinalStateUnknown{Obj: pod})
	if f.plugin.held.Get(pod.UID) != "" || len(f.plugin.limited.all())+len(f.plugin.passedOver.texts) != 0 {
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
