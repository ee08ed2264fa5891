package longshore

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"longshore.dev/scheduler/inference"
)

// world is the nodes and pods that frameworks see; a test puts in the next snapshot.
type world struct{ fwk.SharedLister }

func (w *world) show(nodes []*v1.Node, pods []*v1.Pod) {
	w.SharedLister = internalcache.NewSnapshot(pods, nodes)
}

// infos returns the nodes of the snapshot in the order of the given ones.
func (w *world) infos(t testing.TB, nodes []*v1.Node) []fwk.NodeInfo {
	t.Helper()
	found := make([]fwk.NodeInfo, 0, len(nodes))
	for _, node := range nodes {
		info, err := w.NodeInfos().Get(node.Name)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, info)
	}
	return found
}

// harness is a world, and what frameworks that look at it are made of. Informers are never started: tests fill their
// stores.
type harness struct {
	world   *world
	factory informers.SharedInformerFactory
	options []frameworkruntime.Option
	events  *events.FakeRecorder
	plugins map[string]fwk.Plugin // of nobody's but the test's
}

func newHarness(t testing.TB, ctx context.Context) *harness {
	t.Helper()
	schedulermetrics.Register()
	client := fake.NewClientset()
	h := &harness{
		world:   &world{internalcache.NewEmptySnapshot()},
		factory: scheduler.NewInformerFactory(client, 0),
		events:  events.NewFakeRecorder(1_000),
	}
	h.options = []frameworkruntime.Option{
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(h.factory),
		frameworkruntime.WithSnapshotSharedLister(h.world),
		frameworkruntime.WithSharedDRAManager(newDRAManager(t, ctx, h.factory)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(h.factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithEventRecorder(h.events),
	}
	return h
}

func newDRAManager(t testing.TB, ctx context.Context, factory informers.SharedInformerFactory) fwk.SharedDRAManager {
	t.Helper()
	resources := factory.Resource().V1()
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: resources.ResourceSlices()})
	if err != nil {
		t.Fatal(err)
	}
	return dynamicresources.NewDRAManager(ctx, claims, slices, factory)
}

// framework builds upstream's framework for a profile, with Longshore made by the given factory.
func (h *harness) framework(t testing.TB, ctx context.Context, profile config.KubeSchedulerProfile, create frameworkruntime.PluginFactory) framework.Framework {
	t.Helper()
	registry := plugins.NewInTreeRegistry()
	if err := registry.Register(Name, create); err != nil {
		t.Fatal(err)
	}
	for name, plugin := range h.plugins {
		of := func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }
		if err := registry.Register(name, of); err != nil {
			t.Fatal(err)
		}
	}
	built, err := frameworkruntime.NewFramework(ctx, registry, &profile, h.options...)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// profiles loads one of our configuration files as kube-scheduler does.
func profiles(t testing.TB, file string) []config.KubeSchedulerProfile {
	t.Helper()
	loaded, err := options.LoadConfigFromFile(klog.Background(), "../config/"+file)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Profiles
}

// longshoreProfile returns the profile `longshore` of profile-plugin.yaml.
func longshoreProfile(t testing.TB) config.KubeSchedulerProfile {
	t.Helper()
	return profiles(t, "profile-plugin.yaml")[1]
}

// scripted is a policy that a test tells what to do.
type scripted struct {
	score func(ctx context.Context, nodes []fwk.NodeInfo, out []float32) error
	calls int
}

func (s *scripted) Score(ctx context.Context, _ *v1.Pod, _, nodes []fwk.NodeInfo, _ inference.Readings, out []float32) error {
	s.calls++
	return s.score(ctx, nodes, out)
}

func (s *scripted) Distrust(string) {}

// fixture is a plugin in upstream's framework, with a policy of the test's, a clock and metrics of its own.
type fixture struct {
	*harness
	ctx       context.Context
	plugin    *Longshore
	framework framework.Framework
	clock     *clocktesting.FakeClock
	policy    *scripted
	registry  metrics.KubeRegistry
}

type change func(*Arguments)

