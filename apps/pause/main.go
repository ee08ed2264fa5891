// Command pause holds a pod's namespaces open until it is told to end, and collects processes that lost their parent.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	wait(signals, collect)
}

// wait returns when it is told to end; for every child that ended it calls ended.
func wait(signals <-chan os.Signal, ended func()) {
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		ended()
	}
}

// collect takes note of every child that has ended: several may share one signal.
func collect() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
