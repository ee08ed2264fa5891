package inference

import (
	"math"
	"testing"
)

// The same cases as in tests/policies/test_inputs.py.
func TestCPUIsScarceWhereMoreOfItIsUsedThanOfTheGPUs(t *testing.T) {
	for name, one := range map[string]struct {
		is   amounts
		want float64
	}{
		"empty":                      {amounts{gpus: 1000, cpu: 100_000}, 0},
		"CPU alone is used":          {amounts{gpus: 1000, cpu: 100_000, cpuUsed: 20_000}, 1},
		"CPU to spare":               {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 45_000}, 0},
		"both are used up together":  {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 50_000}, (0.524/0.53 - 0.9) / 0.15},
		"CPU is used up first":       {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 70_000}, 1},
		"without GPUs there is none": {amounts{cpu: 100_000, cpuUsed: 70_000}, 0},
		"nothing at all":             {amounts{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := one.is.scarceCPU(); math.Abs(got-one.want) > 1e-9 {
				t.Errorf("got %v, expected %v", got, one.want)
			}
		})
	}
}
