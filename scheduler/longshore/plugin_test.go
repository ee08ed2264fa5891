package longshore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestConfigurationFiles(t *testing.T) {
	stockNames := []string{
		names.TaintToleration, names.NodeAffinity, names.NodeResourcesFit, names.VolumeBinding, names.PodTopologySpread,
		names.InterPodAffinity, names.DynamicResources, names.NodeResourcesBalancedAllocation, names.ImageLocality,
	}
	withOurs := append(slices.Clone(stockNames), Name)
	tests := map[string]map[string][]string{
		"profile-plugin.yaml":  {"default-scheduler": stockNames, "longshore": withOurs},
		"profile-replace.yaml": {"default-scheduler": withOurs},
		"profile-shadow.yaml":  {"default-scheduler": stockNames},
	}
	for file, wanted := range tests {
		t.Run(file, func(t *testing.T) {
			f := newFixture(t)
			loaded := profiles(t, file)
			if len(loaded) != len(wanted) {
				t.Fatalf("got %d profiles, expected %d", len(loaded), len(wanted))
			}
			for _, profile := range loaded {
				var arguments runtime.Object
				create := func(ctx context.Context, given runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
					arguments = given
					return f.create()(ctx, given, handle)
				}
				want := wanted[profile.SchedulerName]
				enabled := f.harness.framework(t, f.ctx, profile, create).ListPlugins()
				if got := namesOf(enabled.Score.Enabled); !sameNames(got, want) {
					t.Errorf("%s: got the score plugins %v, expected %v", profile.SchedulerName, got, want)
				}
				if arguments == nil {
					continue // a profile without Longshore
				}
				if got := namesOf(enabled.PreScore.Enabled); !slices.Contains(got, Name) {
					t.Errorf("%s: got the preScore plugins %v, expected %s among them", profile.SchedulerName, got, Name)
				}
				if _, err := decodeArguments(arguments); err != nil {
					t.Errorf("%s: %v", profile.SchedulerName, err)
				}
				isActing := file != "profile-shadow.yaml"
				if got := sets.New(namesOf(enabled.Filter.Enabled)...).Has(Name); got != isActing {
					t.Errorf("%s: got %v for a filter, expected %v", profile.SchedulerName, got, isActing)
				}
				if got := namesOf(enabled.Bind.Enabled); (got[0] == Name) != isActing || got[len(got)-1] != names.DefaultBinder {
					t.Errorf("%s: got the bind plugins %v", profile.SchedulerName, got)
				}
				if percentage := profile.PercentageOfNodesToScore; percentage != nil {
					t.Errorf("%s: got %d percent of the nodes, expected upstream's sample", profile.SchedulerName, *percentage)
				}
			}
		})
	}
}

func namesOf(plugins []config.Plugin) []string {
	var found []string
	for _, plugin := range plugins {
		found = append(found, plugin.Name)
	}
	return found
}

func sameNames(got, want []string) bool {
	return sets.New(got...).Equal(sets.New(want...)) && len(got) == len(want)
}

func TestNewRefusesWrongArguments(t *testing.T) {
	_, err := New(t.Context(), &runtime.Unknown{Raw: []byte(`{"envelopeTolerance": 7}`)}, nil)
	if err == nil || !strings.Contains(err.Error(), "envelopeTolerance") {
		t.Errorf("got %v, expected an error that names envelopeTolerance", err)
	}
}

// TestTwoProfiles makes the real plugin twice, with upstream's global registry of metrics and no bundle.
func TestTwoProfiles(t *testing.T) {
	f := newFixture(t)
	profile := longshoreProfile(t)
	var made []*Longshore
	create := func(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := New(ctx, arguments, handle)
		if err == nil {
			made = append(made, plugin.(*Longshore))
		}
		return plugin, err
	}
	first := f.harness.framework(t, f.ctx, profile, create)
	profile.SchedulerName = "another"
	second := f.harness.framework(t, f.ctx, profile, create)
	if len(made) != 2 || made[0].held != made[1].held {
		t.Error("got GPUs of each profile's own, expected that both know of what either has given")
	}
	nodes, pods := plainNodes(4)
	f.world.show(nodes, pods)
	for _, one := range []framework.Framework{first, second} {
		if chosen := argmax(schedule(t, f.ctx, one, f.world, nodes, newPod("new"))); !chosen["node-0"] {
			t.Errorf("got %v, expected node-0, stock's best", chosen)
		}
	}
}

