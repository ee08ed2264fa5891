package inference

import "fmt"

// leftStep is where the table of what is left of a device is cut.
const leftStep = 50

func ofGPU(scope scope, compute func(v *view, n *node) float64) feature {
	return feature{version: 1, scope: scope, own: compute, reads: reads{gpus: true}}
}

func ofTypical(scope scope, compute func(v *view, n *node) float64) feature {
	return feature{version: 1, scope: scope, own: compute, reads: reads{gpus: true, typical: true}}
}

func inVersion(version int, of feature) feature {
	of.version = version
	return of
}

func (n *node) ofGPUs(milli float64) float64 {
	return min(max(milli/float64(max(n.gpu.size, 1)), -1), 1)
}

func (n *node) fragmentAdded(v *view) float64 {
	t := n.takeFullest(&v.pod.gpu)
	after := v.typical.fragment(n, t, n.gpu.idle-t.total(), n.cpu-n.cpuAsked-v.pod.cpu)
	return after - n.gpu.fragment
}

func (n *node) potentialAfter(v *view) float64 {
	return v.typical.potential(n, n.takeFullest(&v.pod.gpu), n.cpu-n.cpuAsked-v.pod.cpu)
}

func cpuPerGPU(v *view, cpu, milli int64) float64 {
	if !v.largest.hasDevices {
		return 0
	}
	return saturated(float64(cpu*wholeGPU)/float64(max(milli, 1)), halfCPUPerGPU)
}

func withGPUs(n *node, value float64) float64 {
	if n.gpu.size > 0 {
		return value
	}
	return 0
}

func gpuFeatures() map[string]feature {
	table := map[string]feature{
		"gpu_size": ofGPU(ofNode, func(v *view, n *node) float64 { return ofMost(float64(n.gpu.size), v.largest.gpu) }),
		"gpu_free": ofGPU(ofPods, func(_ *view, n *node) float64 { return n.ofGPUs(float64(n.gpu.free)) }),
		"gpu_fragment": ofTypical(ofPods, func(v *view, n *node) float64 {
			return bit(v.typical.isUseful(v)) * n.ofGPUs(n.gpu.fragment)
		}),
		"gpu_fragment_added": ofTypical(ofPods, func(v *view, n *node) float64 {
			return bit(v.typical.isUseful(v)) * n.ofGPUs(n.fragmentAdded(v))
		}),
		"gpu_partly_used": ofGPU(ofPods, func(_ *view, n *node) float64 { return cut(float64(n.gpu.numPartly) / manyDevices) }),
		"gpu_wholly_free": ofGPU(ofPods, func(_ *view, n *node) float64 { return cut(float64(n.gpu.numFree) / manyDevices) }),
		"gpu_free_after": ofGPU(ofPods, func(v *view, n *node) float64 {
			return n.ofGPUs(float64(n.gpu.idle - n.takeFullest(&v.pod.gpu).total()))
		}),
		"gpu_waste_added": ofTypical(ofPods, func(v *view, n *node) float64 {
			taken := float64(n.takeFullest(&v.pod.gpu).total())
			return signedSaturated(n.gpu.potential-n.potentialAfter(v)-taken, wholeGPU)
		}),
		"gpu_unusable_added": ofTypical(ofPods, func(v *view, n *node) float64 {
			return signedSaturated(n.fragmentAdded(v), wholeGPU)
		}),
		"gpu_potential_after": ofTypical(ofPods, func(v *view, n *node) float64 { return n.ofGPUs(n.potentialAfter(v)) }),
		"cpu_per_idle_gpu_after": ofGPU(ofPods, func(v *view, n *node) float64 {
			idle := n.gpu.idle - n.takeFullest(&v.pod.gpu).total()
			return cpuPerGPU(v, n.cpu-n.cpuAsked-v.pod.cpu, idle)
		}),
		"cpu_per_gpu": ofGPU(ofNode, func(v *view, n *node) float64 { return cpuPerGPU(v, n.cpu, n.gpu.size) }),
		"gpu_devices": ofGPU(ofNode, func(_ *view, n *node) float64 {
			return cut(float64(n.gpu.size) / (manyDevices * wholeGPU))
		}),
		"gpu_model_wanted": inVersion(2, ofTypical(ofNode, func(v *view, n *node) float64 {
			return saturated(v.typical.pressureOn(n), 1)
		})),
		"gpu_busy_watts": ofGPU(ofNode, func(_ *view, n *node) float64 {
			return saturated(withGPUs(n, n.gpu.busyWatts), halfGPUWatts)
		}),
		"gpu_idle_watts": ofGPU(ofNode, func(_ *view, n *node) float64 {
			return saturated(withGPUs(n, n.gpu.idleWatts), halfGPUWatts)
		}),
		"pwr_watts_added": ofGPU(ofPods, func(v *view, n *node) float64 {
			if !v.largest.hasDevices {
				return 0
			}
			after := n.pwrNodeWatts(n.takeFullest(&v.pod.gpu), v.pod.cpu)
			return saturated(after-n.pwrNodeWatts(take{}, 0), halfGPUWatts)
		}),
	}
	addShareFeatures(table)
	for _, size := range []int{1, 2, 4, 8} {
		table[fmt.Sprintf("gpu_blocks_of_%d_lost", size)] = ofGPU(ofPods, func(v *view, n *node) float64 {
			lost := n.gpu.numFree/size - floorDiv(n.freeAfter(n.takeFullest(&v.pod.gpu)), size)
			return cut(float64(lost) / float64(manyDevices/size))
		})
		table[fmt.Sprintf("gpu_devices_%d", size)] = ofGPU(ofNode, func(_ *view, n *node) float64 {
			return bit(n.gpuCount == size)
		})
	}
	return table
}

func floorDiv(number, by int) int {
	if number >= 0 {
		return number / by
	}
	return -((-number + by - 1) / by)
}

// addShareFeatures adds what a pod that wants a part of a device finds there, and leaves.
func addShareFeatures(table map[string]feature) {
	table["gpu_left_after"] = ofGPU(ofPods, func(v *view, n *node) float64 {
		if t := n.takeFullest(&v.pod.gpu); t.isShare() {
			return cut(float64(t.leftAfter()) / wholeGPU)
		}
		return 0
	})
	table["gpu_opens"] = ofGPU(ofPods, func(v *view, n *node) float64 {
		t := n.takeFullest(&v.pod.gpu)
		return bit(t.isShare() && t.left >= wholeGPU)
	})
	leaves := func(least, most int64) feature {
		return ofGPU(ofPods, func(v *view, n *node) float64 {
			t := n.takeFullest(&v.pod.gpu)
			return bit(t.isShare() && t.leftAfter() >= least && t.leftAfter() < most)
		})
	}
	table["gpu_left_nothing"] = leaves(0, 1)
	for least := int64(0); least < wholeGPU; least += leftStep {
		table[fmt.Sprintf("gpu_left_from_%d", least)] = leaves(max(least, 1), least+leftStep)
	}
	for least := int64(leftStep); least < wholeGPU; least += leftStep {
		table[fmt.Sprintf("gpu_had_from_%d", least)] = ofGPU(ofPods, func(v *view, n *node) float64 {
			t := n.takeFullest(&v.pod.gpu)
			return bit(t.isShare() && t.left >= least && t.left < least+leftStep)
		})
	}
}
