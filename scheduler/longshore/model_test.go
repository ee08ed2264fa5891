package longshore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"

	"longshore.dev/scheduler/inference"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeBundle writes files that the tests' loader takes for a bundle; the text is its SHA-256, `bad` cannot be read.
func writeBundle(t testing.TB, folder, text string) {
	t.Helper()
	for _, name := range bundleFiles {
		writeFile(t, filepath.Join(folder, name), text)
	}
}

func makeModels(t testing.TB) *models {
	t.Helper()
	made, err := newPluginMetrics(metrics.NewKubeRegistry().Register, "longshore")
	if err != nil {
		t.Fatal(err)
	}
	load := func(folder string) (*policy, error) {
		text, err := os.ReadFile(filepath.Join(folder, bundleFiles[0]))
		if err != nil {
			return nil, err
		}
		if string(text) == "bad" {
			return nil, &inference.Problem{Reason: inference.BadBundle, Message: "it is bad"}
		}
		return &policy{sha256: string(text)}, nil
	}
	return &models{folder: t.TempDir(), load: load, metrics: made, logger: klog.Background()}
}

func (m *models) sha256() string {
	if current := m.current.Load(); current != nil {
		return current.sha256
	}
	return ""
}

func (m *models) inUse(t testing.TB, sha256 string) float64 {
	t.Helper()
	value, err := testutil.GetGaugeMetricValue(m.metrics.models("", "", sha256))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func (m *models) failures(t testing.TB) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(m.metrics.updateFailures)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestModelIsSwapped(t *testing.T) {
	m := makeModels(t)
	m.poll()
	if m.sha256() != "" || m.problem.Load().reason != modelMissing {
		t.Fatalf("an empty folder: got %q and %v", m.sha256(), m.problem.Load())
	}
	writeBundle(t, m.folder, "first")
	m.poll()
	if m.sha256() != "first" || m.problem.Load() != nil || m.inUse(t, "first") != 1 {
		t.Fatalf("got %q, %v, gauge %v, expected the first model", m.sha256(), m.problem.Load(), m.inUse(t, "first"))
	}
	writeBundle(t, m.folder, "second!")
	m.poll()
	if m.sha256() != "second!" || m.inUse(t, "first") != 0 || m.inUse(t, "second!") != 1 {
		t.Errorf("got %q, expected the second model alone in use", m.sha256())
	}
}

func TestLastGoodModelIsKept(t *testing.T) {
	tests := map[string]func(t *testing.T, folder string){
		"deleted": func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, bundleFiles[0])); err != nil {
				t.Fatal(err)
			}
		},
		"replaced by a bad one": func(t *testing.T, folder string) { writeBundle(t, folder, "bad") },
		"a pipe that nobody writes to": func(t *testing.T, folder string) {
			path := filepath.Join(folder, bundleFiles[1])
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		"half a bundle": func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, bundleFiles[1])); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			m := makeModels(t)
			writeBundle(t, m.folder, "good")
			m.poll()
			spoil(t, m.folder)
			m.poll()
			m.poll()
			if m.sha256() != "good" || m.problem.Load() == nil {
				t.Fatalf("got %q and %v, expected the last good model and a problem", m.sha256(), m.problem.Load())
			}
			if got := m.failures(t); got != 1 {
				t.Errorf("got %v failures, expected 1: it is the same problem", got)
			}
			if err := os.RemoveAll(filepath.Join(m.folder, bundleFiles[1])); err != nil { // else a pipe is written to
				t.Fatal(err)
			}
			writeBundle(t, m.folder, "good")
			m.poll()
			if m.problem.Load() != nil {
				t.Errorf("put back: got the problem %v, expected none", m.problem.Load())
			}
		})
	}
}

