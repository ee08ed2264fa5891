package inference

import (
	"testing"
	"time"
)

// steady is a processor as others are measured in tests: neither fast nor slow.
var steady = speed{wide: 2e10, plain: 2e9}

func TestCostCountsLayersWidthAndNodes(t *testing.T) {
	small, wide := costOf(contractModels(t)["deepsets"], steady), costOf(contractModels(t)["deepsets-32"], steady)
	if small.perNode <= 0 || wide.bytesPerNode <= small.bytesPerNode || wide.bytesOnce <= small.bytesOnce {
		t.Errorf("got %+v for a narrow network and %+v for a wide one", small, wide)
	}
}

func TestMostNodesFollowsTimeAndMemory(t *testing.T) {
	m := &Model{}
	of := cost{perNode: 1e-6, once: 1e-3, bytesPerNode: 1_000, bytesOnce: 1_000_000}
	for name, test := range map[string]struct {
		deadline time.Duration
		memory   int64
		want     int
	}{
		"time":           {11 * time.Millisecond, 1 << 30, 10_000},
		"memory":         {time.Second, 6_000_000, 5_000},
		"too slow":       {time.Millisecond, 1 << 30, 0},
		"too large":      {time.Second, 500_000, 0},
		"enough of both": {time.Minute, 1 << 50, 59_999_000},
	} {
		if got := m.mostNodes(of, test.deadline, test.memory); got < test.want-1 || got > test.want+1 {
			t.Errorf("%s: got %d nodes, expected %d", name, got, test.want)
		}
	}
}

// TestShippedBundlesServeLargeClusters: what we deliver is admitted with the deadline as delivered, with room to spare.
func TestShippedBundlesServeLargeClusters(t *testing.T) {
	for name, model := range contractModels(t) {
		if model.numNodes != 0 {
			continue
		}
		if got := model.mostNodes(costOf(model, steady), 20*time.Millisecond, 256<<20); got < 10_000 {
			t.Errorf("%s: got %d nodes within 20 ms and 256 MiB, expected 10,000 or more", name, got)
		}
	}
}
