package longshore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func named(names ...string) []decision {
	var decisions []decision
	for _, name := range names {
		decisions = append(decisions, decision{PodName: name})
	}
	return decisions
}

func podNames(decisions []decision) string {
	var names []string
	for _, one := range decisions {
		names = append(names, one.PodName)
	}
	return strings.Join(names, " ")
}

func TestRingDropsItsOldest(t *testing.T) {
	r := newRing(3)
	for i, one := range named("a", "b", "c", "d") {
		if got, want := r.add(one), i < 3; got != want {
			t.Errorf("adding %s: got %v, expected %v", one.PodName, got, want)
		}
	}
	got, _ := r.oldest(10)
	if podNames(got) != "b c d" {
		t.Errorf("got %s, expected b c d", podNames(got))
	}
}

func TestRingKeepsWhatTheLogDidNotTake(t *testing.T) {
	r := newRing(5)
	for _, one := range named("a", "b", "c") {
		r.add(one)
	}
	batch, dropped := r.oldest(2)
	r.add(decision{PodName: "d"})
	r.done(len(batch), dropped)
	got, _ := r.oldest(10)
	if podNames(got) != "c d" {
		t.Errorf("got %s, expected c d", podNames(got))
	}
}

func TestRingCountsTheDroppedOfABatchOnce(t *testing.T) {
	r := newRing(3)
	for _, one := range named("a", "b", "c") {
		r.add(one)
	}
	batch, dropped := r.oldest(2) // a and b are on their way
	r.add(decision{PodName: "d"}) // drops a
	r.done(len(batch), dropped)   // so that only b is left of the batch
	got, _ := r.oldest(10)
	if podNames(got) != "c d" {
		t.Errorf("got %s, expected c d", podNames(got))
	}
}

func TestBestKeepsTheFew(t *testing.T) {
	var found []candidate
	for i, score := range []float32{1, 9, 3, 9, 7, 8, 2, 6} {
		found = best(found, fmt.Sprintf("node-%d", i), score)
	}
	if want := "[{node-1 9} {node-3 9} {node-5 8} {node-4 7} {node-7 6}]"; fmt.Sprint(found) != want {
		t.Errorf("got %v, expected %v", found, want)
	}
}

func TestDecisionIsLogged(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.DecisionLog = t.TempDir() + "/log" })
	placeAndBind := func() {
		state := framework.NewCycleState()
		f.plugin.recordBinding(state, f.placeIn(t, state))
	}
	placeAndBind()
	f.plugin.models.replace(nil)
	placeAndBind()
	logged, _ := f.plugin.ring.oldest(10)
	if len(logged) != 2 {
		t.Fatalf("got %d decisions, expected 2", len(logged))
	}
	var learned, fallback map[string]any
	for i, into := range []*map[string]any{&learned, &fallback} {
		text, err := json.Marshal(logged[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	for field, want := range map[string]any{
		"node": "node-3", "runner_up": "node-2", "score": 3.0, "policy": "scripted", "mode": "plugin", "num_nodes": 4.0,
		"num_feasible": 4.0, "pod_name": "new", "pod_namespace": "default", "scheduler_name": "longshore",
		"fallback_reason": nil, "time_us": 1772366400000000.0,
	} {
		if learned[field] != want {
			t.Errorf("%s: got %v, expected %v", field, learned[field], want)
		}
	}
	if got := fmt.Sprint(learned["candidates"]); got != "[[node-3 3] [node-2 2] [node-1 1] [node-0 0]]" {
		t.Errorf("got the candidates %s", got)
	}
	if fallback["node"] != "node-0" || fallback["policy"] != stockPolicy || !strings.HasPrefix(fallback["fallback_reason"].(string), "model-missing: ") {
		t.Errorf("got %v, expected stock's choice and the reason", fallback)
	}
}

// TestTheLogNamesTheNodeThatAPodReallyGoesTo: an extender, say, has chosen another one than the policy.
func TestTheLogNamesTheNodeThatAPodReallyGoesTo(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.DecisionLog = t.TempDir() + "/log" })
	state := framework.NewCycleState()
	f.placeIn(t, state)
	if logged, _ := f.plugin.ring.oldest(10); len(logged) != 0 {
		t.Fatalf("got %d decisions before the pod has a node, expected none", len(logged))
	}
	f.plugin.recordBinding(state, "node-1")
	logged, _ := f.plugin.ring.oldest(10)
	if len(logged) != 1 || *logged[0].Node != "node-1" || *logged[0].Score != 1 || logged[0].Candidates[0].node != "node-3" {
		t.Errorf("got %+v, expected node-1 with its score, and the policy's own choice among the candidates", logged)
	}
}

// TestDecisionHasTheFieldsOfTheStore reads the schema's one definition.
func TestDecisionHasTheFieldsOfTheStore(t *testing.T) {
	source, err := os.ReadFile("../../src/longshore/core/words/decision.py")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ = bytes.Cut(source, []byte("\nclass Decision("))
	source, _, _ = bytes.Cut(source, []byte("\nclass "))
	known := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^    (\w+): `).FindAllStringSubmatch(string(source), -1) {
		known[found[1]] = true
	}
	fields := reflect.TypeFor[decision]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Tag.Get("json"); !known[name] {
			t.Errorf("%s is no field of Decision", name)
		}
	}
}
