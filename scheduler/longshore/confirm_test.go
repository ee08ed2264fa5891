package longshore

import (
	"errors"
	"io"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// bindCase is what the API server answers, and what is to come of it.
type bindCase struct {
	answers   []error // to the bindings, one after the other; then success
	boundTo   string  // what the API server has
	uid       string
	isGone    bool
	lateAfter int // bound from so many bindings on
	readFails int
	wantError bool
	wantSent  int
}

// TestBindSurely loses answers: the binding's first one, and what else a test says.
func TestBindSurely(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]bindCase{
		"taken":                            {wantSent: 1},
		"lost, and carried out":            {answers: []error{io.EOF}, boundTo: "n", wantSent: 1},
		"lost, and not carried out":        {answers: []error{io.EOF}, wantSent: 2},
		"lost, to another node":            {answers: []error{io.EOF}, boundTo: "m", wantError: true, wantSent: 1},
		"lost, and the pod is another":     {answers: []error{io.EOF}, uid: "other", wantError: true, wantSent: 1},
		"lost, and the pod is gone":        {answers: []error{io.EOF}, isGone: true, wantError: true, wantSent: 1},
		"lost, and nobody to ask at first": {answers: []error{io.EOF}, boundTo: "n", readFails: 2, wantSent: 1},
		"a no":                             {answers: []error{apierrors.NewConflict(pods, "p", nil)}, wantError: true, wantSent: 1},
		"lost, not carried out, then a no": {answers: []error{io.EOF, apierrors.NewConflict(pods, "p", nil)}, wantError: true, wantSent: 2},
		"lost, and carried out late": {
			answers: []error{io.EOF, apierrors.NewConflict(pods, "p", nil)}, lateAfter: 2, wantSent: 2,
		},
		"an error inside of the API server": {answers: []error{apierrors.NewInternalError(errors.New("etcd"))}, boundTo: "n", wantSent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t, pods)
		})
	}
}

func (test bindCase) run(t *testing.T, pods schema.GroupResource) {
	f := newFixture(t)
	pod := newPod("p")
	sent, readFails := 0, test.readFails
	client := f.plugin.handle.ClientSet().(*fake.Clientset)
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if sent++; sent <= len(test.answers) {
			return true, nil, test.answers[sent-1]
		}
		return true, nil, nil
	})
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if readFails--; readFails >= 0 {
			return true, nil, io.EOF
		}
		if test.isGone {
			return true, nil, apierrors.NewNotFound(pods, "p")
		}
		found := pod.DeepCopy()
		found.Spec.NodeName = test.boundTo
		if test.lateAfter > 0 && sent >= test.lateAfter {
			found.Spec.NodeName = "n"
		}
		if test.uid != "" {
			found.UID = "other"
		}
		return true, found, nil
	})
	if status := f.plugin.Bind(f.ctx, framework.NewCycleState(), pod, "n"); status.IsSuccess() == test.wantError {
		t.Errorf("got %v, want an error: %v", status, test.wantError)
	}
	if sent != test.wantSent {
		t.Errorf("got %d bindings sent, want %d", sent, test.wantSent)
	}
}