func TestMetricsOfProfilesAreToldApart(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	for _, profile := range []string{"default-scheduler", "longshore", "longshore"} {
		made, err := newPluginMetrics(registry.Register, profile)
		if err != nil {
			t.Fatal(err)
		}
		made.fallbacks("nan").Inc()
	}
	want := `
		# HELP longshore_fallback_total [ALPHA] Decisions that the policy did not make, by the reason.
		# TYPE longshore_fallback_total counter
		longshore_fallback_total{profile="default-scheduler",reason="nan"} 1
		longshore_fallback_total{profile="longshore",reason="nan"} 2
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "longshore_fallback_total"); err != nil {
		t.Error(err)
	}
}

func TestSignPod(t *testing.T) {
	f := newFixture(t)
	if _, status := f.plugin.SignPod(f.ctx, newPod("new")); status.Code() != fwk.Unschedulable {
		t.Errorf("a policy ranks: got %v, expected Unschedulable: the ranking of one pod is not that of the next", status)
	}
	f.plugin.models.current.Store(nil)
	if own, status := f.plugin.SignPod(f.ctx, newPod("new")); !status.IsSuccess() || len(own) != 0 {
		t.Errorf("no policy: got %v (%v), expected that only the other plugins say what they depend on", own, status)
	}
	if _, status := f.plugin.SignPod(f.ctx, noted(newPod("new"), notes{"longshore.dev/gpu-count": "1"})); status.Code() != fwk.Unschedulable {
		t.Errorf("a pod with GPUs: got %v, expected Unschedulable: each takes other devices", status)
	}
	shadow := newFixture(t, func(a *Arguments) { a.Shadow = true })
	if _, status := shadow.plugin.SignPod(shadow.ctx, newPod("new")); !status.IsSuccess() {
		t.Errorf("in shadow: got %v, expected no word against batching", status)
	}
}

// TestStartDoesNotWaitForEver has both the bundle's disk and that of the readings hang.
func TestStartDoesNotWaitForEver(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	hanging := func() { <-hang }
	done := make(chan struct{})
	go func() {
		followAll(t.Context(), klog.Background(), clocktesting.NewFakeClock(time.Now()), 10*time.Millisecond, hanging, hanging)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the start waits for ever")
	}
}

func TestScoreOfAnUnknownNodeIsNoError(t *testing.T) {
	f := newFixture(t)
	info := infosNamed("stranger")[0]
	for name, state := range map[string]*framework.CycleState{"no ranking": framework.NewCycleState(), "ranked": framework.NewCycleState()} {
		if name == "ranked" {
			state.Write(stateKey, &verdict{scores: &nodeScores{map[string]int32{"node-0": 0}, []int8{100}}})
		}
		if score, status := f.plugin.Score(t.Context(), state, &v1.Pod{}, info); score != 0 || !status.IsSuccess() {
			t.Errorf("%s: got %d and %v, expected 0 and success", name, score, status)
		}
	}
}

func TestScoringDelay(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "after-bind:2": 0, "slow-scoring:18ms": 18 * time.Millisecond} {
		t.Setenv(failpointVariable, text)
		if got, err := scoringDelay(); got != want || err != nil {
			t.Errorf("%q: got %v and %v, expected %v", text, got, err, want)
		}
	}
	t.Setenv(failpointVariable, "slow-scoring:soon")
	if _, err := scoringDelay(); err == nil {
		t.Error("got no error")
	}
}
