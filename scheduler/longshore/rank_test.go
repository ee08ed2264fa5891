package longshore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"longshore.dev/scheduler/inference"
)

// risingScores gives node-N the score N.
func risingScores(_ context.Context, nodes []fwk.NodeInfo, out []float32) error {
	for i, node := range nodes {
		var number float32
		if _, err := fmt.Sscanf(node.Node().Name, "node-%f", &number); err != nil {
			return err
		}
		out[i] = number
	}
	return nil
}

// plainNodes returns nodes of which upstream's scores prefer the first, the emptiest.
func plainNodes(count int) ([]*v1.Node, []*v1.Pod) {
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		nodes = append(nodes, st.MakeNode().Name(name).Label(v1.LabelHostname, name).
			Capacity(map[v1.ResourceName]string{"cpu": "16", "memory": "64Gi", "pods": "100"}).Obj())
		for j := range i {
			pods = append(pods, st.MakePod().Name(fmt.Sprintf("old-%d-%d", i, j)).Namespace("default").Node(name).
				Req(map[v1.ResourceName]string{"cpu": "2", "memory": "8Gi"}).Obj())
		}
	}
	return nodes, pods
}

func newPod(name string) *v1.Pod {
	return st.MakePod().Name(name).UID(name).Namespace("default").SchedulerName("longshore").
		Req(map[v1.ResourceName]string{"cpu": "1", "memory": "4Gi"}).Obj()
}

// place schedules one more pod on four nodes and returns the node with the best score.
func (f *fixture) place(t *testing.T) string {
	t.Helper()
	return f.placeIn(t, framework.NewCycleState())
}

// placeIn is place with a state of the caller's.
func (f *fixture) placeIn(t *testing.T, state fwk.CycleState) string {
	t.Helper()
	nodes, pods := plainNodes(4)
	f.world.show(nodes, pods)
	chosen := argmax(scheduleIn(t, f.ctx, state, f.framework, f.world, nodes, newPod("new")))
	if len(chosen) != 1 {
		t.Fatalf("got %d nodes with the best score, expected 1", len(chosen))
	}
	for name := range chosen {
		return name
	}
	return ""
}

func (f *fixture) fallbacks(t testing.TB, reason inference.Reason) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(f.plugin.metrics.fallbacks(string(reason)))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestPolicyChooses(t *testing.T) {
	f := newFixture(t)
	if got := f.place(t); got != "node-3" {
		t.Errorf("got %s, expected node-3, the policy's best", got)
	}
}

// fallbackTest is a trouble, made by a change of the fixture or by what the policy does, and the reason that it counts as.
type fallbackTest struct {
	change func(*fixture)
	score  func(ctx context.Context, nodes []fwk.NodeInfo, out []float32) error
	want   inference.Reason
}

var fallbackTests = map[string]fallbackTest{
	"no model": {
		change: func(f *fixture) { f.plugin.models.replace(nil) },
		want:   modelMissing,
	},
	"a bundle with an unknown feature and none before it": {
		change: func(f *fixture) {
			f.plugin.models.replace(nil)
			f.plugin.models.problem.Store(&modelProblem{inference.UnknownFeature, "node.colour@1"})
		},
		want: inference.UnknownFeature,
	},
	"a score that is no number": {
		score: func(_ context.Context, _ []fwk.NodeInfo, out []float32) error {
			out[1] = float32(math.NaN())
			return nil
		},
		want: inference.NotFinite,
	},
	"an infinite score": {
		score: func(_ context.Context, _ []fwk.NodeInfo, out []float32) error {
			out[1] = float32(math.Inf(1))
			return nil
		},
		want: inference.NotFinite,
	},
	"unlike the training": {
		score: func(context.Context, []fwk.NodeInfo, []float32) error {
			return &inference.Problem{Reason: inference.OutOfDistribution, Message: "far out"}
		},
		want: inference.OutOfDistribution,
	},
	"too slow": {
		score: func(ctx context.Context, _ []fwk.NodeInfo, _ []float32) error { <-ctx.Done(); return ctx.Err() },
		want:  inference.Cancelled,
	},
	"too slow, with an answer": {
		score: func(ctx context.Context, nodes []fwk.NodeInfo, out []float32) error {
			<-ctx.Done()
			return risingScores(ctx, nodes, out)
		},
		want: inference.Cancelled,
	},
	"a panic": {
		score: func(context.Context, []fwk.NodeInfo, []float32) error { panic("index out of range") },
		want:  panicked,
	},
	"an error without a reason": {
		score: func(context.Context, []fwk.NodeInfo, []float32) error { return errors.New("what?") },
		want:  otherError,
	},
}

