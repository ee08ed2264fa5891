package longshore

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

func newTestCircuit() (*circuit, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(noon)
	return newCircuit(clock, CircuitArguments{Failures: 5, OpenFor: metav1.Duration{Duration: time.Minute}}), clock
}

// TestCircuit counts how many of 1,000 pods ask a model that fails now and then, and how many of those fail.
func TestCircuit(t *testing.T) {
	for name, test := range map[string]struct {
		fails     func(asked int) bool
		wantAsked int
	}{
		"always":            {func(int) bool { return true }, 5},
		"never":             {func(int) bool { return false }, 1_000},
		"every second time": {func(asked int) bool { return asked%2 == 0 }, 9},
		"every tenth time":  {func(asked int) bool { return asked%10 == 0 }, 41},
		"once in fifty":     {func(asked int) bool { return asked%50 == 0 }, 1_000},
		"four in a row":     {func(asked int) bool { return asked < 4 }, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newTestCircuit()
			asked, failed := 0, 0
			for range 1_000 {
				if c.isOpen() {
					continue
				}
				if test.fails(asked) {
					c.failed()
					failed++
				} else {
					c.succeeded()
				}
				asked++
			}
			if asked != test.wantAsked {
				t.Errorf("got %d pods that asked the model, want %d", asked, test.wantAsked)
			}
			// With the default deadline of 20 ms, at most 5 × deadline + 1 s.
			if failed > 55 {
				t.Errorf("got %d failures, want at most 55", failed)
			}
		})
	}
}

func TestHalfOpenCircuit(t *testing.T) {
	c, clock := newTestCircuit()
	for range 5 {
		c.failed()
	}
	clock.SetTime(noon.Add(61 * time.Second))
	if c.isOpen() {
		t.Fatal("got an open circuit, want one that lets a pod try")
	}
	c.failed()
	if !c.isOpen() {
		t.Fatal("got a circuit that is not open, want that one failure opens it again")
	}
	clock.SetTime(noon.Add(123 * time.Second))
	c.succeeded()
	for range 4 {
		c.failed()
	}
	if c.isOpen() {
		t.Error("got an open circuit, want that a success has closed it for good")
	}
}
