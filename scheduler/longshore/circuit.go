package longshore

import (
	"time"

	"k8s.io/utils/clock"
)

// successesPerFailure successes in a row make up for one failure. A model that is late for one pod in ten never fails
// twice in a row, and would else delay every tenth pod for ever.
const successesPerFailure = 20

// circuit leaves a failing model alone: after some failures it is open, and the model is not asked; when its time is
// over it is half open, and one pod tries the model. A success closes it, a failure opens it again.
type circuit struct {
	clock     clock.PassiveClock
	allowed   int
	openFor   time.Duration
	failures  int
	successes int // in a row
	opened    time.Time
}

func newCircuit(clock clock.PassiveClock, arguments CircuitArguments) *circuit {
	return &circuit{clock: clock, allowed: arguments.Failures, openFor: arguments.OpenFor.Duration}
}

// isOpen says whether the model is not to be asked.
func (c *circuit) isOpen() bool {
	return c.failures >= c.allowed && isWithin(c.opened, c.clock.Now(), c.openFor)
}

// reset forgets all failures: they were another model's.
func (c *circuit) reset() { c.failures, c.successes = 0, 0 }

func (c *circuit) succeeded() {
	if c.failures >= c.allowed { // it was half open
		c.reset()
		return
	}
	if c.successes++; c.successes >= successesPerFailure {
		c.failures, c.successes = max(c.failures-1, 0), 0
	}
}

func (c *circuit) failed() {
	c.failures, c.successes = min(c.failures+1, c.allowed), 0
	if c.failures == c.allowed {
		c.opened = c.clock.Now()
	}
}

// isWithin says whether less than a time has passed. A clock that was set back says nothing, and keeps nobody waiting.
func isWithin(since, now time.Time, limit time.Duration) bool {
	passed := now.Sub(since)
	return passed >= 0 && passed < limit
}
