package longshore

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
)

// Reasons of the Kubernetes events, which stand at the pod that was being scheduled.
const (
	// EventFallback: upstream's scores were used.
	EventFallback = "LongshoreFallback"
	// EventModelKept: a new bundle could not be used; the last good one goes on scoring.
	EventModelKept = "LongshoreModelKept"
)

// announcer makes Kubernetes events, at most one per reason in an interval: a failing model meets every pod.
type announcer struct {
	recorder events.EventRecorder
	clock    clock.PassiveClock
	interval time.Duration

	mutex sync.Mutex
	next  map[string]time.Time
}

func newAnnouncer(recorder events.EventRecorder, clock clock.PassiveClock, interval time.Duration) *announcer {
	return &announcer{recorder: recorder, clock: clock, interval: interval, next: map[string]time.Time{}}
}

// announce makes an event unless one of that reason was made a short while ago.
func (a *announcer) announce(pod *v1.Pod, reason, note string) {
	if a.recorder == nil || !a.isDue(reason) {
		return
	}
	a.recorder.Eventf(pod, nil, v1.EventTypeWarning, reason, "Scoring", "%s", note)
}

func (a *announcer) isDue(reason string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := a.clock.Now()
	if now.Before(a.next[reason]) {
		return false
	}
	a.next[reason] = now.Add(a.interval)
	return true
}
