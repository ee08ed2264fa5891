package longshore

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"longshore.dev/scheduler/inference"
)

// TestMembersOfAGroupAreRankedWithThoseBefore assumes pods in the snapshot itself, as upstream does for a group: nodes
// then change without a new generation.
func TestMembersOfAGroupAreRankedWithThoseBefore(t *testing.T) {
	f := newFixture(t)
	load, err := loadBundle(f.framework, withoutEnvelope())
	if err != nil {
		t.Fatal(err)
	}
	one, err := load("../../contract/bundles/deepsets-32")
	if err != nil {
		t.Fatal(err)
	}
	f.plugin.models.replace(one)
	nodes, pods := plainNodes(4)
	snapshot := internalcache.NewSnapshot(pods, nodes)
	f.world.SharedLister = snapshot
	infos := f.world.infos(t, nodes)

	before := ranked(t, f, one.scorer, infos)
	member := st.MakePod().Name("member").UID("member").Namespace("default").Node("node-2").
		Req(map[v1.ResourceName]string{"cpu": "6", "memory": "24Gi"}).Obj()
	info, err := framework.NewPodInfo(member)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.AssumePod(info); err != nil {
		t.Fatal(err)
	}
	f.plugin.Reserve(f.ctx, framework.NewCycleState(), member, "node-2")
	with := ranked(t, f, one.scorer, infos)
	if want := ranked(t, f, one.newScorer(), infos); !slices.Equal(with, want) {
		t.Errorf("with a member: got %v, expected %v as of a scorer that knows nothing yet", with, want)
	}
	if slices.Equal(with, before) {
		t.Error("got the same scores with a member and without, expected others")
	}
	if err := snapshot.ForgetPod(f.plugin.models.logger, member); err != nil {
		t.Fatal(err)
	}
	f.plugin.Unreserve(f.ctx, framework.NewCycleState(), member, "node-2")
	if got := ranked(t, f, one.scorer, infos); !slices.Equal(got, before) {
		t.Errorf("without it again: got %v, expected %v", got, before)
	}
}

func ranked(t *testing.T, f *fixture, asked scorer, infos []fwk.NodeInfo) []float32 {
	t.Helper()
	out := make([]float32, len(infos))
	if err := asked.Score(f.ctx, newPod("new"), infos, infos, inference.Readings{}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMembersOfAGroupGetDevicesOfTheirOwn reserves them one after the other on one snapshot, as upstream does once the
// whole group has its nodes.
func TestMembersOfAGroupGetDevicesOfTheirOwn(t *testing.T) {
	f := newFixture(t)
	f.world.show([]*v1.Node{gpuNode("n", notes{"longshore.dev/gpu-count": "2"})}, nil)
	var states []fwk.CycleState
	var pods []*v1.Pod
	for _, name := range []string{"a", "b", "c"} {
		pod := noted(st.MakePod().Name(name).UID(name).Namespace("default").Obj(), notes{"longshore.dev/gpu-milli": "600"})
		state := framework.NewCycleState()
		f.plugin.PreFilter(f.ctx, state, pod, nil)
		pods, states = append(pods, pod), append(states, state)
	}
	var codes []fwk.Code
	for i, pod := range pods {
		codes = append(codes, f.plugin.Reserve(f.ctx, states[i], pod, "n").Code())
	}
	if want := []fwk.Code{fwk.Success, fwk.Success, fwk.Unschedulable}; !slices.Equal(codes, want) {
		t.Errorf("got %v, expected %v", codes, want)
	}
	if first, second := f.plugin.held.Get("a"), f.plugin.held.Get("b"); first != "0" || second != "1" {
		t.Errorf("got the devices %q and %q, expected 0 and 1", first, second)
	}
}