func TestFallback(t *testing.T) {
	for name, test := range fallbackTests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if test.score != nil {
				f.policy.score = test.score
			}
			if test.change != nil {
				test.change(f)
			}
			if got := f.place(t); got != "node-0" {
				t.Errorf("got %s, expected node-0, stock's best", got)
			}
			if got := f.fallbacks(t, test.want); got != 1 {
				t.Errorf("got %v fallbacks with the reason %s, expected 1", got, test.want)
			}
			select {
			case event := <-f.events.Events:
				if !strings.Contains(event, EventFallback) || !strings.Contains(event, string(test.want)) {
					t.Errorf("got the event %q, expected %s and %s", event, EventFallback, test.want)
				}
			default:
				t.Error("got no event")
			}
		})
	}
}

func TestPanicOfAParallelPiece(t *testing.T) {
	f := newFixture(t)
	f.policy.score = func(ctx context.Context, _ []fwk.NodeInfo, _ []float32) error {
		recoveringParallelizer{f.framework.Parallelizer()}.Until(ctx, 100, func(piece int) {
			if piece == 50 {
				panic("in a goroutine of the framework's")
			}
		}, "test")
		return nil
	}
	if got := f.place(t); got != "node-0" {
		t.Errorf("got %s, expected node-0, stock's best", got)
	}
	if got := f.fallbacks(t, panicked); got != 1 {
		t.Errorf("got %v fallbacks, expected 1", got)
	}
}

func TestAPanicOutsideOfTheModelMeansTheProfilesScores(t *testing.T) {
	f := newFixture(t)
	f.plugin.circuit = nil // whoever asks it panics
	for range 3 {
		if got := f.place(t); got != "node-0" {
			t.Errorf("got %s, expected node-0, stock's best", got)
		}
	}
	if got := f.fallbacks(t, panicked); got != 3 {
		t.Errorf("got %v fallbacks, expected 3", got)
	}
}

func TestStaleReadings(t *testing.T) {
	file := t.TempDir() + "/readings.json"
	writeFile(t, file, `{"time": "2026-03-01T12:00:00Z", "nodes": {"node-0": {"watts": 100}}}`)
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	f.plugin.models.current.Load().needsReadings = true

	if got := f.place(t); got != "node-3" {
		t.Errorf("fresh readings: got %s, expected node-3, the policy's best", got)
	}
	f.clock.SetTime(f.clock.Now().Add(2 * time.Minute))
	if got := f.place(t); got != "node-0" {
		t.Errorf("stale readings: got %s, expected node-0, stock's best", got)
	}
	if got := f.fallbacks(t, staleReadings); got != 1 {
		t.Errorf("got %v fallbacks, expected 1", got)
	}
	f.plugin.models.current.Load().needsReadings = false
	if got := f.place(t); got != "node-3" {
		t.Errorf("a policy without readings: got %s, expected node-3", got)
	}
}

