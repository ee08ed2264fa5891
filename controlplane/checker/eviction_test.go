package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func withPriority(pod *corev1.Pod, priority int32) *corev1.Pod {
	pod.Spec.Priority = &priority
	return pod
}

func (s *story) evict(pod *corev1.Pod) {
	marked := pod.DeepCopy()
	marked.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
	}}
	s.put(marked)
	s.remove(marked)
}

// full gives a node that is full of four small pods, and a pod that waits.
func full(t *testing.T, wanted string) (s *story, small []*corev1.Pod, waiting *corev1.Pod) {
	s = newStory(t)
	s.put(makeNode("a", "4"))
	for _, name := range []string{"one", "two", "three", "four"} {
		pod := makePod(name, "1")
		s.bind(pod, "a")
		small = append(small, on(pod, "a"))
	}
	waiting = withPriority(makePod("big", wanted), 100)
	s.put(waiting)
	s.wait(60)
	return s, small, waiting
}

func TestAsManyVictimsAsNeededAreWell(t *testing.T) {
	s, small, big := full(t, "2")
	for _, victim := range small[:2] {
		s.evict(victim)
	}
	for _, victim := range small[:2] {
		s.tell(victim, big) // events come late
	}
	s.bind(big, "a")
	s.expect(nil, nil)
	if got := s.checker.report; got.Evictions != 2 || got.Unexplained != 0 {
		t.Errorf("got %+v, expected 2 evictions, both explained", got)
	}
}

func TestAVictimTooManyIsSeen(t *testing.T) {
	s, small, big := full(t, "1")
	changed := makeNode("a", "4")
	changed.Labels["new"] = "yes"
	s.put(changed) // explains nothing
	for _, victim := range small[:2] {
		s.evict(victim)
		s.tell(victim, big)
	}
	s.expect(map[kind]int{evictions: 1}, nil)
}

// mixed gives a node that is full of two small pods and a large one, and a pod that needs the room of either.
func mixed(t *testing.T, largeStarts time.Duration) (s *story, small []*corev1.Pod, waiting *corev1.Pod) {
	s = newStory(t)
	s.put(makeNode("a", "4"))
	for _, name := range []string{"one", "two", "large"} {
		size := map[string]string{"one": "1", "two": "1", "large": "2"}[name]
		start := metav1.NewTime(time.Unix(1_800_000_000, 0))
		if name == "large" {
			start = metav1.NewTime(start.Add(largeStarts))
		}
		pod := makePod(name, size)
		pod.Status.StartTime = &start
		s.bind(pod, "a")
		if name != "large" {
			small = append(small, on(pod, "a"))
		}
	}
	waiting = withPriority(makePod("big", "2"), 100)
	s.put(waiting)
	s.wait(60)
	return s, small, waiting
}

func TestWhoGoesOfThoseThatStartedTogetherIsOpen(t *testing.T) {
	for starts, want := range map[time.Duration]map[kind]int{0: nil, time.Second: {evictions: 1}} {
		s, small, big := mixed(t, starts)
		for _, victim := range small {
			s.evict(victim)
			s.tell(victim, big)
		}
		s.expect(want, nil)
	}
}

func TestAnEvictionThatDoesNotHelpIsSeen(t *testing.T) {
	s, small, big := full(t, "5")
	s.evict(small[0])
	s.tell(small[0], big)
	s.expect(map[kind]int{evictions: 1}, nil)
}

func TestAnEvictionForAPodThatFitsIsSeen(t *testing.T) {
	s, small, big := full(t, "1")
	s.remove(small[3])
	s.wait(60)
	s.evict(small[0])
	s.tell(small[0], big)
	s.expect(map[kind]int{evictions: 1}, nil)
}

func TestRoomThatHasJustBecomeFreeExcuses(t *testing.T) {
	s, small, big := full(t, "1")
	s.remove(small[3])
	s.evict(small[0])
	s.tell(small[0], big)
	s.expect(nil, map[kind]int{evictions: 1})
}

func TestAPromiseOfTheNodeCounts(t *testing.T) {
	s, small, big := full(t, "1")
	other := withPriority(makePod("other", "1"), 200)
	other.Status.NominatedNodeName = "a"
	s.remove(small[3])
	s.put(other)
	s.wait(60)
	s.evict(small[0])
	s.tell(small[0], big)
	s.expect(nil, nil)
}

func TestAPromiseExplainsWhereTheEventIsLost(t *testing.T) {
	s, small, big := full(t, "1")
	promised := big.DeepCopy()
	promised.Status.NominatedNodeName = "a"
	s.evict(small[0])
	s.put(promised)
	s.expect(nil, nil)
	if s.checker.report.Unexplained != 0 {
		t.Error("the eviction is unexplained")
	}
}

func TestAnEvictionForNobodyIsUnexplained(t *testing.T) {
	s, small, _ := full(t, "1")
	s.evict(small[0])
	s.expect(nil, nil)
	if s.checker.report.Unexplained != 1 {
		t.Errorf("unexplained: got %d, expected 1", s.checker.report.Unexplained)
	}
}
