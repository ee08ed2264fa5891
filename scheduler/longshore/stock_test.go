package longshore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

const megabyte = 1 << 20

// TestFallbackChoosesAsStock runs random pods through upstream's default profile and through ours with no model.
func TestFallbackChoosesAsStock(t *testing.T) {
	f := newFixture(t)
	f.plugin.models.replace(nil)
	configuration, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	stock := f.harness.framework(t, f.ctx, configuration.Profiles[0], f.create())
	services := f.factory.Core().V1().Services().Informer().GetIndexer()
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	service.Spec.Selector = map[string]string{"app": "web"}
	if err := services.Add(service); err != nil {
		t.Fatal(err)
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := f.factory.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace); err != nil {
		t.Fatal(err)
	}

	random := rand.New(rand.NewPCG(1, 2))
	compared, decisive := 0, 0
	for attempt := 0; compared < 1_000 && attempt < 3_000; attempt++ {
		nodes, pods, pod := randomCase(random)
		f.world.show(nodes, pods)
		wanted := schedule(t, f.ctx, stock, f.world, nodes, pod)
		got := schedule(t, f.ctx, f.framework, f.world, nodes, pod)
		if len(wanted) < 2 {
			continue
		}
		compared++
		chosen := argmax(got)
		if len(chosen) != 1 {
			t.Fatalf("case %d: got %d nodes with the best score, expected 1: %v", attempt, len(chosen), got)
		}
		for name := range chosen {
			if best := argmax(wanted); !best[name] {
				t.Fatalf("case %d: got %s, expected one of %v (stock %v, ours %v)", attempt, name, best, wanted, got)
			} else if len(best) < len(wanted) {
				decisive++
			}
		}
	}
	if compared != 1_000 || decisive < 500 {
		t.Fatalf("got %d cases of which %d decide anything, expected 1000 and 500 or more", compared, decisive)
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

func TestStockPluginConfig(t *testing.T) {
	const packing = `[{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated",
		"resources": [{"name": "cpu", "weight": 1}]}}}, {"name": "NodeResourcesBalancedAllocation", "args": {"resources": [{"name": "cpu", "weight": 1}]}}]`
	for given, want := range map[string]string{"[]": "node-0", packing: "node-3"} {
		f := newFixture(t, func(a *Arguments) { a.StockPluginConfig = []byte(given) })
		f.plugin.models.replace(nil)
		if got := f.place(t); got != want {
			t.Errorf("%s: got %s, expected %s", given, got, want)
		}
	}
}

func TestStockHasTheDefaultProfilesScorePlugins(t *testing.T) {
	f := newFixture(t)
	configuration, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	default_ := f.harness.framework(t, f.ctx, configuration.Profiles[0], f.create())
	want := map[string]int64{}
	for _, plugin := range default_.ListPlugins().Score.Enabled {
		want[plugin.Name] = int64(plugin.Weight)
	}
	got := map[string]int64{}
	for _, plugin := range f.plugin.stock.plugins {
		got[plugin.Name()] = plugin.weight
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
		t.Errorf("got %v, expected %v", got, want)
	}
}
