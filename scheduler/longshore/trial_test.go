package longshore

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"

	"longshore.dev/scheduler/inference"
)

// patience is that of tests which expect an answer.
const patience = 20 * time.Second

// process begins the trial of a bundle as a new process does, and returns what it is told.
func process(t *testing.T, sha256 string, folder string, also ...markStore) (*trials, *inference.Problem) {
	t.Helper()
	logger, _ := ktesting.NewTestContext(t)
	made := newTrials(folder, "longshore", logger)
	for _, store := range also {
		made.keepAlso(store)
	}
	return made, made.admit(sha256, patience)
}

func reasonOf(problem *inference.Problem) inference.Reason {
	if problem == nil {
		return ""
	}
	return problem.Reason
}

func TestABundleThatKillsTwiceIsLeftAlone(t *testing.T) {
	folder := t.TempDir()
	for number, want := range []inference.Reason{"", "", quarantined, quarantined} {
		if _, problem := process(t, "bad", folder); reasonOf(problem) != want { // and dies
			t.Fatalf("process %d: got %v, expected %q", number, problem, want)
		}
	}
	if _, problem := process(t, "good", folder); problem != nil {
		t.Errorf("another bundle: got %v, expected no problem", problem)
	}
}

func TestDeathsAfterTheTrialDoNotCount(t *testing.T) {
	folder := t.TempDir()
	for number := range 4 {
		made, problem := process(t, "fine", folder)
		if problem != nil {
			t.Fatalf("process %d: got %v, expected no problem", number, problem)
		}
		for range trialRankings {
			made.survived()
		}
		waitForMark(t, folder, func(found mark) bool { return !found.IsOpen })
	}
}

func waitForMark(t *testing.T, folder string, isSo func(mark) bool) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		found, err := markFile{filepath.Join(folder, "trial-longshore.json")}.read(t.Context())
		if err == nil && isSo(found) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("got %+v (%v)", found, err)
		}
	}
}

func TestAnOrderlyEndIsNoDeath(t *testing.T) {
	folder := t.TempDir()
	for number := range 4 {
		made, problem := process(t, "new", folder)
		if problem != nil {
			t.Fatalf("process %d: got %v, expected no problem", number, problem)
		}
		made.end(patience)
		if problem := made.admit("new", patience); problem != nil {
			t.Errorf("while it ends: got %v, expected no problem", problem)
		}
	}
}

func TestAnOrderlyEndKeepsTheDeathsBefore(t *testing.T) {
	folder := t.TempDir()
	process(t, "bad", folder)
	made, _ := process(t, "bad", folder)
	made.end(patience)
	process(t, "bad", folder)
	if _, problem := process(t, "bad", folder); reasonOf(problem) != quarantined {
		t.Errorf("got %v, expected %s after two deaths", problem, quarantined)
	}
}

func leaseStore(client *fake.Clientset) markLease {
	return markLease{client, Lease{"longshore-system", "longshore-scheduler"}, "longshore"}
}

func withLease() *fake.Clientset {
	return fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "longshore-system", Name: "longshore-scheduler", Annotations: map[string]string{"mine": "stays"},
	}})
}

func TestTheLeaseTellsOtherReplicas(t *testing.T) {
	client := withLease()
	for number, want := range []inference.Reason{"", "", quarantined} {
		if _, problem := process(t, "bad", "", leaseStore(client)); reasonOf(problem) != want {
			t.Fatalf("replica %d: got %v, expected %q", number, problem, want)
		}
	}
	found, err := client.CoordinationV1().Leases("longshore-system").Get(t.Context(), "longshore-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var noted mark
	if err := json.Unmarshal([]byte(found.Annotations[markKey+"longshore"]), &noted); err != nil || noted.Deaths != 2 || noted.IsOpen {
		t.Errorf("got %v (%v), expected two deaths", found.Annotations, err)
	}
	if found.Annotations["mine"] != "stays" {
		t.Errorf("got %v, expected that others' annotations stay", found.Annotations)
	}
}

func TestARenewalOfTheLeaseIsNotOverwritten(t *testing.T) {
	client, numUpdates := withLease(), 0
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		numUpdates++
		if numUpdates > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "longshore-scheduler", errors.New("renewed"))
	})
	if err := leaseStore(client).write(t.Context(), mark{SHA256: "new", IsOpen: true}); err != nil {
		t.Fatal(err)
	}
	if found, err := leaseStore(client).read(t.Context()); found.SHA256 != "new" || err != nil || numUpdates != 2 {
		t.Errorf("got %+v (%v) after %d updates, expected the mark after 2", found, err, numUpdates)
	}
}

