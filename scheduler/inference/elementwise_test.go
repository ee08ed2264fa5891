package inference

import (
	"math"
	"testing"
)

// TestElementwise compares what is done in the processor's wide registers, and what is left over, with plain Go.
func TestElementwise(t *testing.T) {
	draw := drawn(5, 6)
	for _, size := range []struct{ rows, width int }{{1, 1}, {3, 7}, {1, 32}, {64, 32}, {2, 33}, {5, 96}, {64, 8}} {
		a, b := draw(size.rows*size.width), draw(size.rows*size.width)
		relu, sum := make([]float32, len(a)), make([]float32, len(a))
		reluInto(relu, a)
		sumInto(sum, a, b)
		times := append([]float32(nil), b...)
		addTimes(times, 0.25, a)
		for i := range a {
			same(t, size, relu[i], max(a[i], 0))
			same(t, size, sum[i], a[i]+b[i])
			same(t, size, times[i], b[i]+0.25*a[i])
		}
		sums, most := make([]float32, size.width), make([]float32, size.width)
		addUp(sums, a)
		findMost(most, a)
		for j := range size.width {
			total, largest := float32(0), float32(math.Inf(-1))
			for row := range size.rows {
				total += a[row*size.width+j]
				largest = max(largest, a[row*size.width+j])
			}
			same(t, size, sums[j], total)
			same(t, size, most[j], largest)
		}
	}
}

func same(t *testing.T, size any, got, want float32) {
	t.Helper()
	if math.Abs(float64(got-want)) > 1e-6 {
		t.Fatalf("%v: got %v, want %v", size, got, want)
	}
}

// TestReluKeepsNaN: scores that are no numbers are a reason to fall back, and must not be taken for 0.
func TestReluKeepsNaN(t *testing.T) {
	in, out := make([]float32, 11), make([]float32, 11)
	for i := range in {
		in[i] = float32(math.NaN())
	}
	reluInto(out, in)
	for i, v := range out {
		if !math.IsNaN(float64(v)) {
			t.Errorf("%d: got %v, want NaN", i, v)
		}
	}
}
