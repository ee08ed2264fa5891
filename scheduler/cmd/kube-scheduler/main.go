// Command kube-scheduler is upstream's kube-scheduler with one more plugin in its registry: Longshore.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"longshore.dev/scheduler/longshore"
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

// newCommand returns upstream's command with our plugin and our one flag.
func newCommand() *cobra.Command {
	command := app.NewSchedulerCommand(app.WithPlugin(longshore.Name, longshore.New))
	slice := command.Flags().Duration("cpu-slice", defaultSlice,
		"How long a thread may run before another process gets the core, where Linux (6.12 and later) is asked for it; 0 = as the kernel has it.")
	command.PreRunE = func(*cobra.Command, []string) error { return applySlice(*slice) }
	// Upstream's help prints its own sections of flags and nothing else.
	help := command.HelpFunc()
	command.SetHelpFunc(func(command *cobra.Command, arguments []string) {
		help(command, arguments)
		flag := command.Flags().Lookup("cpu-slice")
		fmt.Fprintf(command.OutOrStdout(), "\nLongshore flags:\n\n      --%s duration\n                %s (default %s)\n", flag.Name, flag.Usage, flag.DefValue)
	})
	return command
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
