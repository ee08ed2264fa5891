// Command kube-scheduler is upstream's kube-scheduler with one more plugin in its registry: Longshore.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"longshore.dev/scheduler/longshore"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(longshore.Name, longshore.New))))
}
