package longshore

import (
	"time"

	"k8s.io/utils/clock"
)

// circuit leaves a failing model alone: after some failures in a row it is open, and the model is not asked; when its
// time is over it is half open, and one pod tries the model. A success closes it, a failure opens it again.
type circuit struct {
	clock    clock.PassiveClock
	allowed  int
	openFor  time.Duration
	failures int
	until    time.Time
}

func newCircuit(clock clock.PassiveClock, arguments CircuitArguments) *circuit {
	return &circuit{clock: clock, allowed: arguments.Failures, openFor: arguments.OpenFor.Duration}
}

// isOpen says whether the model is not to be asked.
func (c *circuit) isOpen() bool {
	return c.failures >= c.allowed && c.clock.Now().Before(c.until)
}

func (c *circuit) succeeded() { c.failures = 0 }

func (c *circuit) failed() {
	c.failures++
	if c.failures >= c.allowed {
		c.until = c.clock.Now().Add(c.openFor)
	}
}
