package longshore

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type silentInformer struct{ version string }

func (i *silentInformer) LastSyncResourceVersion() string { return i.version }

// TestWatchesAge has one watch stand still while the other one gets bookmarks.
func TestWatchesAge(t *testing.T) {
	f := newFixture(t)
	pods, nodes := &silentInformer{"1"}, &silentInformer{"1"}
	h := f.plugin.health
	h.watches = []*watch{{resource: "nodes", informer: nodes}, {resource: "pods", informer: pods}}
	h.poll()
	f.clock.Step(50 * time.Second)
	nodes.version = "2"
	h.poll()
	f.clock.Step(10 * time.Second)
	h.poll()
	want := `
		# HELP longshore_watch_age_seconds [ALPHA] Seconds since the watch of a resource said something.
		# TYPE longshore_watch_age_seconds gauge
		longshore_watch_age_seconds{profile="longshore",resource="nodes"} 10
		longshore_watch_age_seconds{profile="longshore",resource="pods"} 60
	`
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(want), "longshore_watch_age_seconds"); err != nil {
		t.Error(err)
	}
}

// TestBindingsInFlight looks at the metrics while the API server has a binding, and after its answer.
func TestBindingsInFlight(t *testing.T) {
	f := newFixture(t)
	shows := func(count, age string) {
		t.Helper()
		f.plugin.health.poll()
		want := `
			# HELP longshore_binds_in_flight [ALPHA] Bindings that were sent and not answered.
			# TYPE longshore_binds_in_flight gauge
			longshore_binds_in_flight{profile="longshore"} ` + count + `
			# HELP longshore_oldest_bind_seconds [ALPHA] Seconds since the oldest binding without an answer was sent.
			# TYPE longshore_oldest_bind_seconds gauge
			longshore_oldest_bind_seconds{profile="longshore"} ` + age + `
		`
		names := []string{"longshore_binds_in_flight", "longshore_oldest_bind_seconds"}
		if err := testutil.GatherAndCompare(f.registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	}
	client := f.plugin.handle.ClientSet().(*fake.Clientset)
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		f.clock.Step(7 * time.Second)
		shows("1", "7")
		return true, nil, nil
	})
	if status := f.plugin.Bind(f.ctx, framework.NewCycleState(), newPod("p"), "n"); !status.IsSuccess() {
		t.Fatal(status)
	}
	shows("0", "0")
}
