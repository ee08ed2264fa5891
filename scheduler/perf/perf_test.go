// Package perf runs upstream's own scheduler_perf on kube-scheduler as it is and with Longshore in it. It is a module of
// its own, as it needs an API server in the process, and has benchmarks only: see benchmarks/scheduler_perf.sh.
package perf

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"

	"longshore.dev/scheduler/inference"
	"longshore.dev/scheduler/longshore"
)

// bundle is a DeepSets network of width 32, relative to this folder.
const bundle = "../../contract/bundles/deepsets-32"

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	perf.PerfSchedulingLabelFilter = label
	os.Exit(m.Run())
}

// BenchmarkPerfScheduling runs the workloads on each of the schedulers that are compared. All look at every node but
// `sampled`, which is upstream's default and what its thresholds are about.
func BenchmarkPerfScheduling(b *testing.B) {
	for _, scheduler := range []struct {
		name      string
		configure func(*testing.B) configuration
	}{
		{"sampled", func(*testing.B) configuration { return nil }},
		{"stock", func(*testing.B) configuration { return header(configuration{"percentageOfNodesToScore": 100}) }},
		{"plugin", func(b *testing.B) configuration { return profile(b, knownBundle(b)) }},
		{"fallback", func(b *testing.B) configuration { return profile(b, filepath.Join(b.TempDir(), "none")) }},
	} {
		b.Run(scheduler.name, func(b *testing.B) {
			cases := writeCases(b, scheduler.configure(b))
			perf.RunBenchmarkPerfScheduling(b, cases, scheduler.name, runtime.Registry{longshore.Name: longshore.New})
		})
	}
}

// knownBundle returns the folder of the bundle: one that cannot be read would measure the fallback.
func knownBundle(b *testing.B) string {
	b.Helper()
	folder, err := filepath.Abs(bundle)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := inference.Load(folder); err != nil {
		b.Fatal(err)
	}
	return folder
}
