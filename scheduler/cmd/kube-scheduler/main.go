// Command kube-scheduler is upstream's kube-scheduler with one more plugin in its registry: Longshore.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/klog/v2"
)

// defaultSlice is many times what a pod's ranking takes, so that the core is seldom taken away in the midst of one.
const defaultSlice = 30 * time.Millisecond

// gcPercent makes garbage collections a third as frequent as Go's own 100 does: they wake threads that take cores from a
// ranking, and the memory for it is there on a machine that runs a control plane.
const gcPercent = 300

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cli.Run(newCommand()))
}

// applySlice refuses a slice that the kernel would cut; that it cannot be had is no reason not to schedule.
func applySlice(slice time.Duration) error {
	if slice == 0 {
		return nil
	}
	if slice < shortestSlice || slice > longestSlice {
		return fmt.Errorf("--cpu-slice: got %v, expected 0 or %v to %v", slice, shortestSlice, longestSlice)
	}
	if err := askForSlices(slice); err != nil {
		klog.Background().Info("The kernel grants no slices of this length", "slice", slice, "reason", err.Error())
	}
	return nil
}
