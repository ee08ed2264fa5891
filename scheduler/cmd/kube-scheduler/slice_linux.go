package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// shortestSlice and longestSlice are what Linux cuts a slice to.
const (
	shortestSlice = 100 * time.Microsecond
	longestSlice  = 100 * time.Millisecond
)

// schedNormal and schedBatch are the policies under which a slice can be asked for; real-time ones have none.
const (
	schedNormal = 0
	schedBatch  = 3
)

// askForSlices asks the kernel to let every thread of this process run so long before another process gets the core.
//
// Threads that come later have it from the one that starts them. Nobody needs a right for this, and the process gets no
// more of the processor than before, only in longer pieces. Linux before 6.12 takes the wish and does not follow it.
func askForSlices(slice time.Duration) error {
	asked := map[int]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		isNew := false
		for _, thread := range threads {
			number, err := strconv.Atoi(thread.Name())
			if err != nil || asked[number] {
				continue
			}
			asked[number], isNew = true, true
			if err := askForSlice(number, slice); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		// One that was started meanwhile by a thread that had not been asked for has the slice of before.
		if !isNew {
			return nil
		}
	}
}

func askForSlice(thread int, slice time.Duration) error {
	attributes, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		return err
	}
	if attributes.Policy != schedNormal && attributes.Policy != schedBatch {
		return nil
	}
	attributes.Runtime = uint64(slice.Nanoseconds())
	return unix.SchedSetAttr(thread, attributes, 0)
}
