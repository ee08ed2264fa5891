package inference

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// TestScoreLearnsOfAService: pods of one app belong to nobody until a service selects them; then they crowd nodes.
func TestScoreLearnsOfAService(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	contextObjects, err := NewContextObjects(factory)
	if err != nil {
		t.Fatal(err)
	}
	model := everyFeature(t)
	infos := busyCluster(10, 3)
	scorer := NewScorer(model, nil, Within(contextObjects))
	crowding := func() []float32 {
		scored(t, scorer, podNumber(1, 1), asInterfaces(infos), Readings{})
		found := make([]float32, len(infos))
		for i := range found {
			found[i] = scorer.others[crowdingColumn].at(i)
		}
		return found
	}
	if before := crowding(); slices.Max(before) != 0 {
		t.Errorf("without a service: got %v, want zeros", before)
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "app-1"}},
	}
	if err := factory.Core().V1().Services().Informer().GetIndexer().Add(service); err != nil {
		t.Fatal(err)
	}
	contextObjects.handler(nil).OnAdd(service, false)
	if after := crowding(); slices.Max(after) != 1 {
		t.Errorf("with a service: got %v, want 1 where it is most crowded", after)
	}
}

// TestAServiceOfOthersCountsNothingAgain: what a pod has to do with others stays counted when a service comes that does
// not select it.
func TestAServiceOfOthersCountsNothingAgain(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	contextObjects, err := NewContextObjects(factory)
	if err != nil {
		t.Fatal(err)
	}
	scorer := NewScorer(everyFeature(t), nil, Within(contextObjects))
	pod := podNumber(1, 1)
	arrives := func(app string) {
		service := &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
			Spec:       v1.ServiceSpec{Selector: map[string]string{"app": app}},
		}
		if err := factory.Core().V1().Services().Informer().GetIndexer().Add(service); err != nil {
			t.Fatal(err)
		}
		contextObjects.handler(nil).OnAdd(service, false)
	}
	arrives("app-1")
	scored(t, scorer, pod, asInterfaces(busyCluster(10, 3)), Readings{})
	before := scorer.relationsOf(pod)
	arrives("another")
	if scorer.relationsOf(pod) != before {
		t.Error("a service that does not select the pod: got new relations, expected those from before")
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app-1"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "app-2"}},
	}
	if err := factory.Core().V1().Services().Informer().GetIndexer().Update(service); err != nil {
		t.Fatal(err)
	}
	contextObjects.handler(func(any, any) bool { return false }).OnUpdate(nil, service)
	if scorer.relationsOf(pod) == before {
		t.Error("its own service selects others now: got the relations from before, expected new ones")
	}
}

func TestContextObjectsPassOverAStatus(t *testing.T) {
	for name, isSame := range map[string]bool{"status": true, "selector": false} {
		t.Run(name, func(t *testing.T) {
			contextObjects := &ContextObjects{}
			contextObjects.handler(func(any, any) bool { return isSame }).OnUpdate(nil, nil)
			if got := contextObjects.now() == 0; got != isSame {
				t.Errorf("got version %d", contextObjects.now())
			}
		})
	}
}
