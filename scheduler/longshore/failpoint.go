package longshore

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// failpointVariable makes scoring slow, for tests of the deadline only: LONGSHORE_FAILPOINT=slow-scoring:18ms.
const (
	failpointVariable = "LONGSHORE_FAILPOINT"
	slowScoring       = "slow-scoring"
)

// scoringDelay returns how long every scoring is to take at least; 0 = as long as it takes.
func scoringDelay() (time.Duration, error) {
	text := os.Getenv(failpointVariable)
	name, length, _ := strings.Cut(text, ":")
	if name != slowScoring {
		return 0, nil // of other programs
	}
	delay, err := time.ParseDuration(length)
	if err != nil || delay < 0 {
		return 0, fmt.Errorf("%s: got %q, expected %s:DURATION, such as %s:18ms", failpointVariable, text, slowScoring, slowScoring)
	}
	return delay, nil
}

// wait sleeps until the delay or the context is over.
func wait(ctx context.Context, delay time.Duration) {
	if delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