// hanging is a store that does not answer.
type hanging struct{}

func (hanging) read(ctx context.Context) (mark, error)  { <-ctx.Done(); return mark{}, ctx.Err() }
func (hanging) write(ctx context.Context, _ mark) error { <-ctx.Done(); return ctx.Err() }

func TestAStoreThatHangsHoldsUpNobody(t *testing.T) {
	logger, _ := ktesting.NewTestContext(t)
	made := newTrials(t.TempDir(), "longshore", logger)
	made.keepAlso(hanging{})
	started := time.Now()
	if problem := made.admit("new", time.Millisecond); reasonOf(problem) != onTrial {
		t.Errorf("got %v, expected %s for the first pods", problem, onTrial)
	}
	if took := time.Since(started); took > time.Second {
		t.Errorf("took %v, expected a millisecond", took)
	}
	if problem := made.admit("new", patience); problem != nil {
		t.Errorf("later: got %v, expected that the policy ranks without that mark", problem)
	}
}

func TestWithoutAnyStoreNothingIsTried(t *testing.T) {
	logger, _ := ktesting.NewTestContext(t)
	made := newTrials("", "longshore", logger)
	if problem := made.admit("new", 0); problem != nil {
		t.Errorf("got %v, expected no problem", problem)
	}
	made.survived()
	made.end(time.Second)
}

func TestAMarkThatCannotBeReadIsNoReasonNotToRank(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "trial-longshore.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problem := process(t, "new", folder); problem != nil {
		t.Errorf("got %v, expected no problem", problem)
	}
}

func TestAQuarantinedBundleIsTakenBack(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		process(t, "test", folder) // the fixture's bundle
	}
	f := newFixture(t, func(a *Arguments) { a.StateFolder = folder })
	for range 3 {
		if got := f.place(t); got != "node-0" {
			t.Errorf("got %s, expected node-0, stock's best", got)
		}
	}
	if f.policy.calls != 0 || f.fallbacks(t, quarantined) != 3 {
		t.Errorf("got %d rankings and %v fallbacks, expected none and 3", f.policy.calls, f.fallbacks(t, quarantined))
	}
	if event := <-f.events.Events; !strings.Contains(event, "kube-scheduler died 2 times") {
		t.Errorf("got the event %q, expected why", event)
	}
}

func TestAPolicyThatIsTooLargeForTheClusterIsNotAsked(t *testing.T) {
	f := newFixture(t)
	current := f.plugin.models.current.Load()
	current.checkSize = func(numNodes int) *inference.Problem {
		return (&inference.Model{}).CheckSize(numNodes, 3)
	}
	for range 10 {
		if got := f.place(t); got != "node-0" {
			t.Errorf("got %s, expected node-0, stock's best", got)
		}
	}
	if f.policy.calls != 0 || f.fallbacks(t, inference.TooLarge) != 10 {
		t.Errorf("got %d rankings and %v fallbacks, expected none and 10: the circuit stays closed", f.policy.calls, f.fallbacks(t, inference.TooLarge))
	}
}

func TestABundleThatIsTooLargeIsRefusedAtLoad(t *testing.T) {
	f := newFixture(t)
	arguments := withoutEnvelope()
	arguments.Deadline = metav1.Duration{Duration: time.Nanosecond}
	nodes, _ := plainNodes(2)
	for _, node := range nodes {
		if err := f.factory.Core().V1().Nodes().Informer().GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	load, err := loadBundle(f.framework, arguments)
	if err != nil {
		t.Fatal(err)
	}
	_, err = load("../../contract/bundles/deepsets-32")
	if refusalReason(err) != inference.TooLarge || err == nil {
		t.Errorf("got %v, expected %s", err, inference.TooLarge)
	}
}
