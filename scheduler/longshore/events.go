package longshore

import (
	"sync"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/utils/clock"
)

// Reasons of the Kubernetes events, which stand at the pod that was being scheduled.
const (
	// EventFallback: upstream's scores were used.
	EventFallback = "LongshoreFallback"
	// EventModelKept: a new bundle could not be used; the last good one goes on scoring.
	EventModelKept = "LongshoreModelKept"
	// EventReadingsKept: the file of readings could not be read; the last good ones are used until they are too old.
	EventReadingsKept = "LongshoreReadingsKept"
	// EventLogUnreachable: the decision log does not take what is sent.
	EventLogUnreachable = "LongshoreDecisionLogUnreachable"
)

// longestNote is as much as the API server takes; an event with a longer one is refused.
const longestNote = validation.NoteLengthLimit

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
	a.recorder.Eventf(pod, nil, v1.EventTypeWarning, reason, "Scoring", "%s", shortened(note))
}

// shortened cuts a text to what an event may hold, between two characters.
func shortened(note string) string {
	const suffix = " ..."
	if len(note) <= longestNote {
		return note
	}
	end := longestNote - len(suffix)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + suffix
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
