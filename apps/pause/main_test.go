package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestWaitGoesOnAfterAChildAndEndsWhenTold(t *testing.T) {
	signals := make(chan os.Signal, 3)
	for _, one := range []os.Signal{syscall.SIGCHLD, syscall.SIGCHLD, syscall.SIGTERM} {
		signals <- one
	}
	ended := 0
	wait(signals, func() { ended++ })
	if ended != 2 {
		t.Fatalf("got %d collections, want 2", ended)
	}
}

func TestCollectLeavesNoZombie(t *testing.T) {
	command := exec.Command("true")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for command.Process.Signal(syscall.Signal(0)) == nil {
		collect()
		if _, err := syscall.Wait4(command.Process.Pid, nil, syscall.WNOHANG, nil); err == syscall.ECHILD {
			return
		}
	}
}
