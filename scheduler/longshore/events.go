package longshore

import (
	"sync"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/utils/clock"
)

// Reasons of the Kubernetes events, which stand at the pod that was being scheduled.
const (
	// EventFallback: the policy did not rank; the profile's other score plugins did.
	EventFallback = "LongshoreFallback"
	// EventModelKept: a new bundle could not be used; the last good one goes on scoring.
	EventModelKept = "LongshoreModelKept"
	// EventReadingsKept: the file of readings could not be read; the last good ones are used until they are too old.
	EventReadingsKept = "LongshoreReadingsKept"
	// EventAnnotationIgnored: one of longshore's annotations at a pod cannot be read, and does not count.
	EventAnnotationIgnored = "LongshoreAnnotationIgnored"
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
	said  map[string]time.Time
}

func newAnnouncer(recorder events.EventRecorder, clock clock.PassiveClock, interval time.Duration) *announcer {
	return &announcer{recorder: recorder, clock: clock, interval: interval, said: map[string]time.Time{}}
}

// announce makes an event unless one of that reason was made a short while ago.
func (a *announcer) announce(pod *v1.Pod, reason, note string) {
	if a.recorder == nil || !a.isDue(reason) {
		return
	}
	a.recorder.Eventf(pod, nil, v1.EventTypeWarning, reason, "Scoring", "%s", shortened(note))
}

// passOver says once what of a pod's annotations does not count.
func (p *Longshore) passOver(pod *v1.Pod, what string) {
	recorder := p.handle.EventRecorder()
	if recorder != nil && p.passedOver.isNews(pod.UID, what) {
		recorder.Eventf(pod, nil, v1.EventTypeWarning, EventAnnotationIgnored, "Scheduling", "%s", shortened("It does not count: "+what))
	}
}

// told remembers what was said of pods.
type told struct {
	mutex sync.Mutex
	texts map[types.UID]string
}

func (t *told) isNews(uid types.UID, text string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if before, isTold := t.texts[uid]; isTold && before == text {
		return false
	}
	if t.texts == nil {
		t.texts = map[types.UID]string{}
	}
	t.texts[uid] = text
	return true
}

func (t *told) drop(uid types.UID) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.texts, uid)
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
	if said, isSaid := a.said[reason]; isSaid && isWithin(said, now, a.interval) {
		return false
	}
	a.said[reason] = now
	return true
}