func TestNewModelIsTakenBack(t *testing.T) {
	m := makeModels(t)
	writeBundle(t, m.folder, "good")
	m.poll()
	m.current.Load().isProven.Store(true)
	writeBundle(t, m.folder, "NaN weights")
	m.poll()
	m.takeBack(m.current.Load(), inference.NotFinite, noNumbers(m.current.Load(), errors.New("node-1: NaN")))
	m.poll()
	if m.sha256() != "good" || m.problem.Load().reason != inference.NotFinite {
		t.Errorf("got %q and %v, expected the model before", m.sha256(), m.problem.Load())
	}
	writeBundle(t, m.folder, "mended")
	m.poll()
	if m.sha256() != "mended" {
		t.Errorf("got %q, expected the next one", m.sha256())
	}
}

func TestFirstModelIsTakenBack(t *testing.T) {
	m := makeModels(t)
	writeBundle(t, m.folder, "NaN weights")
	m.poll()
	m.takeBack(m.current.Load(), inference.NotFinite, noNumbers(m.current.Load(), errors.New("node-1: NaN")))
	if m.current.Load() != nil || m.problem.Load().reason != inference.NotFinite {
		t.Errorf("got %q and %v, expected none and the reason", m.sha256(), m.problem.Load())
	}
}

func TestPluginTakesBackANewModel(t *testing.T) {
	f := newFixture(t)
	f.place(t)
	bad := f.newPolicy("bad")
	bad.scorer = &scripted{score: notANumber}
	f.plugin.models.replace(bad)
	if got := f.place(t); got != "node-0" {
		t.Errorf("got %s, expected node-0, stock's best", got)
	}
	if got := f.place(t); got != "node-3" {
		t.Errorf("got %s, expected node-3, the best of the model before", got)
	}
}

// TestADiskThatHangsDoesNotHoldUpPods loads a bundle that never comes while a bad one is taken back.
func TestADiskThatHangsDoesNotHoldUpPods(t *testing.T) {
	m := makeModels(t)
	writeBundle(t, m.folder, "NaN weights")
	m.poll()
	bad, isHanging, isOver := m.current.Load(), make(chan struct{}), make(chan struct{})
	m.load = func(string) (*policy, error) {
		close(isHanging)
		<-isOver
		return nil, errors.New("at last")
	}
	writeBundle(t, m.folder, "another")
	done := make(chan struct{})
	go func() { m.poll(); close(done) }()
	<-isHanging
	m.takeBack(bad, inference.NotFinite, noNumbers(bad, errors.New("node-1: NaN")))
	if m.current.Load() != nil {
		t.Errorf("got %q, expected none", m.sha256())
	}
	close(isOver)
	<-done
}

func TestThePreferenceReachesTheBundle(t *testing.T) {
	f := newFixture(t)
	tests := map[string]struct {
		weights map[string]float64
		want    string // of the error
	}{
		"none":                {nil, ""},
		"a term":              {map[string]float64{"watts": 2}, ""},
		"a term of another's": {map[string]float64{"latency": 1}, "got the preference `latency`, expected one of: fragmentation, watts"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			load, err := loadBundle(f.framework, Arguments{Preference: test.weights})
			if err != nil {
				t.Fatal(err)
			}
			_, err = load("../../contract/bundles/kinds")
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
		})
	}
}

func TestOnlyBundlesThatAreNamedAreUsed(t *testing.T) {
	f := newFixture(t)
	const folder = "../../contract/bundles/kinds"
	text, err := os.ReadFile(folder + "/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	another := "sha256:" + strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		digests []string
		isTaken bool
	}{
		"none named":   {nil, true},
		"this one":     {[]string{another, own}, true},
		"only another": {[]string{another}, false},
	} {
		t.Run(name, func(t *testing.T) {
			load, err := loadBundle(f.framework, Arguments{ModelDigests: test.digests})
			if err != nil {
				t.Fatal(err)
			}
			_, err = load(folder)
			if (err == nil) != test.isTaken || (err != nil && !strings.Contains(err.Error(), own[7:]+", expected one of args.modelDigests")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
