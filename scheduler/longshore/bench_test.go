package longshore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// manyNodes returns nodes with a few pods each.
func manyNodes(count int) ([]*v1.Node, []*v1.Pod) {
	nodes := make([]*v1.Node, 0, count)
	var pods []*v1.Pod
	for i := range count {
		name := fmt.Sprintf("node-%04d", i)
		nodes = append(nodes, st.MakeNode().Name(name).Label(v1.LabelHostname, name).Label(v1.LabelTopologyZone, fmt.Sprint(i%3)).
			Capacity(map[v1.ResourceName]string{"cpu": "64", "memory": "256Gi", "pods": "110"}).Obj())
		for j := range i % 5 {
			pods = append(pods, st.MakePod().Name(fmt.Sprintf("old-%d-%d", i, j)).Namespace("default").Node(name).
				Req(map[v1.ResourceName]string{"cpu": "2", "memory": "8Gi"}).Obj())
		}
	}
	return nodes, pods
}

// BenchmarkPreScore ranks pods of one class with a bundle, one node changing in between, as placing them does; `cold`
// is the first pod, for which nothing is known yet. `stock` is what falling back costs.
func BenchmarkPreScore(b *testing.B) {
	for _, count := range []int{1_000, 5_000} {
		for _, isFallback := range []bool{false, true} {
			name := map[bool]string{false: "bundle", true: "stock"}[isFallback]
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) { benchmarkPreScore(b, count, isFallback) })
		}
	}
}

func benchmarkPreScore(b *testing.B, count int, isFallback bool) {
	f := newFixture(b)
	nodes, pods := manyNodes(count)
	f.world.show(nodes, pods)
	infos := f.world.infos(b, nodes)
	load, err := loadBundle(f.framework, withoutEnvelope())
	if err != nil {
		b.Fatal(err)
	}
	policy, err := load("../../contract/bundles/deepsets-32")
	if err != nil {
		b.Fatal(err)
	}
	f.plugin.models.replace(policy)
	if isFallback {
		f.plugin.models.replace(nil)
	}
	f.plugin.arguments.Deadline.Duration = time.Second
	times := make([]time.Duration, 0, 10_000)
	rank := func(pod *v1.Pod) {
		state := framework.NewCycleState()
		if _, status, _ := f.framework.RunPreFilterPlugins(f.ctx, state, pod); !status.IsSuccess() {
			b.Fatal(status.AsError())
		}
		started := time.Now()
		f.plugin.PreScore(f.ctx, state, pod, infos)
		times = append(times, time.Since(started))
	}
	rank(newPod("first"))
	cold := times[0]
	times = times[:0]
	i := 0
	for b.Loop() {
		i++
		pod := newPod("new")
		rank(pod)
		placed, err := framework.NewPodInfo(pod)
		if err != nil {
			b.Fatal(err)
		}
		infos[i%count].AddPodInfo(placed)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(cold.Nanoseconds())/1e3, "cold-us")
	if isFallback != (f.fallbacks(b, modelMissing) > 0) {
		b.Fatalf("got %v fallbacks", f.fallbacks(b, modelMissing))
	}
}
