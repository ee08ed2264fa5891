package longshore

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// takes makes a policy that needs that long for a ranking, and stops when its time is over.
func takes(delay time.Duration) func(context.Context, []fwk.NodeInfo, []float32) error {
	return func(ctx context.Context, nodes []fwk.NodeInfo, out []float32) error {
		wait(ctx, delay)
		return risingScores(ctx, nodes, out)
	}
}

func withDeadline(deadline time.Duration) change {
	return func(a *Arguments) { a.Deadline = metav1.Duration{Duration: deadline} }
}

// TestFirstRankingMayBeLate: what a model keeps of every node has to be made once, and that is no failure.
func TestFirstRankingMayBeLate(t *testing.T) {
	f := newFixture(t, withDeadline(50*time.Millisecond))
	f.policy.score = takes(100 * time.Millisecond)
	if got := f.place(t); got != "node-3" {
		t.Errorf("first: got %s, expected node-3, the policy's best", got)
	}
	if got := f.place(t); got != "node-0" || f.fallbacks(t, "deadline") != 1 {
		t.Errorf("second: got %s and %v fallbacks, expected node-0, stock's best, and 1", got, f.fallbacks(t, "deadline"))
	}
	f.plugin.models.replace(f.newPolicy("next"))
	if got := f.place(t); got != "node-3" {
		t.Errorf("first of the next model: got %s, expected node-3", got)
	}
}

// TestFirstRankingIsBounded: a model that never answers does not hold up its first pod either.
func TestFirstRankingIsBounded(t *testing.T) {
	f := newFixture(t, withDeadline(5*time.Millisecond))
	f.policy.score = takes(time.Minute)
	started := time.Now()
	if got := f.place(t); got != "node-0" {
		t.Errorf("got %s, expected node-0, stock's best", got)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("took %v, expected ten times the deadline of 5 ms", took)
	}
}

// TestTrialAfterAnOpenCircuitMayBeLate: while nobody asked the model, most nodes have changed.
func TestTrialAfterAnOpenCircuitMayBeLate(t *testing.T) {
	f := newFixture(t, withDeadline(50*time.Millisecond))
	f.place(t)
	f.policy.score = takes(time.Minute)
	for range 6 {
		f.place(t)
	}
	if f.fallbacks(t, "deadline") != 5 || f.fallbacks(t, circuitOpen) != 1 {
		t.Fatalf("got %v late and %v with an open circuit, expected 5 and 1", f.fallbacks(t, "deadline"), f.fallbacks(t, circuitOpen))
	}
	f.clock.SetTime(f.clock.Now().Add(31 * time.Second))
	f.policy.score = takes(100 * time.Millisecond)
	if got := f.place(t); got != "node-3" {
		t.Errorf("trial: got %s, expected node-3, the policy's best", got)
	}
	if got := f.place(t); got != "node-0" {
		t.Errorf("late again: got %s, expected node-0, stock's best", got)
	}
	if got := f.place(t); got != "node-0" || f.fallbacks(t, circuitOpen) != 2 {
		t.Errorf("got %s and %v with an open circuit, expected that the late trial had not closed it", got, f.fallbacks(t, circuitOpen))
	}
}

func TestColdDeadline(t *testing.T) {
	for deadline, want := range map[time.Duration]time.Duration{
		20 * time.Millisecond:  200 * time.Millisecond,
		500 * time.Millisecond: time.Second,
		2 * time.Second:        2 * time.Second,
	} {
		if got := coldDeadline(deadline); got != want {
			t.Errorf("%v: got %v, expected %v", deadline, got, want)
		}
	}
}
