package inference

import (
	"math"
	"slices"
	"testing"

	"longshore.dev/scheduler/bundle"
)

// The same cases as in tests/policies/test_inputs.py.
func TestCPUIsScarceWhereAboutAsMuchOfItIsUsedAsOfTheGPUs(t *testing.T) {
	scale := bundle.LoadScale{CPUBeforehand: 0.024, GPUsBeforehand: 0.03, ScarceFrom: 0.9, ScarceOver: 0.15, LittleBelow: 0.1}
	for name, one := range map[string]struct {
		is   amounts
		want float64
	}{
		"empty":                      {amounts{gpus: 1000, cpu: 100_000}, 0},
		"CPU alone is used":          {amounts{gpus: 1000, cpu: 100_000, cpuUsed: 20_000}, 0},
		"hardly a GPU is used":       {amounts{gpus: 1000, gpusUsed: 50, cpu: 100_000, cpuUsed: 20_000}, 0.5},
		"CPU to spare":               {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 45_000}, 0},
		"both are used up together":  {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 50_000}, (0.524/0.53 - 0.9) / 0.15},
		"CPU is used up first":       {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 70_000}, 1},
		"more than there is is used": {amounts{gpus: 1000, gpusUsed: 500, cpu: 100_000, cpuUsed: 170_000}, 1},
		"nothing at all":             {amounts{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := one.is.scarceCPU(&scale); math.Abs(got-one.want) > 1e-9 {
				t.Errorf("got %v, expected %v", got, one.want)
			}
		})
	}
}

// TestScoresFollowScarceCPU fills a cluster of several blocks with pods that want GPUs, then with pods that do not: what
// is kept while the GPUs stay as they are must still follow the CPU.
func TestScoresFollowScarceCPU(t *testing.T) {
	model := loadModel(t, contractFolder, "bundles", "kinds-load")
	infos := busyCluster(3*blockSize, 0)
	for i, info := range infos {
		node := info.Node().DeepCopy()
		node.Annotations = map[string]string{gpuCountKey: "1", gpuModelKey: "T4"}
		info.SetNode(node)
		if i < len(infos)/2 {
			info.AddPod(aPod(i, 1)) // 300 milli, so that 15 % of all GPUs are in use, none of the last block's
		}
	}
	kept, pod := NewScorer(model, nil, MaxOutside(1)), aPod(1_000_000, 1)
	met := map[bool]int{}
	for step := range 60 {
		for i, info := range infos {
			if i%20 == step%20 {
				info.AddPod(podNumber(3_000_000+1000*step+i, 39)) // 4 CPUs of 64
			}
		}
		got := scored(t, kept, pod, asInterfaces(infos), Readings{})
		want := scored(t, NewScorer(model, nil, MaxOutside(1)), pod, asInterfaces(infos), Readings{})
		if !slices.Equal(got, want) {
			t.Fatalf("step %d, CPU scarce by %v: got other scores than afresh", step, kept.facts.cpuScarce)
		}
		if math.Abs(kept.facts.gpusUsed-0.15) > 1e-9 {
			t.Fatalf("step %d: got %v of the GPUs in use, expected 0.15", step, kept.facts.gpusUsed)
		}
		met[kept.facts.cpuScarce > 0 && kept.facts.cpuScarce < 1]++
	}
	if met[true] == 0 || kept.facts.cpuScarce != 1 {
		t.Errorf("got %d steps between and %v at the end, expected some and 1", met[true], kept.facts.cpuScarce)
	}
}
