package longshore

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/utils/clock"
)

// health says what kube-scheduler's own metrics do not: how old its view of the cluster is, and how long it has waited for
// the API server's answer to a binding.
type health struct {
	clock   clock.PassiveClock
	metrics *pluginMetrics
	watches []*watch // of the poll alone

	mutex sync.Mutex
	// sent is when each binding was sent that has no answer.
	sent map[types.UID]time.Time
}

// watch is the watch of one resource. A quiet one gets a bookmark every minute, and with it a new version: nodes renew
// their leases all the time.
type watch struct {
	resource string
	informer interface{ LastSyncResourceVersion() string }
	version  string
	heard    time.Time
}

func newHealth(factory informers.SharedInformerFactory, metrics *pluginMetrics, clock clock.PassiveClock) *health {
	core := factory.Core().V1()
	now := clock.Now()
	return &health{
		clock:   clock,
		metrics: metrics,
		watches: []*watch{
			{resource: "nodes", informer: core.Nodes().Informer(), heard: now},
			{resource: "pods", informer: core.Pods().Informer(), heard: now},
		},
		sent: map[types.UID]time.Time{},
	}
}

// sending notes that a binding is sent; what it returns notes the answer.
func (h *health) sending(uid types.UID) (answered func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sent[uid] = h.clock.Now()
	return func() {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		delete(h.sent, uid)
	}
}

// poll brings the metrics up to date.
func (h *health) poll() {
	now := h.clock.Now()
	for _, each := range h.watches {
		if version := each.informer.LastSyncResourceVersion(); version != each.version {
			each.version, each.heard = version, now
		}
		h.metrics.watchAge(each.resource).Set(max(0, now.Sub(each.heard).Seconds()))
	}
	count, oldest := h.waiting(now)
	h.metrics.bindsInFlight.Set(float64(count))
	h.metrics.oldestBind.Set(oldest.Seconds())
}

func (h *health) waiting(now time.Time) (count int, oldest time.Duration) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, sent := range h.sent {
		oldest = max(oldest, now.Sub(sent))
	}
	return len(h.sent), oldest
}
