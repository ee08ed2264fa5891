package inference

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Needs is what a pod asks for by longshore's annotations, which upstream's filters do not know.
type Needs struct {
	gpu         gpuRequest
	latencyHard float64 // milliseconds, infinite = no limit
}

// NeedsOf reads a pod's annotations as if those that cannot be read were not there, and says which they are.
func NeedsOf(pod *v1.Pod) (needs Needs, unreadable []string) {
	asked, unreadable := requestOf(pod.Annotations)
	return Needs{gpu: asked.gpu, latencyHard: asked.latencyHard}, unreadable
}

// HasDevices says whether the pod asks for GPUs.
func (n *Needs) HasDevices() bool { return n.gpu.count > 0 }

// HasLimit says whether the pod has a hard latency limit.
func (n *Needs) HasLimit() bool { return !math.IsInf(n.latencyHard, 1) }

// DeviceFit is how a pod's request and a node's GPUs go together.
type DeviceFit int

const (
	// DevicesFit: the node can take the pod.
	DevicesFit DeviceFit = iota
	// DevicesTaken: it could, if other pods left.
	DevicesTaken
	// TooFewDevices: it never has as many.
	TooFewDevices
	// WrongModel: its GPUs are of a model that the pod does not accept.
	WrongModel
)

// Devices says whether a node has the GPUs that the pod asks for, and which ones it would take, such as `0,1`: the
// fullest that fit, as `longshore schedule` does. The pod itself, where it is on the node already, is passed over.
func (n *Needs) Devices(pod *v1.Pod, info fwk.NodeInfo, held *Held) (string, DeviceFit) {
	count, model := devicesOf(info.Node())
	if !accepts(n.gpu.models, model) {
		return "", WrongModel
	}
	if count < n.gpu.count {
		return "", TooFewDevices
	}
	on := node{nodeFacts: nodeFacts{gpuCount: count}}
	on.bookDevices(held.podsOn(info), held, pod)
	taken := on.holdFullest(n.gpu)
	if bits.OnesCount64(taken) < n.gpu.count {
		return "", DevicesTaken
	}
	return devicesText(taken), DevicesFit
}

// LatencyFit is how a pod's hard limit and a node's latency go together.
type LatencyFit int

const (
	// WithinLimit: the node is near enough.
	WithinLimit LatencyFit = iota
	// BeyondLimit: it is not.
	BeyondLimit
	// NotMeasured: nobody knows.
	NotMeasured
)

// Latency says whether a node is within the pod's hard limit.
func (n *Needs) Latency(object *v1.Node, readings Readings) LatencyFit {
	reading, given := readings.byNode[object.Name]
	millis := reading.LatencyMillis
	if !given {
		millis = numberOr(object.Annotations, latencyKey, math.NaN())
	}
	switch {
	case !known(millis):
		return NotMeasured
	case millis <= n.latencyHard:
		return WithinLimit
	default:
		return BeyondLimit
	}
}

// MayBeNearer says whether other readings may have made a node near enough for the pod that was not before. A node whose
// latency is not known is, where isGuessed.
func (n *Needs) MayBeNearer(before, now Readings, isGuessed bool) bool {
	isNear := func(reading Reading) bool {
		if !known(reading.LatencyMillis) {
			return isGuessed
		}
		return reading.LatencyMillis <= n.latencyHard
	}
	for name, reading := range now.byNode {
		// Of a node that was not named until now, its annotation may have said something else.
		if earlier, wasNamed := before.byNode[name]; isNear(reading) && (!wasNamed || !isNear(earlier)) {
			return true
		}
	}
	for name := range before.byNode {
		if _, isNamed := now.byNode[name]; !isNamed {
			return true
		}
	}
	return false
}

// devicesOf returns how many GPUs a node has, and of which model.
func devicesOf(object *v1.Node) (count int, model string) {
	notes := object.Annotations
	if number, ok := whole(notes[gpuCountKey], 0, maxDevices); ok {
		count = number
	}
	model, given := notes[gpuModelKey]
	if !given {
		model = object.Labels[gpuModelKey]
	}
	return count, model
}

// devicesText names devices, one for each bit, as the annotation does.
func devicesText(taken uint64) string {
	var names []string
	for ; taken != 0; taken &= taken - 1 {
		names = append(names, strconv.Itoa(bits.TrailingZeros64(taken)))
	}
	return strings.Join(names, ",")
}
