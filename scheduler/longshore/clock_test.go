package longshore

import (
	"testing"
	"time"
)

// TestClocksThatJump sets the clock an hour ahead and back again while something waits for its time: it never has to wait
// longer than it would have.
func TestClocksThatJump(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run("the circuit, "+name, func(t *testing.T) {
			circuit, clock := newTestCircuit()
			for range circuit.allowed {
				circuit.failed()
			}
			clock.SetTime(clock.Now().Add(jump))
			clock.Step(circuit.openFor)
			if circuit.isOpen() {
				t.Errorf("got an open circuit %v after the jump, expected that the model is tried", circuit.openFor)
			}
		})
		t.Run("events, "+name, func(t *testing.T) {
			f := newFixture(t)
			f.plugin.announcer.announce(newPod("p"), EventFallback, "first")
			f.said()
			f.clock.SetTime(f.clock.Now().Add(jump))
			f.clock.Step(f.plugin.announcer.interval)
			if f.plugin.announcer.announce(newPod("p"), EventFallback, "second"); f.said() == "" {
				t.Errorf("got no event %v after the jump, expected one", f.plugin.announcer.interval)
			}
		})
		t.Run("readings, "+name, func(t *testing.T) {
			telemetry, clock := newTelemetry(t, `{"time": "2026-03-01T12:00:00Z", "nodes": {"n": {"latency_ms": 7}}}`)
			telemetry.poll()
			right := clock.Now()
			clock.SetTime(right.Add(jump))
			if telemetry.poll(); !telemetry.areStale(clock.Now()) {
				t.Error("got fresh readings at a wrong time, expected that nobody relies on them")
			}
			clock.SetTime(right)
			if telemetry.poll(); telemetry.areStale(clock.Now()) {
				t.Error("got stale readings when the clock is right again, expected that they count")
			}
		})
		t.Run("watches and bindings, "+name, func(t *testing.T) {
			f := newFixture(t)
			h := f.plugin.health
			defer h.sending("p")()
			f.clock.SetTime(f.clock.Now().Add(jump))
			if _, oldest := h.waiting(f.clock.Now()); oldest < 0 {
				t.Errorf("got a binding of %v, expected no time below 0", oldest)
			}
		})
	}
}
