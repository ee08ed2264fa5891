package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestEveryThreadHasTheSliceThatWasAskedFor(t *testing.T) {
	if err := askForSlices(20 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	// A thread each, which the runtime has to start now.
	var started, done sync.WaitGroup
	end := make(chan struct{})
	for range 8 {
		started.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			started.Done()
			<-end
		}()
	}
	started.Wait()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		number, _ := strconv.Atoi(thread.Name())
		attributes, err := unix.SchedGetAttr(number, 0)
		if err != nil {
			continue // it has ended
		}
		// What an older kernel says of itself is 0: it does not know of slices.
		if attributes.Runtime != 0 && attributes.Runtime != uint64(20*time.Millisecond) {
			t.Errorf("thread %d has a slice of %v", number, time.Duration(attributes.Runtime))
		}
	}
	close(end)
	done.Wait()
}

func TestASliceThatTheKernelWouldCutIsRefused(t *testing.T) {
	for _, slice := range []time.Duration{-time.Second, time.Microsecond, time.Second} {
		command := newCommand()
		if err := command.ParseFlags([]string{"--cpu-slice", slice.String()}); err != nil {
			t.Fatal(err)
		}
		err := command.PreRunE(command, nil)
		if err == nil || !strings.Contains(err.Error(), "--cpu-slice") {
			t.Errorf("%v: got %v, expected a refusal that names the flag", slice, err)
		}
	}
}

func TestHelpNamesOurFlagBesideUpstreams(t *testing.T) {
	var told bytes.Buffer
	command := newCommand()
	command.SetOut(&told)
	if err := command.Help(); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--leader-elect ", "--cpu-slice duration"} {
		if !strings.Contains(told.String(), flag) {
			t.Errorf("the help does not name %q", flag)
		}
	}
}
