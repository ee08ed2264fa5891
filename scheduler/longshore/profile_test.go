package longshore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

const megabyte = 1 << 20

// stockProfile returns upstream's default profile.
func stockProfile(t testing.TB) config.KubeSchedulerProfile {
	t.Helper()
	configuration, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	return configuration.Profiles[0]
}

// tuned is what a user may have made of a profile: another weight, another strategy, a plugin less and one of their own.
func tuned(given config.KubeSchedulerProfile) config.KubeSchedulerProfile {
	plugins := given.Plugins.DeepCopy()
	setWeight(plugins, names.NodeResourcesFit, 7)
	plugins.Score.Disabled = append(plugins.Score.Disabled, config.Plugin{Name: names.ImageLocality})
	plugins.PreScore.Enabled = append(plugins.PreScore.Enabled, config.Plugin{Name: odd})
	plugins.Score.Enabled = append(plugins.Score.Enabled, config.Plugin{Name: odd, Weight: 3})
	given.Plugins = plugins
	given.PluginConfig = slices.Clone(given.PluginConfig)
	for i, one := range given.PluginConfig {
		if one.Name == names.NodeResourcesFit {
			arguments := one.Args.DeepCopyObject().(*config.NodeResourcesFitArgs)
			arguments.ScoringStrategy = &config.ScoringStrategy{
				Type: config.MostAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}},
			}
			given.PluginConfig[i].Args = arguments
		}
	}
	return given
}

func setWeight(plugins *config.Plugins, name string, weight int32) {
	for i, one := range plugins.MultiPoint.Enabled {
		if one.Name == name {
			plugins.MultiPoint.Enabled[i].Weight = weight
		}
	}
}

// odd is the name of a plugin that is not upstream's: it likes nodes with an odd last digit.
const odd = "Odd"

type oddPlugin struct{ numPreScores int }

func (*oddPlugin) Name() string { return odd }

func (p *oddPlugin) PreScore(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) *fwk.Status {
	p.numPreScores++
	return nil
}

func (*oddPlugin) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	name := node.Node().Name
	return int64(name[len(name)-1]%2) * fwk.MaxNodeScore, nil
}

func (*oddPlugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// TestFallbackIsTheUsersOwnProfile runs random pods through a user's profile and through the same one with Longshore in it
// and no model: all totals are equal.
func TestFallbackIsTheUsersOwnProfile(t *testing.T) {
	for name, change := range map[string]func(config.KubeSchedulerProfile) config.KubeSchedulerProfile{
		"the default one": func(given config.KubeSchedulerProfile) config.KubeSchedulerProfile { return given },
		"a tuned one":     tuned,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.plugins = map[string]fwk.Plugin{odd: &oddPlugin{}}
			stock := f.harness.framework(t, f.ctx, change(stockProfile(t)), f.create())
			ours := f.inFront(t, change(longshoreProfile(t)))
			f.plugin.models.replace(nil)
			f.addObjects(t)
			if numCompared := f.compare(t, stock, ours); numCompared < 500 {
				t.Errorf("got %d cases that decide anything, expected 500 or more", numCompared)
			}
		})
	}
}

// compare runs random pods through two frameworks, and returns how many of them had a choice.
func (f *fixture) compare(t *testing.T, stock, ours framework.Framework) (numCompared int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for number := range 1_500 {
		nodes, pods, pod := randomCase(random)
		f.world.show(nodes, pods)
		wanted := schedule(t, f.ctx, stock, f.world, nodes, pod)
		got := schedule(t, f.ctx, ours, f.world, nodes, pod)
		if !maps.Equal(got, wanted) {
			t.Fatalf("case %d: got %v, expected the user's own %v", number, got, wanted)
		}
		if len(argmax(wanted)) < len(wanted) {
			numCompared++
		}
	}
	return numCompared
}

// addObjects makes pods belong together by a service.
func (f *fixture) addObjects(t *testing.T) {
	t.Helper()
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	service.Spec.Selector = map[string]string{"app": "web"}
	if err := f.factory.Core().V1().Services().Informer().GetIndexer().Add(service); err != nil {
		t.Fatal(err)
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := f.factory.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace); err != nil {
		t.Fatal(err)
	}
}

func TestOthersAreNotAskedWhileThePolicyRanksAlone(t *testing.T) {
	f := newFixture(t)
	other := &oddPlugin{}
	f.plugins = map[string]fwk.Plugin{odd: other}
	f.framework = f.inFront(t, tuned(longshoreProfile(t)))
	if got := f.place(t); got != "node-3" || other.numPreScores != 0 {
		t.Errorf("got %s and %d calls of another plugin, expected node-3, the policy's best, and none", got, other.numPreScores)
	}
	f.plugin.models.replace(nil)
	if f.place(t); other.numPreScores != 1 {
		t.Errorf("without a model: got %d calls of another plugin, expected 1", other.numPreScores)
	}
}

func TestASmallWeightIsAVoiceAmongOthers(t *testing.T) {
	for weight, want := range map[int32]string{1: "node-0", 1_000: "node-3"} {
		f := newFixture(t)
		given := longshoreProfile(t)
		given.Plugins = given.Plugins.DeepCopy()
		given.Plugins.Score.Enabled[0].Weight = weight
		setWeight(given.Plugins, names.NodeResourcesFit, 50)
		f.framework = f.inFront(t, given)
		if f.framework.(*rankedProfile).isAlone {
			t.Errorf("weight %d: got a policy that decides alone, expected that the others are asked", weight)
		}
		if got := f.place(t); got != want {
			t.Errorf("weight %d: got %s, expected %s", weight, got, want)
		}
	}
}

