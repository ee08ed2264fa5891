package main

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	kjson "sigs.k8s.io/json"
)

const leakCases = 501

// TestNothingLeaksFromCaseToCase: a framework that has answered hundreds of cases answers as one that is new.
func TestNothingLeaksFromCaseToCase(t *testing.T) {
	lines := randomLines(t, leakCases)
	used := newTestEvaluator(t)
	alone := make([][]byte, len(lines))
	for i, line := range lines {
		alone[i] = mustAnswer(t, newTestEvaluator(t), line)
		if got := mustAnswer(t, used, line); !bytes.Equal(got, alone[i]) {
			t.Fatalf("case %d after %d others:\ngot      %sexpected %s", i, i, got, alone[i])
		}
	}
	for i := range slices.Backward(lines) {
		if got := mustAnswer(t, used, lines[i]); !bytes.Equal(got, alone[i]) {
			t.Fatalf("case %d after %d others:\ngot      %sexpected %s", i, 2*len(lines)-1-i, got, alone[i])
		}
	}
}

// TestRandomCasesReachThePlugins keeps the test above honest: cases that skip a plugin cannot find its leaks.
func TestRandomCasesReachThePlugins(t *testing.T) {
	e := newTestEvaluator(t)
	rejecting, scoring := map[string]int{}, map[string]int{}
	for _, line := range randomLines(t, leakCases) {
		got := ask(t, e, line)
		if got.Error != nil {
			t.Fatalf("case %s: %s", got.ID, *got.Error)
		}
		for _, why := range got.Nodes {
			if why != nil {
				rejecting[why.Plugin]++
			}
		}
		for name := range got.Scores {
			scoring[name]++
		}
	}
	for _, name := range []string{"TaintToleration", "NodeResourcesFit", "VolumeRestrictions", "VolumeZone", "InterPodAffinity"} {
		if rejecting[name] < 10 {
			t.Errorf("%s rejected %d nodes, expected 10 or more of %v", name, rejecting[name], rejecting)
		}
	}
	for _, name := range []string{"PodTopologySpread", "InterPodAffinity", "TaintToleration", "ImageLocality"} {
		if scoring[name] < 10 {
			t.Errorf("%s scored %d cases, expected 10 or more of %v", name, scoring[name], scoring)
		}
	}
}

// TestDecodersAgree: the fast decoder reads what the API server's decoder reads.
func TestDecodersAgree(t *testing.T) {
	for _, line := range randomLines(t, 100) {
		var input caseInput
		if err := decodeStrictly(line, &input); err != nil {
			t.Fatal(err)
		}
		for _, raw := range append(input.Items, input.Pod) {
			apiVersion, kind, err := typeOf(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := kinds[apiVersion+" "+kind](raw)
			if err != nil {
				t.Fatal(err)
			}
			expected := reflect.New(reflect.TypeOf(got).Elem()).Interface()
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, expected); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, expected) {
				t.Fatalf("got %+v, expected %+v", got, expected)
			}
		}
	}
}

func mustAnswer(t testing.TB, e *evaluator, line []byte) []byte {
	t.Helper()
	out, err := e.answerLine(line)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func BenchmarkAnswerLine(b *testing.B) {
	lines := randomLines(b, 200)
	e := newTestEvaluator(b)
	for i := 0; b.Loop(); i++ {
		mustAnswer(b, e, lines[i%len(lines)])
	}
}
