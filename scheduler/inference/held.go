package inference

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DevicesAnnotation is where a bound pod says which GPUs it holds, such as `0,1`.
const DevicesAnnotation = gpuDevicesKey

// Held knows the GPUs that pods were given a moment ago: from when they are reserved until the pod is gone. What is
// bound is seen with its annotation only when the API server has told of it, and the next pod is ranked before that.
// The zero value is ready; nil holds nothing.
type Held struct {
	mutex sync.RWMutex
	byPod map[types.UID]string
}

// Put notes what a pod was given.
func (h *Held) Put(pod types.UID, devices string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.byPod == nil {
		h.byPod = map[types.UID]string{}
	}
	h.byPod[pod] = devices
}

// Drop forgets a pod; one that is not known is fine.
func (h *Held) Drop(pod types.UID) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.byPod, pod)
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

// Holding tells a scorer of GPUs that pods were given a moment ago.
func Holding(held *Held) Option {
	return func(s *Scorer) { s.held = held }
}
