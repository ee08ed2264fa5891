package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// longshore's annotations for GPU devices, which upstream does not know.
const (
	devicesKey = "longshore.dev/gpu-devices"
	countKey   = "longshore.dev/gpu-count"
	milliKey   = "longshore.dev/gpu-milli"
	modelKey   = "longshore.dev/gpu-model"
	wholeGPU   = 1000
)

// devicesProblem says what is wrong with the devices that a pod is bound to; "" = nothing.
func devicesProblem(pod *corev1.Pod, info *framework.NodeInfo) string {
	wanted, milli := devicesWanted(pod)
	if wanted == 0 {
		return ""
	}
	node := info.Node()
	has, _ := strconv.Atoi(node.Annotations[countKey])
	model, isAnnotated := node.Annotations[modelKey]
	if !isAnnotated {
		model = node.Labels[modelKey]
	}
	if models := pod.Annotations[modelKey]; models != "" && !slices.Contains(strings.Split(models, "|"), model) {
		return fmt.Sprintf("model %q on node %s, wanted %q", model, node.Name, models)
	}
	held := devicesHeld(pod)
	if len(held) != wanted {
		return fmt.Sprintf("%d devices, wanted %d", len(held), wanted)
	}
	used := map[int]int{}
	for _, other := range info.GetPods() {
		_, each := devicesWanted(other.GetPod())
		for _, device := range devicesHeld(other.GetPod()) {
			used[device] += each
		}
	}
	for _, device := range held {
		if device < 0 || device >= has {
			return fmt.Sprintf("device %d of node %s, which has %d", device, node.Name, has)
		}
		if used[device] += milli; used[device] > wholeGPU {
			return fmt.Sprintf("device %d of node %s: %d thousandths are taken", device, node.Name, used[device])
		}
	}
	return ""
}

// devicesWanted reads a pod's request: how many devices, and thousandths of each. What cannot be read asks for nothing.
func devicesWanted(pod *corev1.Pod) (count, milli int) {
	countText, hasCount := pod.Annotations[countKey]
	milliText, hasMilli := pod.Annotations[milliKey]
	if !hasCount && !hasMilli {
		return 0, 0
	}
	count, milli = 1, wholeGPU
	var countError, milliError error
	if hasCount {
		count, countError = strconv.Atoi(countText)
	}
	if hasMilli {
		milli, milliError = strconv.Atoi(milliText)
	}
	if countError != nil || milliError != nil || count < 1 || milli < 1 || milli > wholeGPU || count > 1 && milli != wholeGPU {
		return 0, 0
	}
	return count, milli
}

func devicesHeld(pod *corev1.Pod) []int {
	var held []int
	for name := range strings.SplitSeq(pod.Annotations[devicesKey], ",") {
		if device, err := strconv.Atoi(name); err == nil {
			held = append(held, device)
		}
	}
	return held
}
