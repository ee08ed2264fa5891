package longshore

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/component-base/metrics/testutil"
)

// said returns all events so far.
func (f *fixture) said() string {
	var all []string
	for len(f.events.Events) > 0 {
		all = append(all, <-f.events.Events)
	}
	return strings.Join(all, "\n")
}

func TestNotesAreShortened(t *testing.T) {
	for name, text := range map[string]string{
		"short": "as it is", "long": strings.Repeat("x", 5_000), "long, of other languages": "." + strings.Repeat("é日", 1_000),
	} {
		got := shortened(text)
		if len(got) > longestNote || !utf8.ValidString(got) || (len(text) <= longestNote) != (got == text) {
			t.Errorf("%s: got %d bytes, %q at the end", name, len(got), got[max(0, len(got)-10):])
		}
	}
}

func TestRefusedReadingsAreSaid(t *testing.T) {
	file := t.TempDir() + "/readings.json"
	writeFile(t, file, `{"time": "2026-03-01T12:00:00Z", "nodes": {"node-0": {"watts": 100}}}`)
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	f.place(t)
	if got := f.said(); got != "" {
		t.Fatalf("good readings: got %q, expected no event", got)
	}
	writeFile(t, file, `{"nodes": {"node-0": {"watts": -1}}}`)
	f.plugin.telemetry.poll()
	f.plugin.telemetry.poll()
	if got := f.place(t); got != "node-3" {
		t.Errorf("got %s, expected node-3, the policy's best", got)
	}
	if got := f.said(); !strings.Contains(got, EventReadingsKept) || !strings.Contains(got, "got -1") {
		t.Errorf("got %q, expected %s with the value", got, EventReadingsKept)
	}
	if got, err := testutil.GetCounterMetricValue(f.plugin.metrics.readingsFailures); got != 1 || err != nil {
		t.Errorf("got %v failures (%v), expected 1: it is the same problem", got, err)
	}
	writeFile(t, file, `{"nodes": {"node-0": {"watts": 1}}}`)
	f.plugin.telemetry.poll()
	if got := f.plugin.telemetry.trouble.Load(); got != nil {
		t.Errorf("mended: got the trouble %q, expected none", *got)
	}
}

func TestReadingsOfOtherNodes(t *testing.T) {
	file := t.TempDir() + "/readings.json"
	writeFile(t, file, `{"time": "2026-03-01T12:00:00Z", "nodes": {"10.0.0.1": {"watts": 100}}}`)
	f := newFixture(t, func(a *Arguments) { a.ReadingsFile = file })
	if got := f.place(t); got != "node-3" {
		t.Errorf("a policy without readings: got %s, expected node-3, its best", got)
	}
	f.plugin.models.current.Load().needsReadings = true
	if got := f.place(t); got != "node-0" || f.fallbacks(t, staleReadings) != 1 {
		t.Errorf("got %s and %v fallbacks, expected node-0, stock's best, and 1", got, f.fallbacks(t, staleReadings))
	}
	if got := f.said(); !strings.Contains(got, "none of which is in the cluster") {
		t.Errorf("got %q, expected that the names are wrong", got)
	}
}

func TestUnreachableLogIsSaid(t *testing.T) {
	f := newFixture(t, func(a *Arguments) { a.DecisionLog = t.TempDir() + "/log" })
	f.place(t)
	trouble := "connection refused"
	f.plugin.ring.trouble.Store(&trouble)
	f.place(t)
	if got := f.said(); !strings.Contains(got, EventLogUnreachable) || !strings.Contains(got, trouble) {
		t.Errorf("got %q, expected %s with the reason", got, EventLogUnreachable)
	}
}
