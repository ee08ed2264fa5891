package longshore

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

func TestReserveAndBind(t *testing.T) {
	f := newFixture(t)
	var assumed []*v1.Pod
	node := gpuNode("n", notes{"longshore.dev/gpu-count": "2"})
	given := func(name string) (devices string) {
		pod := noted(st.MakePod().Name(name).UID(name).Namespace("default").Obj(), notes{
			"longshore.dev/gpu-milli": "600", "longshore.dev/gpu-devices": "1", // the latter is not the tenant's to say
		})
		f.world.show([]*v1.Node{node}, assumed)
		state := framework.NewCycleState()
		f.plugin.PreFilter(f.ctx, state, pod, nil)
		info := f.world.infos(t, []*v1.Node{node})[0]
		if status := f.plugin.Filter(f.ctx, state, pod, info); !status.IsSuccess() {
			return status.Message()
		}
		if status := f.plugin.Reserve(f.ctx, state, pod, "n"); !status.IsSuccess() {
			t.Fatal(status)
		}
		placed := pod.DeepCopy()
		placed.Spec.NodeName = "n"
		assumed = append(assumed, placed)
		return f.plugin.held.Get(pod.UID)
	}
	if first, second, third := given("a"), given("b"), given("c"); first != "0" || second != "1" || third != noDevices {
		t.Errorf("got %q, %q and %q, expected devices 0 and 1, and no room for the third", first, second, third)
	}
	f.plugin.Unreserve(f.ctx, nil, assumed[0], "n")
	if f.plugin.held.Get("a") != "" || f.plugin.held.Get("b") != "1" {
		t.Error("Unreserve takes back what its pod was given, and nothing else")
	}
	client := f.plugin.handle.ClientSet().(*fake.Clientset)
	if err := client.Tracker().Add(assumed[1]); err != nil {
		t.Fatal(err)
	}
	if status := f.plugin.Bind(f.ctx, framework.NewCycleState(), assumed[1], "n"); !status.IsSuccess() {
		t.Error(status)
	}
	actions := client.Actions()
	made, ok := actions[len(actions)-1].(clienttesting.CreateAction).GetObject().(*v1.Binding)
	if !ok || made.Annotations["longshore.dev/gpu-devices"] != "1" || made.Target.Name != "n" || made.UID != "b" {
		t.Errorf("got %v, expected a binding that names the device", made)
	}
}
