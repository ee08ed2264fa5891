package inference

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"longshore.dev/scheduler/bundle"
)

var background = context.Background()

// scored returns the scores of all nodes.
func scored(t testing.TB, s *Scorer, pod *v1.Pod, all []fwk.NodeInfo, readings Readings) []float32 {
	t.Helper()
	out := make([]float32, len(all))
	if err := s.Score(background, pod, all, all, readings, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestScoreInParallelIsScoreAlone(t *testing.T) {
	metrics.Register()
	all := asInterfaces(busyCluster(700, 4))
	pod := podNumber(1, 2)
	for name, model := range contractModels(t) {
		if model.numNodes != 0 {
			continue
		}
		alone := scored(t, NewScorer(model, nil, MaxOutside(1)), pod, all, Readings{})
		together := scored(t, NewScorer(model, parallelize.NewParallelizer(8), MaxOutside(1)), pod, all, Readings{})
		if !slices.Equal(alone, together) {
			t.Errorf("%s: scores differ", name)
		}
	}
}

func TestScoreDoesNotDependOnTheOrderOfFeasibleNodes(t *testing.T) {
	infos := busyCluster(40, 3)
	all := asInterfaces(infos)
	some := []fwk.NodeInfo{infos[30], infos[2], infos[3], infos[17]}
	other := []fwk.NodeInfo{infos[2], infos[3], infos[17], infos[30]}
	model := loadModel(t, contractFolder, "bundles", "deepsets")
	one, two := make([]float32, 4), make([]float32, 4)
	scorer := NewScorer(model, nil, MaxOutside(1))
	for _, run := range []struct {
		feasible []fwk.NodeInfo
		out      []float32
	}{{some, one}, {other, two}} {
		if err := scorer.Score(background, podNumber(1, 1), all, run.feasible, Readings{}, run.out); err != nil {
			t.Fatal(err)
		}
	}
	if want := []float32{two[3], two[0], two[1], two[2]}; !slices.Equal(one, want) {
		t.Errorf("got %v, want %v", one, want)
	}
}

// TestScoreAllocatesNothing: in steady state, a pod placed after each decision. The scheduler's own parallelizer makes
// goroutines, which cost memory; that is not counted here.
func TestScoreAllocatesNothing(t *testing.T) {
	for _, name := range []string{"linear", "deepsets", "deepsets-dial", "gnn", "kinds"} {
		t.Run(name, func(t *testing.T) {
			infos := busyCluster(300, 4)
			all, out := asInterfaces(infos), make([]float32, len(infos))
			scorer := NewScorer(loadModel(t, contractFolder, "bundles", name), nil, MaxOutside(1))
			pods := []*v1.Pod{podNumber(1, 0), podNumber(2, 1), podNumber(3, 2)}
			turn := 0
			score := func() {
				turn++
				if err := scorer.Score(background, pods[turn%len(pods)], all, all, Readings{}, out); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 30 { // every class has met a node that changed
				infos[i].AddPod(pods[i%len(pods)])
				score()
			}
			allocated := testing.AllocsPerRun(200, func() {
				infos[turn%len(infos)].Generation += 1_000_000 // as if its pods had changed
				score()
			})
			if allocated != 0 {
				t.Errorf("got %v allocations per decision, want 0", allocated)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(policy *bundle.Policy)
		reason Reason
		want   string
	}{
		"a feature of the queue": {func(p *bundle.Policy) { p.Features[0] = "next_cpu@1" }, UnknownFeature, "`next_cpu`"},
		"another version":        {func(p *bundle.Policy) { p.Features[0] = "node_cpu_used@2" }, UnknownFeature, "expected `node_cpu_used@1`"},
		"a prior": {func(p *bundle.Policy) {
			name := "kube-default"
			p.Prior = &name
		}, BadBundle, "`kube-default`"},
		"waiting": {func(p *bundle.Policy) { p.MayDefer = true }, BadBundle, "wait"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read, err := bundle.Read(filepath.Join(contractFolder, "bundles", "linear"))
			if err != nil {
				t.Fatal(err)
			}
			test.change(read.Policy)
			_, err = newModel(read)
			var problem *Problem
			if !errors.As(err, &problem) || problem.Reason != test.reason || !strings.Contains(problem.Message, test.want) {
				t.Errorf("got %v, want reason %s and %q", err, test.reason, test.want)
			}
		})
	}
}

func TestLoadSaysWhatIsWrongWithAFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, bundle.PolicyFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(folder)
	var problem *Problem
	if !errors.As(err, &problem) || problem.Reason != BadBundle || !strings.Contains(err.Error(), "weights.safetensors") {
		t.Errorf("got %v", err)
	}
}

func TestScoreProblems(t *testing.T) {
	cancelled, cancel := context.WithCancel(background)
	cancel()
	tests := map[string]struct {
		ctx    context.Context
		bundle string
		pod    func(pod *v1.Pod)
		model  func(model *Model)
		most   float32
		want   Reason
	}{
		"no time":                 {ctx: cancelled, want: Cancelled},
		"another number of nodes": {bundle: "mlp", want: WrongSize},
		"far from training": {model: func(model *Model) {
			for i := range model.low {
				model.low[i], model.high[i] = 2, 3
			}
		}, most: 0.9, want: OutOfDistribution},
		"weights that overflow": {model: func(model *Model) {
			for i := range model.program.firstLayer.vector {
				model.program.firstLayer.vector[i] = math.MaxFloat32
			}
		}, want: NotFinite},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			name := "deepsets"
			if test.bundle != "" {
				name = test.bundle
			}
			model, pod, ctx := loadModel(t, contractFolder, "bundles", name), podNumber(1, 1), background
			if test.model != nil {
				test.model(model)
			}
			if test.pod != nil {
				test.pod(pod)
			}
			if test.ctx != nil {
				ctx = test.ctx
			}
			most := float32(1)
			if test.most != 0 {
				most = test.most
			}
			all := asInterfaces(busyCluster(20, 3))
			scorer := NewScorer(model, nil, MaxOutside(most))
			err := scorer.Score(ctx, pod, all, all, Readings{}, make([]float32, len(all)))
			var problem *Problem
			if !errors.As(err, &problem) || problem.Reason != test.want {
				t.Errorf("got %v, want reason %s", err, test.want)
			}
		})
	}
}

func TestScoreGoesOnAfterACancelledCall(t *testing.T) {
	model := loadModel(t, contractFolder, "bundles", "deepsets")
	all := asInterfaces(busyCluster(30, 3))
	scorer := NewScorer(model, nil, MaxOutside(1))
	cancelled, cancel := context.WithCancel(background)
	cancel()
	if err := scorer.Score(cancelled, podNumber(1, 1), all, all, Readings{}, make([]float32, 30)); err == nil {
		t.Fatal("got no error")
	}
	got := scored(t, scorer, podNumber(1, 1), all, Readings{})
	if want := scored(t, NewScorer(model, nil, MaxOutside(1)), podNumber(1, 1), all, Readings{}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
