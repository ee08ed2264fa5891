package longshore

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"longshore.dev/scheduler/inference"
)

// mostReadingsBytes is the size above which a file is none of readings: 5,000 nodes need about a megabyte.
const mostReadingsBytes = 64 << 20

// readingsFile is the file's content; the same format as that of `longshore schedule --readings`.
type readingsFile struct {
	Time  *time.Time               `json:"time"`
	Nodes map[string]readingsEntry `json:"nodes"`
}

// readingsEntry is one node in it; what is left out is not known.
type readingsEntry struct {
	Time                  *time.Time         `json:"time"`
	LatencyMillis         *float64           `json:"latency_ms"`
	Connections           *float64           `json:"connections"`
	TrafficBytesPerSecond *float64           `json:"traffic_bytes_per_second"`
	CPURatio              *float64           `json:"cpu_ratio"`
	Watts                 *float64           `json:"watts"`
	ZoneLatencyMillis     map[string]float64 `json:"zone_latency_ms"`
}

// timedReading is a node's reading and when it was measured.
type timedReading struct {
	reading inference.Reading
	time    time.Time
}

// measured is what PreScore reads: the readings that are not too old, and when the newest of all was measured.
type measured struct {
	readings inference.Readings
	newest   time.Time
}

// telemetry follows the file of readings, in the background. A file that is missing, half written or wrong changes
// nothing: the last good readings stay until they are too old, and then are not known.
type telemetry struct {
	path    string
	maxAge  time.Duration
	clock   clock.PassiveClock
	metrics *pluginMetrics
	logger  klog.Logger

	current atomic.Pointer[measured]
	// trouble is why the file cannot be used; nil = it can.
	trouble atomic.Pointer[string]

	// Of the poll alone.
	seen    os.FileInfo
	problem string
	nodes   map[string]timedReading
	isFresh map[string]bool
	number  uint64
}

// known returns the readings that are not too old.
func (t *telemetry) known() inference.Readings {
	if current := t.current.Load(); current != nil {
		return current.readings
	}
	return inference.Readings{}
}

// poll takes up the file if it has changed, and forgets what has become too old.
func (t *telemetry) poll() {
	hasChanged, err := t.readIfChanged()
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	switch {
	case err == nil:
		t.trouble.Store(nil)
	case problem != t.problem:
		t.trouble.Store(&problem)
		t.metrics.readingsFailures.Inc()
		t.logger.Error(err, "Readings cannot be read; the last good ones stay until they are too old", "file", t.path)
	}
	t.problem = problem

	now := t.clock.Now()
	var newest time.Time
	known := make(map[string]inference.Reading, len(t.nodes))
	for name, node := range t.nodes {
		isFresh := now.Sub(node.time).Abs() <= t.maxAge
		// One that is far ahead of our clock says nothing about the others.
		if node.time.After(newest) && (isFresh || node.time.Before(now)) {
			newest = node.time
		}
		hasChanged = hasChanged || isFresh != t.isFresh[name]
		t.isFresh[name] = isFresh
		known[name] = inference.Unknown()
		if isFresh {
			known[name] = node.reading
		}
	}
	if hasChanged {
		t.number++
		t.current.Store(&measured{inference.NewReadings(known, t.number), newest})
	}
	if !newest.IsZero() {
		t.metrics.readingsAge("file").Set(max(0, now.Sub(newest).Seconds()))
	}
}

// uselessness says why a policy that reads readings must do without; empty = it need not.
func (t *telemetry) uselessness(now time.Time, readings inference.Readings, all []fwk.NodeInfo) string {
	if t.areStale(now) {
		return fmt.Sprintf("%s is older than %v", t.path, t.maxAge)
	}
	if !readings.NameAny(all) {
		return fmt.Sprintf("%s names %d nodes, none of which is in the cluster", t.path, readings.Len())
	}
	return ""
}

// areStale says whether the newest reading is too old, or as far ahead of our clock, or there is none.
func (t *telemetry) areStale(now time.Time) bool {
	current := t.current.Load()
	return current == nil || now.Sub(current.newest).Abs() > t.maxAge
}

func (t *telemetry) readIfChanged() (bool, error) {
	status, err := os.Stat(t.path)
	if err != nil {
		t.seen = nil
		return false, err
	}
	if t.seen != nil && os.SameFile(t.seen, status) && t.seen.Size() == status.Size() && t.seen.ModTime().Equal(status.ModTime()) {
		if t.problem != "" {
			return false, fmt.Errorf("%s", t.problem) // looked at before, and not changed since
		}
		return false, nil
	}
	t.seen = status
	if !status.Mode().IsRegular() {
		return false, notRegular(t.path, status)
	}
	if status.Size() > mostReadingsBytes {
		return false, fmt.Errorf("%s: got %d bytes, expected at most %d", t.path, status.Size(), mostReadingsBytes)
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		t.seen = nil
		return false, err
	}
	nodes, err := parseReadings(data, status.ModTime())
	if err != nil {
		return false, fmt.Errorf("%s: %w", t.path, err)
	}
	t.nodes, t.isFresh = nodes, make(map[string]bool, len(nodes))
	return true, nil
}

// parseReadings reads the content of a file that was written at that time.
func parseReadings(data []byte, written time.Time) (map[string]timedReading, error) {
	var content readingsFile
	if err := yaml.UnmarshalStrict(data, &content); err != nil {
		return nil, err
	}
	if content.Nodes == nil {
		return nil, fmt.Errorf("got no `nodes`, expected readings by the name of the node")
	}
	if content.Time != nil {
		written = *content.Time
	}
	nodes := make(map[string]timedReading, len(content.Nodes))
	for name, entry := range content.Nodes {
		reading, err := entry.reading()
		if err != nil {
			return nil, fmt.Errorf("nodes.%s.%w", name, err)
		}
		at := written
		if entry.Time != nil {
			at = *entry.Time
		}
		nodes[name] = timedReading{reading, at}
	}
	return nodes, nil
}

func (e readingsEntry) reading() (inference.Reading, error) {
	reading := inference.Unknown()
	for _, field := range []struct {
		name string
		from *float64
		to   *float64
	}{
		{"latency_ms", e.LatencyMillis, &reading.LatencyMillis},
		{"connections", e.Connections, &reading.Connections},
		{"traffic_bytes_per_second", e.TrafficBytesPerSecond, &reading.TrafficBytesPerSecond},
		{"cpu_ratio", e.CPURatio, &reading.CPURatio},
		{"watts", e.Watts, &reading.Watts},
	} {
		if field.from == nil {
			continue
		}
		if err := checkAmount(*field.from); err != nil {
			return reading, fmt.Errorf("%s: %w", field.name, err)
		}
		*field.to = *field.from
	}
	for zone, latency := range e.ZoneLatencyMillis {
		if err := checkAmount(latency); err != nil {
			return reading, fmt.Errorf("zone_latency_ms.%s: %w", zone, err)
		}
	}
	reading.ZoneLatencyMillis = e.ZoneLatencyMillis
	return reading, nil
}

func checkAmount(amount float64) error {
	if amount < 0 || math.IsNaN(amount) || math.IsInf(amount, 0) {
		return fmt.Errorf("got %v, expected a finite number from 0 on", amount)
	}
	return nil
}
