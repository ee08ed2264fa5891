package inference

import (
	"slices"
	"testing"
)

func TestUnknownKeys(t *testing.T) {
	notes := map[string]string{
		"longshore.dev/latency-hard-limit": "30", "longshore.dev/gpu_count": "1",
		"longshore.dev/gpu-milli": "500", "latencySoftConstraint": "1", "example.org/gpu-counts": "1",
	}
	want := []string{
		"`longshore.dev/gpu_count` means nothing on a pod; did you mean `longshore.dev/gpu-count`?",
		"`longshore.dev/latency-hard-limit` means nothing on a pod; did you mean `longshore.dev/latency-hard-limit-ms`?",
	}
	if got := UnknownKeys(notes); !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
	if got := UnknownKeys(nil); len(got) > 0 {
		t.Errorf("got %q of a pod without annotations", got)
	}
}
