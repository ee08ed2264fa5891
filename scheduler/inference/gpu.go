package inference

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// gpuState is what of a node's GPUs does not depend on the pod to be placed.
type gpuState struct {
	size, idle, free     int64 // milli: all devices; what is left, over-committed devices left out, and with them
	numFree, numPartly   int   // devices that nobody uses; that are neither free nor full
	numIdle              int   // devices that count as idle in PWR's model
	fragment, potential  float64
	idleWatts, busyWatts float64 // what one device draws
}

// take is what a pod would take from the devices of a node: milli of each of count devices that have left free.
type take struct{ left, milli, count int64 }

// holder is a bound pod that holds GPUs.
type holder struct {
	wants gpuRequest
	says  string
	isSet bool
}

// pwrWatts returns PWR's figures (CCGrid'25) for a GPU model: what one device draws when idle and when not.
func pwrWatts(model string) (idle, busy float64) {
	switch model {
	case "T4":
		return 10, 70
	case "A10", "G2":
		return 30, 150
	case "P100":
		return 25, 250
	case "V100", "V100M16", "V100M32":
		return 30, 300
	case "A100", "G3":
		return 50, 400
	}
	return 30, 250
}

// bookDevices gives the pods of a node the devices that they say they hold, then the others those that fit best.
// `except` is passed over; nil = nobody is.
func (n *node) bookDevices(pods []fwk.PodInfo, held *Held, except *v1.Pod) {
	n.gpuUsed = zeroed(n.gpuUsed, n.gpuCount)
	n.booking = n.booking[:0]
	for _, info := range pods {
		pod := info.GetPod()
		if wants, ok := gpuOfBound(pod); ok && (except == nil || pod.UID != except.UID) {
			n.booking = append(n.booking, holder{wants: wants, says: held.saidBy(pod)})
		}
	}
	for i := range n.booking {
		n.booking[i].isSet = n.holdNamed(&n.booking[i])
	}
	for i := range n.booking {
		if one := &n.booking[i]; !one.isSet {
			n.holdFullest(one.wants)
		}
	}
}

// gpuOfBound returns what a pod on a node holds of GPUs; what cannot be read holds nothing.
func gpuOfBound(pod *v1.Pod) (gpuRequest, bool) {
	if len(pod.Annotations) == 0 {
		return gpuRequest{}, false
	}
	wants, ok := gpuRequestOf(pod.Annotations)
	return wants, ok && wants.count > 0
}

// holdNamed books the devices that a pod says it holds, if the node has them, they are as many as it asks for, and
// none would be given away twice.
func (n *node) holdNamed(one *holder) bool {
	if one.says == "" {
		return false
	}
	named, count, rest := uint64(0), 0, one.says
	for more := true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		device, ok := whole(part, 0, n.gpuCount-1)
		if !ok || named&(1<<device) != 0 || n.gpuUsed[device]+int64(one.wants.milli) > wholeGPU {
			return false
		}
		named |= 1 << device
		count++
	}
	if count != one.wants.count {
		return false
	}
	for device := range n.gpuUsed {
		if named&(1<<device) != 0 {
			n.gpuUsed[device] += int64(one.wants.milli)
		}
	}
	return true
}

// holdFullest books the fullest devices that have enough left, the first of equals first, and returns a bit for each;
// fewer than wanted where there are no more.
func (n *node) holdFullest(wants gpuRequest) (taken uint64) {
	milli := int64(wants.milli)
	for range wants.count {
		best := -1
		for device, used := range n.gpuUsed {
			if taken&(1<<device) == 0 && wholeGPU-used >= milli && (best < 0 || used > n.gpuUsed[best]) {
				best = device
			}
		}
		if best < 0 {
			break
		}
		taken |= 1 << best
		n.gpuUsed[best] += milli
	}
	return taken
}

// countDevices works out what is left of the devices.
func (n *node) countDevices(t *typical) {
	state := gpuState{size: int64(n.gpuCount) * wholeGPU}
	state.idleWatts, state.busyWatts = pwrWatts(n.gpuModel)
	for _, used := range n.gpuUsed {
		free := wholeGPU - used
		state.free += free
		state.idle += max(free, 0)
		switch {
		case used == 0:
			state.numFree++
		case used > 0 && used < wholeGPU:
			state.numPartly++
		}
		if free >= wholeGPU {
			state.numIdle++
		}
	}
	n.gpu = state
	t.offerAll(n)
	n.gpu.fragment = t.fragment(n, take{}, state.idle, n.cpu-n.cpuAsked)
	n.gpu.potential = t.potential(n, take{}, n.cpu-n.cpuAsked)
}

// takeFullest returns what a pod takes if it takes the fullest devices that fit.
func (n *node) takeFullest(wants *gpuRequest) take {
	milli, left := int64(wants.milli), int64(-1)
	for _, used := range n.gpuUsed {
		if free := wholeGPU - used; free >= milli && (left < 0 || free < left) {
			left = free
		}
	}
	if left < 0 || milli == 0 {
		left = milli
	}
	return take{left, milli, int64(wants.count)}
}

func (t take) leftAfter() int64 { return t.left - t.milli }
func (t take) total() int64     { return t.count * t.milli }
func (t take) isShare() bool    { return t.milli > 0 && t.milli < wholeGPU }

// freeAfter returns the devices that nobody uses, with the pod on the node.
func (n *node) freeAfter(t take) int { return n.gpu.numFree - int(t.opened()) }

// opened returns how many devices that nobody uses the pod takes.
func (t take) opened() int64 {
	if t.left >= wholeGPU {
		return t.count
	}
	return 0
}

// PWR's model of CPUs: vCPUs come two to a core, cores sixteen to a socket.
const (
	milliPerCore    = 2000
	coresPerSocket  = 16
	socketIdleWatts = 15.0
	socketBusyWatts = 120.0
)

// pwrNodeWatts returns what a node draws by PWR's model with a pod that takes devices and CPU.
func (n *node) pwrNodeWatts(t take, cpu int64) float64 {
	idle := int64(n.gpu.numIdle) - t.opened()
	busy := int64(n.gpuCount) - idle
	cores := ceilDiv(n.cpu, milliPerCore)
	sockets := ceilDiv(cores, coresPerSocket)
	active := ceilDiv(cores-max(n.cpu-n.cpuAsked-cpu, 0)/milliPerCore, coresPerSocket)
	ofGPUs := float64(idle)*n.gpu.idleWatts + float64(busy)*n.gpu.busyWatts
	return ofGPUs + (float64(sockets-active)*socketIdleWatts + float64(active)*socketBusyWatts)
}

// ceilDiv rounds up; the divisor is positive, the number may be anything.
func ceilDiv(number, by int64) int64 {
	if number > 0 {
		return (number + by - 1) / by
	}
	return -(-number / by)
}

func zeroed[Number int64 | uint64 | uint16 | float64 | float32 | int32](values []Number, length int) []Number {
	if cap(values) < length {
		return make([]Number, length)
	}
	values = values[:length]
	clear(values)
	return values
}
