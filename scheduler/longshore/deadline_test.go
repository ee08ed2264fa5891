package longshore

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestHurriedEndsByTheClock(t *testing.T) {
	ctx := &deadlineContext{Context: context.Background(), until: time.Now().Add(time.Hour)}
	if err := ctx.Err(); err != nil {
		t.Errorf("an hour before: got %v, expected none", err)
	}
	ctx.until = time.Now()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("later: got %v, expected %v", err, context.DeadlineExceeded)
	}
	if ctx.timed != nil {
		t.Error("there is a timer that nobody waits for")
	}
}

func TestHurriedEndsForThoseWhoWait(t *testing.T) {
	ctx := &deadlineContext{Context: context.Background(), until: time.Now().Add(5 * time.Millisecond)}
	defer ctx.stop()
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-child.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("still waiting")
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("got %v, expected %v", ctx.Err(), context.DeadlineExceeded)
	}
}

func TestHurriedEndsWithItsParent(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	ctx := &deadlineContext{Context: parent, until: time.Now().Add(time.Hour)}
	defer ctx.stop()
	cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("got %v, expected %v", ctx.Err(), context.Canceled)
	}
}
