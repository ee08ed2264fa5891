package inference

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// busyCluster returns nodes in three zones, each with some pods.
func busyCluster(numNodes, podsPerNode int) []*framework.NodeInfo {
	infos := make([]*framework.NodeInfo, numNodes)
	for i := range infos {
		name := fmt.Sprintf("node-%05d", i)
		node := st.MakeNode().Name(name).Label("kubernetes.io/hostname", name).Label(zoneLabel, fmt.Sprintf("zone-%d", i%3)).
			Capacity(map[v1.ResourceName]string{"cpu": "64", "memory": "256Gi", "pods": "110"}).Obj()
		infos[i] = framework.NewNodeInfo()
		infos[i].SetNode(node)
		for j := range (i * 7919) % (2*podsPerNode + 1) {
			infos[i].AddPod(podNumber(i*1000+j, j%4))
		}
	}
	return infos
}

// podNumber returns one of several kinds of pods.
func podNumber(number, kind int) *v1.Pod {
	return st.MakePod().Name(fmt.Sprintf("pod-%d", number)).Namespace("default").UID(fmt.Sprintf("uid-%d", number)).
		Label("app", fmt.Sprintf("app-%d", kind)).
		Req(map[v1.ResourceName]string{
			"cpu": resource.NewMilliQuantity(int64(100*(kind+1)), resource.DecimalSI).String(), "memory": "256Mi",
		}).Obj()
}

func asInterfaces(infos []*framework.NodeInfo) []fwk.NodeInfo {
	found := make([]fwk.NodeInfo, len(infos))
	for i, info := range infos {
		found[i] = info
	}
	return found
}

func loadModel(t testing.TB, folder ...string) *Model {
	t.Helper()
	model, err := Load(filepath.Join(folder...))
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// BenchmarkScore times a decision after each of which the pod is placed: one node differs from call to call.
func BenchmarkScore(b *testing.B) {
	metrics.Register()
	for _, name := range []string{"deepsets", "deepsets-32", "gnn", "kinds", "kinds-load", "linear"} {
		for _, numNodes := range []int{100, 1000, 5000} {
			for _, workers := range []int{1, 2, 16} {
				b.Run(fmt.Sprintf("%s/nodes=%d/workers=%d", name, numNodes, workers), func(b *testing.B) {
					benchmarkScore(b, loadModel(b, contractFolder, "bundles", name), numNodes, workers)
				})
			}
		}
	}
}

func benchmarkScore(b *testing.B, model *Model, numNodes, workers int) {
	infos := busyCluster(numNodes, 5)
	all, out := asInterfaces(infos), make([]float32, numNodes)
	var parallelizer fwk.Parallelizer
	if workers > 1 {
		parallelizer = parallelize.NewParallelizer(workers)
	}
	scorer := NewScorer(model, parallelizer, MaxOutside(1))
	pods := make([]*v1.Pod, 8)
	for kind := range pods {
		pods[kind] = podNumber(1_000_000+kind, kind)
	}
	times := make([]time.Duration, 0, b.N+1)
	number := 0
	decide := func() {
		pod := pods[number%len(pods)]
		started := time.Now()
		if err := scorer.Score(context.Background(), pod, all, all, Readings{}, out); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(started))
		info := infos[number*7919%numNodes]
		info.AddPod(pod)
		number++
		if number > 50 {
			_ = info.RemovePod(klogger(b), pod)
		}
	}
	for range 2 * len(pods) {
		decide()
	}
	times = times[:0]
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		decide()
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-us")
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/float64(numNodes), "ns/node")
	b.ReportMetric(float64(times[len(times)/20].Nanoseconds())/float64(numNodes), "quiet-ns/node")
}