func TestCircuitOpensAndCloses(t *testing.T) {
	f := newFixture(t)
	f.plugin.models.current.Load().isProven.Store(true)
	f.policy.score = func(context.Context, []fwk.NodeInfo, []float32) error { panic("again") }
	for range 8 {
		f.place(t)
	}
	if f.policy.calls != 5 || f.fallbacks(t, circuitOpen) != 3 {
		t.Fatalf("got %d calls and %v pods with an open circuit, expected 5 and 3", f.policy.calls, f.fallbacks(t, circuitOpen))
	}
	f.clock.SetTime(f.clock.Now().Add(31 * time.Second))
	f.place(t)
	f.place(t)
	if f.policy.calls != 6 {
		t.Fatalf("half open: got %d calls, expected one more, 6", f.policy.calls)
	}
	f.clock.SetTime(f.clock.Now().Add(31 * time.Second))
	f.policy.score = risingScores
	for range 2 {
		if got := f.place(t); got != "node-3" {
			t.Errorf("closed again: got %s, expected node-3", got)
		}
	}
}

func TestOutOfDistributionDoesNotOpenTheCircuit(t *testing.T) {
	f := newFixture(t)
	f.policy.score = func(context.Context, []fwk.NodeInfo, []float32) error {
		return &inference.Problem{Reason: inference.OutOfDistribution, Message: "far out"}
	}
	for range 10 {
		f.place(t)
	}
	if f.policy.calls != 10 {
		t.Errorf("got %d calls, expected 10: other pods may be like those of the training", f.policy.calls)
	}
}

func TestDeadlineBoundsTheTime(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.Deadline = metav1.Duration{Duration: 5 * time.Millisecond} })
	f.policy.score = func(ctx context.Context, _ []fwk.NodeInfo, _ []float32) error { <-ctx.Done(); return ctx.Err() }
	started := time.Now()
	for range 1_000 {
		f.place(t)
	}
	if f.policy.calls != 5 {
		t.Errorf("got %d calls, expected 5, then an open circuit", f.policy.calls)
	}
	if took := time.Since(started); took > time.Minute {
		t.Errorf("1,000 pods took %v", took)
	}
}

func TestShadowChangesNoScore(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.Shadow, a.DecisionLog = true, t.TempDir()+"/log" })
	nodes, pods := plainNodes(4)
	f.world.show(nodes, pods)
	stock := f.harness.framework(t, f.ctx, stockProfile(t), f.create())
	want := schedule(t, f.ctx, stock, f.world, nodes, newPod("new"))
	if got := schedule(t, f.ctx, f.framework, f.world, nodes, newPod("new")); !maps.Equal(got, want) {
		t.Errorf("got %v, expected stock's scores %v", got, want)
	}
	logged, _ := f.plugin.ring.oldest(10)
	if len(logged) != 1 || *logged[0].Node != "node-3" || logged[0].Mode != "shadow" {
		t.Errorf("got %+v, expected the policy's choice in the log", logged)
	}
}

func TestNodesJoinAndLeave(t *testing.T) {
	f := newFixture(t)
	for _, count := range []int{4, 6, 2, 30, 3} {
		nodes, pods := plainNodes(min(count, 8))
		for i := 8; i < count; i++ {
			nodes = append(nodes, st.MakeNode().Name(fmt.Sprintf("node-%d", i)).Capacity(
				map[v1.ResourceName]string{"cpu": "16", "memory": "64Gi", "pods": "100"}).Obj())
		}
		f.world.show(nodes, pods)
		chosen := argmax(schedule(t, f.ctx, f.framework, f.world, nodes, newPod("new")))
		if want := fmt.Sprintf("node-%d", count-1); !chosen[want] || len(chosen) != 1 {
			t.Errorf("%d nodes: got %v, expected %s alone", count, chosen, want)
		}
	}
}

func TestEventsAreFew(t *testing.T) {
	f := newFixture(t)
	f.plugin.models.replace(nil)
	for range 50 {
		f.place(t)
	}
	f.clock.SetTime(f.clock.Now().Add(61 * time.Second))
	f.place(t)
	if got := len(f.events.Events); got != 2 {
		t.Errorf("got %d events, expected 2: at most one a minute", got)
	}
}

func notANumber(_ context.Context, _ []fwk.NodeInfo, out []float32) error {
	for i := range out {
		out[i] = float32(math.NaN())
	}
	return nil
}
