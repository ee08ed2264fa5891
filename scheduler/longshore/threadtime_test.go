package longshore

import (
	"testing"

	"k8s.io/component-base/metrics/testutil"
)

// TestProcessorTimeIsNotedOfFewRankings: each time that it is asked for may cost the core.
func TestProcessorTimeIsNotedOfFewRankings(t *testing.T) {
	f := newFixture(t)
	for range 2 * rankingsPerSample {
		f.place(t)
	}
	found, err := testutil.GetHistogramVecFromGatherer(f.registry, "longshore_decision_cpu_seconds", nil)
	if err != nil {
		t.Fatal(err)
	}
	// Less where the goroutine ended up on another thread.
	if count := found.GetAggregatedSampleCount(); count > 2 {
		t.Errorf("got %d samples of %d rankings, expected 2", count, 2*rankingsPerSample)
	}
}
