package main

import (
	"crypto/rand"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// staleness is how old a scheduler's view may be: what changed within it, before or after, excuses.
	staleness = 3 * time.Second
	// lookahead is how far ahead the history is read: events come later than the evictions that they tell of.
	lookahead = 10 * time.Second
)

// checker walks through a history and judges every binding and every eviction on the state before it.
type checker struct {
	name       string // in markers
	namespace  string // of the pods that are judged; "" = all
	cluster    *cluster
	ahead      []change                // read, not yet part of the cluster
	behind     []undo                  // changes of the last moments that matter, the oldest first
	departed   []departure             // pods that waited until a moment ago, the oldest first
	now        time.Time               // of the newest change that was read
	at         time.Time               // of the change that is judged
	preemptors map[types.UID]types.UID // from events, by the victim
	judged     map[types.UID]bool      // victims
	report     report
}

// undo takes one change back.
type undo struct {
	key    string
	before object
	time   time.Time
}

func newChecker() (*checker, error) {
	cluster, err := newCluster()
	return &checker{
		name:       rand.Text(),
		cluster:    cluster,
		preemptors: map[types.UID]types.UID{},
		judged:     map[types.UID]bool{},
		report:     newReport(),
	}, err
}

// take reads one change more.
func (k *checker) take(c change) error {
	if event, isEvent := c.object.(*corev1.Event); isEvent {
		k.hear(event)
		return nil
	}
	// Objects tell of the past, too: the clock never goes back.
	if c.time.After(k.now) {
		k.now = c.time
	}
	c.time = k.now
	k.ahead = append(k.ahead, c)
	for k.now.Sub(k.ahead[0].time) > lookahead {
		if err := k.step(); err != nil {
			return err
		}
	}
	return nil
}

// finish judges what is left when the history ends.
func (k *checker) finish() error {
	for len(k.ahead) > 0 {
		if err := k.step(); err != nil {
			return err
		}
	}
	return nil
}

// step judges the next change and makes it.
func (k *checker) step() error {
	next := k.ahead[0]
	k.ahead = k.ahead[1:]
	k.at = next.time
	for len(k.behind) > 0 && k.at.Sub(k.behind[0].time) > staleness {
		k.behind = k.behind[1:]
	}
	for len(k.departed) > 0 && k.at.Sub(k.departed[0].time) > staleness {
		k.departed = k.departed[1:]
	}
	before := k.cluster.objects[next.key]
	if before == nil && next.object == nil {
		return nil // made before the history begins, and nothing to be judged
	}
	if err := k.judge(before, next); err != nil {
		return err
	}
	if matters(before, next.object) {
		k.behind = append(k.behind, undo{key: next.key, before: before, time: k.at})
	}
	if old, wasPod := before.(*corev1.Pod); wasPod && old.Spec.NodeName == "" {
		if pod, _ := next.object.(*corev1.Pod); pod == nil || pod.UID != old.UID || pod.Spec.NodeName != "" {
			k.departed = append(k.departed, departure{pod: old, time: k.at})
		}
	}
	k.report.Revisions++
	return k.cluster.set(next.key, next.object)
}

func (k *checker) judge(before object, next change) error {
	old, wasPod := before.(*corev1.Pod)
	pod, isPod := next.object.(*corev1.Pod)
	switch {
	case k.namespace != "" && either(before, next.object).GetNamespace() != k.namespace:
		return nil
	case wasPod && isEvicted(old, pod):
		return k.judgeEviction(old, next)
	case isBinding(before, next.object):
		return k.judgeBinding(pod, next)
	case wasPod && isPod && old.UID == pod.UID && old.Spec.NodeName != pod.Spec.NodeName:
		k.report.violate(boundTwice, next, pod, "first to "+old.Spec.NodeName)
	}
	return nil
}

// anyView says whether something holds on a state that a scheduler may have seen: an older one, or one with bindings
// and promises of its own that are on their way. The cluster is afterwards as before.
func (k *checker) anyView(holds func() (bool, error)) (bool, error) {
	all := func(object) bool { return true }
	isNode := func(o object) bool { _, is := o.(*corev1.Node); return is }
	others := func(o object) bool { return !isNode(o) }
	// Watches are independent of each other: one may be late alone.
	for _, isLate := range []func(object) bool{all, isNode, others} {
		for _, knowsOwn := range []bool{false, true} {
			if found, err := k.viewed(isLate, knowsOwn, holds); found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// viewed takes changes back one by one, the newest first, with or without a scheduler's own writes to come.
func (k *checker) viewed(isLate func(object) bool, knowsOwn bool, holds func() (bool, error)) (found bool, err error) {
	var redo []undo
	show := func(key string, shown object) (bool, error) {
		redo = append(redo, undo{key: key, before: k.cluster.objects[key]})
		if err := k.cluster.set(key, shown); err != nil {
			return false, err
		}
		return holds()
	}
	defer func() {
		for _, step := range slices.Backward(redo) {
			if again := k.cluster.set(step.key, step.before); again != nil && err == nil {
				err = again
			}
		}
	}()
	if knowsOwn {
		for _, own := range k.own() {
			if found, err = show(own.key, own.object); found || err != nil {
				return found, err
			}
		}
	}
	for _, late := range slices.Backward(k.behind) {
		if isLate(either(late.before, k.cluster.objects[late.key])) {
			if found, err = show(late.key, late.before); found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// own lists the bindings and promises that are about to be written.
func (k *checker) own() []change {
	var own []change
	latest := map[string]object{}
	for _, next := range k.ahead {
		if next.time.Sub(k.at) > staleness {
			break
		}
		before, isSeen := latest[next.key]
		if !isSeen {
			before = k.cluster.objects[next.key]
		}
		if isBinding(before, next.object) || isPromise(before, next.object) {
			own = append(own, next)
		}
		latest[next.key] = next.object
	}
	return own
}