// newFixture makes the plugin; its policy gives node-N the score N until a test says otherwise.
func newFixture(t testing.TB, changes ...change) *fixture {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	f := &fixture{
		harness:  newHarness(t, ctx),
		ctx:      ctx,
		clock:    clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		policy:   &scripted{score: risingScores},
		registry: metrics.NewKubeRegistry(),
	}
	f.framework = f.inFront(t, longshoreProfile(t), changes...)
	return f
}

// inFront builds a profile's framework with the plugin in front of it, as kube-scheduler's command does.
func (f *fixture) inFront(t testing.TB, given config.KubeSchedulerProfile, changes ...change) framework.Framework {
	t.Helper()
	inner := f.harness.framework(t, f.ctx, given, f.create(changes...))
	found := profile.Map{given.SchedulerName: inner}
	made := &Profiles{made: map[fwk.Handle]*Longshore{inner: f.plugin}}
	if err := made.StandInFront(found); err != nil {
		t.Fatal(err)
	}
	return found[given.SchedulerName]
}

// create is a factory of the plugin with the fixture's parts.
func (f *fixture) create(changes ...change) frameworkruntime.PluginFactory {
	return func(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		arguments := defaultArguments()
		arguments.ModelPath = "/nowhere"
		// On a busy machine 20 ms pass by themselves; tests of the deadline set their own.
		arguments.Deadline.Duration = mostDeadline
		for _, change := range changes {
			change(&arguments)
		}
		load := func(string) (*policy, error) { return f.newPolicy("test"), nil }
		plugin, err := newPlugin(ctx, arguments, handle, load, &inference.Held{}, f.registry.Register, f.clock)
		if err != nil {
			return nil, err
		}
		plugin.models.problem.Store(nil)
		plugin.models.replace(f.newPolicy("test"))
		f.plugin = plugin
		return plugin, nil
	}
}

func (f *fixture) newPolicy(sha256 string) *policy {
	newScorer := func() scorer { return f.policy }
	return &policy{
		newScorer: newScorer, scorer: f.policy, name: "scripted", version: "1", sha256: sha256, tieTolerance: 1e-6,
		checkSize: func(int) *inference.Problem { return nil },
	}
}

// schedule runs a pod through PreFilter, Filter, PreScore and Score and returns the totals by node.
func schedule(t testing.TB, ctx context.Context, f framework.Framework, w *world, nodes []*v1.Node, pod *v1.Pod) map[string]int64 {
	t.Helper()
	return scheduleIn(t, ctx, framework.NewCycleState(), f, w, nodes, pod)
}

// scheduleIn is schedule with a state of the caller's.
func scheduleIn(
	t testing.TB, ctx context.Context, state fwk.CycleState, f framework.Framework, w *world, nodes []*v1.Node, pod *v1.Pod,
) map[string]int64 {
	t.Helper()
	_, status, _ := f.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return nil
	}
	var feasible []fwk.NodeInfo
	for _, info := range w.infos(t, nodes) {
		if f.RunFilterPlugins(ctx, state, pod, info).IsSuccess() {
			feasible = append(feasible, info)
		}
	}
	if len(feasible) == 0 {
		return nil
	}
	// In any order, as kube-scheduler's parallel filters leave them.
	rand.Shuffle(len(feasible), func(i, j int) { feasible[i], feasible[j] = feasible[j], feasible[i] })
	if status := f.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	scores, status := f.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	totals := map[string]int64{}
	for _, one := range scores {
		totals[one.Name] = one.TotalScore
	}
	return totals
}

// argmax returns the nodes with the highest total.
func argmax(totals map[string]int64) map[string]bool {
	best := int64(-1)
	found := map[string]bool{}
	for name, total := range totals {
		if total > best {
			best, found = total, map[string]bool{}
		}
		if total == best {
			found[name] = true
		}
	}
	return found
}

var _ clock.WithTicker = &clocktesting.FakeClock{}

// withoutEnvelope are the default arguments for a policy that meets what it never met in training.
func withoutEnvelope() Arguments {
	arguments := defaultArguments()
	arguments.EnvelopeTolerance = 1
	return arguments
}
