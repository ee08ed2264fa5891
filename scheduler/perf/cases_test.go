package perf

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workloadsVariable names the workloads to run, such as SchedulingBasic/500Nodes, with commas between them.
const workloadsVariable = "SCHEDULER_PERF_WORKLOADS"

// label marks the workloads that were asked for; upstream's own labels leave out the small ones.
const label = "longshore"

// topics are the folders of upstream's test cases in which workloads are looked for.
var topics = []string{"misc", "affinity", "topology_spreading"}

// configuration is a KubeSchedulerConfiguration; nil = upstream's default.
type configuration map[string]any

// testCase is one of upstream's, as it is written in its file.
type testCase map[string]any

func header(fields configuration) configuration {
	fields["apiVersion"], fields["kind"] = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
	return fields
}

// profile is the one that we deliver for all pods, with another bundle and time enough: a pod that waited for a core is
// not to be ranked by upstream's scores, as that would measure something else.
func profile(b *testing.B, modelPath string) configuration {
	b.Helper()
	var found configuration
	read(b, "../config/profile-replace.yaml", &found)
	one := found["profiles"].([]any)[0].(map[string]any)
	one["pluginConfig"] = []any{map[string]any{
		"name": "Longshore", "args": map[string]any{"modelPath": modelPath, "deadline": "1s"},
	}}
	return found
}

// writeCases writes the asked-for workloads of upstream's test cases, for a scheduler with that configuration, and
// returns the file.
func writeCases(b *testing.B, scheduler configuration) string {
	b.Helper()
	folder := b.TempDir()
	wanted := strings.Split(os.Getenv(workloadsVariable), ",")
	var found []testCase
	for _, topic := range topics {
		upstream := filepath.Join(upstreamFolder(b), topic)
		var all []testCase
		read(b, filepath.Join(upstream, "performance-config.yaml"), &all)
		for _, one := range all {
			if one.keep(wanted) {
				found = append(found, withFolder(map[string]any(one), upstream).(map[string]any))
			}
		}
	}
	if len(found) == 0 {
		b.Fatalf("%s: got %q, expected workloads of upstream's such as SchedulingBasic/500Nodes", workloadsVariable, wanted)
	}
	if scheduler != nil {
		file := filepath.Join(folder, "scheduler.yaml")
		write(b, file, scheduler)
		for _, one := range found {
			one["schedulerConfigPath"] = file
		}
	}
	file := filepath.Join(folder, "cases.yaml")
	write(b, file, found)
	return file
}

// keep drops all workloads but the wanted ones, which it marks; false = none is wanted.
func (c testCase) keep(wanted []string) bool {
	var kept []any
	for _, one := range c["workloads"].([]any) {
		workload := one.(map[string]any)
		if slices.Contains(wanted, c["name"].(string)+"/"+workload["name"].(string)) {
			workload["labels"] = []any{label}
			kept = append(kept, workload)
		}
	}
	c["workloads"] = kept
	return len(kept) > 0
}

// withFolder returns a value of a YAML file with its relative paths seen from the folder that the file lies in.
func withFolder(value any, folder string) any {
	switch found := value.(type) {
	case map[string]any:
		for key, inner := range found {
			found[key] = withFolder(inner, folder)
		}
	case []any:
		for i, inner := range found {
			found[i] = withFolder(inner, folder)
		}
	case string:
		if strings.HasPrefix(found, "../") {
			return filepath.Join(folder, found)
		}
	}
	return value
}

// upstreamFolder is where scheduler_perf lies in Go's module cache.
func upstreamFolder(b *testing.B) string {
	b.Helper()
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(output)), "test", "integration", "scheduler_perf")
}

func read(b *testing.B, path string, into any) {
	b.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		b.Fatalf("%s: %v", path, err)
	}
}

func write(b *testing.B, path string, value any) {
	b.Helper()
	content, err := yaml.Marshal(value)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		b.Fatalf("%s: %v", path, err)
	}
}
