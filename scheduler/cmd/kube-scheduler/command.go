package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"longshore.dev/scheduler/longshore"
)

// newCommand returns kube-scheduler's command with our plugin and our one flag. Upstream's own constructor hides the
// scheduler between its set-up and its run, and there the plugin has to step in front of its profiles.
func newCommand() *cobra.Command {
	given, slice := options.NewOptions(), time.Duration(0)
	command := &cobra.Command{
		Use:  "kube-scheduler",
		Long: "kube-scheduler as it is upstream, with the plugin Longshore: a trained policy ranks nodes in the profiles that enable it.",
		Args: cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return given.ComponentGlobalsRegistry.Set() // feature gates, before anything asks for one
		},
		PreRunE: func(*cobra.Command, []string) error { return applySlice(slice) },
		RunE:    func(command *cobra.Command, _ []string) error { return run(command, given) },
	}
	verflag.AddFlags(given.Flags.FlagSet("global"))
	globalflag.AddGlobalFlags(given.Flags.FlagSet("global"), command.Name(), logs.SkipLoggingConfigurationFlags())
	own := given.Flags.FlagSet("longshore")
	own.DurationVar(&slice, "cpu-slice", defaultSlice,
		"How long a thread may run before another process gets the core, where Linux (6.12 and later) is asked for it; 0 = as the kernel has it.")
	for _, set := range given.Flags.FlagSets {
		command.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(command.OutOrStdout())
	flag.SetUsageAndHelpFunc(command, *given.Flags, columns)
	return command
}

// longestEnd is how long the end of the process may wait for a last word about a bundle on trial.
const longestEnd = time.Second

// run sets the scheduler up, puts the policy in front of its profiles, and runs it until it is told to end.
func run(command *cobra.Command, given *options.Options) error {
	verflag.PrintAndExitIfRequested()
	gates := given.ComponentGlobalsRegistry.FeatureGateFor(compatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(given.Logs, gates); err != nil {
		return err
	}
	flag.PrintFlags(command.Flags())

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	profiles := &longshore.Profiles{}
	go func() {
		<-server.SetupSignalHandler()
		profiles.End(longestEnd)
		cancel()
	}()
	// A lost lease ends the process by this function, which is no bundle's fault either.
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		profiles.End(longestEnd)
		exit(code)
	}
	completed, scheduler, err := app.Setup(ctx, given, app.WithPlugin(longshore.Name, profiles.New))
	if err != nil {
		return err
	}
	if err := profiles.StandInFront(scheduler.Profiles); err != nil {
		return fmt.Errorf("plugin %s: %w", longshore.Name, err)
	}
	if election := completed.ComponentConfig.LeaderElection; election.LeaderElect {
		profiles.KeepTrialsOn(longshore.Lease{Namespace: election.ResourceNamespace, Name: election.ResourceName})
	}
	if mutable, ok := gates.(featuregate.MutableFeatureGate); ok {
		mutable.AddMetrics()
	}
	given.ComponentGlobalsRegistry.AddMetrics()
	return app.Run(ctx, completed, scheduler)
}
