package longshore

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newTelemetry(t testing.TB, text string) (*telemetry, *clocktesting.FakeClock) {
	t.Helper()
	made, err := newPluginMetrics(metrics.NewKubeRegistry().Register, "longshore")
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(noon)
	followed := &telemetry{
		path: t.TempDir() + "/readings.yaml", maxAge: time.Minute, clock: clock, metrics: made, logger: klog.Background(),
	}
	if text != "" {
		writeFile(t, followed.path, text)
	}
	return followed, clock
}

const twoNodes = `
time: 2026-03-01T11:59:50Z
nodes:
  worker-1: {latency_ms: 12.5, watts: 180, cpu_ratio: 0.4, zone_latency_ms: {zone-a: 0.4}}
  worker-2: {latency_ms: 3.1, connections: 40, traffic_bytes_per_second: 1.5e6, time: 2026-03-01T11:50:00Z}
`

func TestReadingsAreRead(t *testing.T) {
	nodes, err := parseReadings([]byte(twoNodes), noon)
	if err != nil {
		t.Fatal(err)
	}
	one, two := nodes["worker-1"], nodes["worker-2"]
	if one.reading.Watts != 180 || one.reading.LatencyMillis != 12.5 || one.reading.ZoneLatencyMillis["zone-a"] != 0.4 {
		t.Errorf("got %+v", one)
	}
	if one.reading.Connections == one.reading.Connections {
		t.Errorf("got %v connections, expected not known", one.reading.Connections)
	}
	if !two.time.Equal(noon.Add(-10 * time.Minute)) {
		t.Errorf("got %v, expected the node's own time", two.time)
	}
}

func TestWrongReadingsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"negative":         `{"nodes": {"a": {"watts": -1}}}`,
		"not finite":       "nodes: {a: {watts: .nan}}",
		"a zone's":         `{"nodes": {"a": {"zone_latency_ms": {"b": -2}}}}`,
		"an unknown field": `{"nodes": {"a": {"wats": 1}}}`,
		"no nodes":         `{}`,
		"half a file":      `{"nodes": {"a": {"wat`,
	} {
		if _, err := parseReadings([]byte(text), noon); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestReadingsGrowOld(t *testing.T) {
	followed, clock := newTelemetry(t, twoNodes)
	followed.poll()
	if followed.areStale(clock.Now()) || fmt.Sprint(followed.isFresh) != "map[worker-1:true worker-2:false]" {
		t.Fatalf("got %v, expected worker-1 to be known and worker-2 not", followed.isFresh)
	}
	age, err := testutil.GetGaugeMetricValue(followed.metrics.readingsAge("file"))
	if err != nil || age != 10 {
		t.Errorf("got the age %v (%v), expected 10", age, err)
	}
	before := followed.current.Load()
	followed.poll()
	if followed.current.Load() != before {
		t.Error("nothing has changed, expected the same table")
	}
	clock.SetTime(noon.Add(55 * time.Second))
	followed.poll()
	if !followed.areStale(clock.Now()) || followed.current.Load() == before {
		t.Error("got fresh readings, expected that all are too old")
	}
}

func TestReadingsFromTheFutureAreStale(t *testing.T) {
	followed, clock := newTelemetry(t, `{"time": "2026-03-01T13:00:00Z", "nodes": {"a": {"watts": 1}}}`)
	followed.poll()
	if !followed.areStale(clock.Now()) {
		t.Error("got fresh readings, expected that a clock an hour ahead is not believed")
	}
}

func TestOneNodeOfTheFutureDoesNotMakeTheOthersStale(t *testing.T) {
	followed, clock := newTelemetry(t, `{"time": "2026-03-01T12:00:00Z", "nodes": {"a": {"watts": 1}, "b": {"time": "2026-03-01T13:00:00Z", "watts": 1}}}`)
	followed.poll()
	if followed.areStale(clock.Now()) {
		t.Error("got stale readings, expected those of the node whose clock is right")
	}
}

func TestLastGoodReadingsAreKept(t *testing.T) {
	followed, clock := newTelemetry(t, twoNodes)
	followed.poll()
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(followed.path, []byte("nodes: {a: {watts: -1}}"), 0o600) },
		func() error { return os.Remove(followed.path) },
		func() error { return syscall.Mkfifo(followed.path, 0o600) }, // nobody writes to it: who opens it waits for ever
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		followed.poll()
		followed.poll()
		if followed.areStale(clock.Now()) || followed.current.Load().readings.Len() != 2 || followed.problem == "" {
			t.Errorf("got %d readings and the problem %q, expected the last good 2 and one", followed.current.Load().readings.Len(), followed.problem)
		}
	}
	if err := os.Remove(followed.path); err != nil {
		t.Fatal(err)
	}
	writeFile(t, followed.path, `{"time": "2026-03-01T12:00:00Z", "nodes": {"a": {"watts": 1}}}`)
	followed.poll()
	if followed.current.Load().readings.Len() != 1 || followed.problem != "" {
		t.Errorf("got %d readings and %q, expected the new one", followed.current.Load().readings.Len(), followed.problem)
	}
}

func TestNoReadingsAreStale(t *testing.T) {
	followed, clock := newTelemetry(t, "")
	followed.poll()
	if !followed.areStale(clock.Now()) {
		t.Error("got fresh readings of a file that is not there")
	}
}
