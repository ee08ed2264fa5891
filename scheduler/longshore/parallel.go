package longshore

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
)

// panicError is a panic of a piece of parallel work, raised again where the work was asked for.
type panicError struct{ value any }

func (p panicError) Error() string { return fmt.Sprint(p.value) }

// recoveringParallelizer is the framework's parallelizer, with panics carried to the caller. A panic on a goroutine of
// the framework's ends the process, and no recover() of ours can be there.
type recoveringParallelizer struct{ fwk.Parallelizer }

// Until works as the framework's, and panics on the caller's goroutine if a piece panicked.
func (p recoveringParallelizer) Until(ctx context.Context, pieces int, work workqueue.DoWorkPieceFunc, operation string) {
	var first atomic.Pointer[panicError]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.Parallelizer.Until(ctx, pieces, func(piece int) {
		defer func() {
			if value := recover(); value != nil {
				first.CompareAndSwap(nil, &panicError{value})
				cancel()
			}
		}()
		work(piece)
	}, operation)
	if found := first.Load(); found != nil {
		panic(*found)
	}
}
