package longshore

import (
	"context"
	"sync"
	"time"
)

// deadlineContext is a context that is over at a time, as that of context.WithDeadline, but has a timer only where somebody waits
// for it. A timer may wake a thread that sleeps until the next one, and that thread then takes the core from the very
// ranking whose time it was to limit.
type deadlineContext struct {
	context.Context
	until time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

// Deadline returns when the context is over.
func (h *deadlineContext) Deadline() (time.Time, bool) {
	if earlier, ok := h.Context.Deadline(); ok && earlier.Before(h.until) {
		return earlier, true
	}
	return h.until, true
}

// Err says whether it is over, by the clock.
func (h *deadlineContext) Err() error {
	if err := h.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(h.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// Done returns what is closed when it is over.
func (h *deadlineContext) Done() <-chan struct{} {
	h.once.Do(func() { h.timed, h.cancel = context.WithDeadline(h.Context, h.until) })
	return h.timed.Done()
}

// stop frees the timer, if there is one. Nobody may wait any more.
func (h *deadlineContext) stop() {
	if h.cancel != nil {
		h.cancel()
	}
}