func TestSamplingIsTheUsersOwnWithoutAPolicy(t *testing.T) {
	f := newFixture(t)
	percentage := func() string {
		if found := f.framework.PercentageOfNodesToScore(); found != nil {
			return fmt.Sprint(*found)
		}
		return "the default"
	}
	if got := percentage(); got != "100" {
		t.Errorf("a policy ranks: got %s, expected 100", got)
	}
	f.policy.score = func(context.Context, []fwk.NodeInfo, []float32) error { panic("again") }
	for range 5 {
		f.place(t)
	}
	if got := percentage(); got != "the default" {
		t.Errorf("open circuit: got %s, expected the default", got)
	}
	f.plugin.models.replace(nil)
	if got := percentage(); got != "the default" {
		t.Errorf("no model: got %s, expected the default", got)
	}
	shadow := newFixture(t, func(a *Arguments) { a.Shadow = true })
	if found := shadow.framework.PercentageOfNodesToScore(); found != nil {
		t.Errorf("shadow: got %d, expected the default", *found)
	}
}

func TestAProfileWithoutOtherScoresIsRefused(t *testing.T) {
	f := newFixture(t)
	given := longshoreProfile(t)
	given.Plugins = given.Plugins.DeepCopy()
	given.Plugins.Score.Disabled = []config.Plugin{{Name: "*"}}
	inner := f.harness.framework(t, f.ctx, given, f.create())
	made := &Profiles{made: map[fwk.Handle]*Longshore{inner: f.plugin}}
	err := made.StandInFront(profile.Map{"longshore": inner})
	if err == nil || !strings.Contains(err.Error(), "leave upstream's score plugins enabled") {
		t.Errorf("got %v, expected an error that says what to do", err)
	}
}

func TestProfilesRemembersWhosePluginItMade(t *testing.T) {
	f := newFixture(t)
	made := &Profiles{}
	create := func(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return made.New(ctx, arguments, handle)
	}
	inner := f.harness.framework(t, f.ctx, longshoreProfile(t), create)
	stock := f.harness.framework(t, f.ctx, stockProfile(t), create)
	all := profile.Map{"longshore": inner, "default-scheduler": stock}
	if err := made.StandInFront(all); err != nil {
		t.Fatal(err)
	}
	if _, isRanked := all["longshore"].(*rankedProfile); !isRanked || all["default-scheduler"] != stock {
		t.Errorf("got %T and %T, expected only the first to be ranked", all["longshore"], all["default-scheduler"])
	}
}

// randomCase makes a cluster and a pod that between them give every score plugin of upstream's something to say.
func randomCase(random *rand.Rand) ([]*v1.Node, []*v1.Pod, *v1.Pod) {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	var nodes []*v1.Node
	for i := range 3 + random.IntN(15) {
		node := st.MakeNode().Name(fmt.Sprintf("node-%d", i)).
			Label(v1.LabelHostname, fmt.Sprintf("node-%d", i)).Label(v1.LabelTopologyZone, pick("a", "b", "c")).
			Label("disk", pick("ssd", "hdd")).
			Capacity(map[v1.ResourceName]string{
				"cpu": pick("4", "8", "16"), "memory": pick("8Gi", "16Gi", "64Gi"), "pods": "20",
			}).
			Images(map[string]int64{pick("web:1", "job:1"): int64(50+random.IntN(900)) * megabyte})
		if random.IntN(4) == 0 {
			node = node.Taints([]v1.Taint{{Key: "busy", Value: "1", Effect: v1.TaintEffectPreferNoSchedule}})
		}
		nodes = append(nodes, node.Obj())
	}
	var pods []*v1.Pod
	for i := range random.IntN(30) {
		pods = append(pods, randomPod(random, fmt.Sprintf("old-%d", i)).Node(nodes[random.IntN(len(nodes))].Name).Obj())
	}
	pod := randomPod(random, "new").SchedulerName("longshore")
	return nodes, pods, pod.Obj()
}

func randomPod(random *rand.Rand, name string) *st.PodWrapper {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	app := pick("web", "db", "job")
	pod := st.MakePod().Name(name).UID(name).Namespace("default").Label("app", app).Container(pick("web:1", "job:1")).
		Req(map[v1.ResourceName]string{"cpu": pick("100m", "500m", "1"), "memory": pick("128Mi", "1Gi", "2Gi")})
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	kinds := random.Perm(5)[:2]
	affinity := &v1.Affinity{}
	if slices.Contains(kinds, 0) {
		affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: int32(1 + random.IntN(100)),
			Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{pick("ssd", "hdd")}},
			}},
		}}}
	}
	terms := []v1.WeightedPodAffinityTerm{{
		Weight:          int32(1 + random.IntN(100)),
		PodAffinityTerm: v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: pick(v1.LabelHostname, v1.LabelTopologyZone)},
	}}
	if slices.Contains(kinds, 1) {
		affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
	}
	if slices.Contains(kinds, 2) {
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
	}
	pod.Spec.Affinity = affinity
	if slices.Contains(kinds, 3) {
		pod = pod.SpreadConstraint(1, v1.LabelTopologyZone, v1.ScheduleAnyway, selector, nil, nil, nil, nil)
	}
	return pod
}
