package inference

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// DevicesAnnotation is where a bound pod says which GPUs it holds, such as `0,1`.
const DevicesAnnotation = gpuDevicesKey

// Held knows the GPUs that pods were given a moment ago: from when they are reserved until the pod is gone. What is
// bound is seen with its annotation only when the API server has told of it, and the next pod is ranked before that.
// The zero value is ready; nil holds nothing.
type Held struct {
	mutex sync.RWMutex
	byPod map[types.UID]string
	// fresh are the reservations since the last pod was begun. A snapshot of the nodes does not know them yet: the pods
	// of a group are reserved one after the other on the same snapshot.
	fresh []reservation
}

// reservation is a pod that was given GPUs on a node.
type reservation struct {
	pod  *v1.Pod
	node string
}

// Begin says that another pod is looked at, on a snapshot that knows all reservations until now.
func (h *Held) Begin() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.fresh = h.fresh[:0]
}

// Put notes what a pod was given on a node.
func (h *Held) Put(pod *v1.Pod, node, devices string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.byPod == nil {
		h.byPod = map[types.UID]string{}
	}
	h.byPod[pod.UID] = devices
	h.fresh = append(h.fresh, reservation{pod, node})
}

// Drop forgets a pod; one that is not known is fine.
func (h *Held) Drop(pod types.UID) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.byPod, pod)
	h.fresh = slices.DeleteFunc(h.fresh, func(one reservation) bool { return one.pod.UID == pod })
}

// Get returns what a pod was given; empty = nothing.
func (h *Held) Get(pod types.UID) string {
	h.mutex.RLock()
	defer h.mutex.RUnlock()
	return h.byPod[pod]
}

// saidBy returns the GPUs that a pod on a node says it holds. What was given here counts for more than its annotation:
// anybody may write one on a pod that waits.
func (h *Held) saidBy(pod *v1.Pod) string {
	if h != nil {
		if devices := h.Get(pod.UID); devices != "" {
			return devices
		}
	}
	return pod.Annotations[gpuDevicesKey]
}

// podsOn returns the pods of a node with those that were given GPUs there and are not in the snapshot yet.
func (h *Held) podsOn(info fwk.NodeInfo) []fwk.PodInfo {
	pods := info.GetPods()
	if h == nil {
		return pods
	}
	h.mutex.RLock()
	defer h.mutex.RUnlock()
	for _, one := range h.fresh {
		isThere := func(known fwk.PodInfo) bool { return known.GetPod().UID == one.pod.UID }
		if one.node != info.Node().Name || slices.ContainsFunc(pods, isThere) {
			continue
		}
		if added, err := framework.NewPodInfo(one.pod); err == nil { // its affinity was read before, when it was queued
			pods = append(slices.Clone(pods), added)
		}
	}
	return pods
}

// Holding tells a scorer of GPUs that pods were given a moment ago.
func Holding(held *Held) Option {
	return func(s *Scorer) { s.held = held }
}
