package main

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"longshore.dev/controlplane/upstream"
)

func TestMain(m *testing.M) {
	upstream.SilenceLogs()
	m.Run()
}

// story is a history that a test writes.
type story struct {
	t        *testing.T
	checker  *checker
	revision int64
	now      time.Time
}

func newStory(t *testing.T) *story {
	checker, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	return &story{t: t, checker: checker, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// wait lets time go by; a write says so, as in a real history.
func (s *story) wait(seconds int) {
	s.now = s.now.Add(time.Duration(seconds) * time.Second)
	s.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clock"}})
}

func (s *story) put(objects ...object) {
	for _, object := range objects {
		s.take(object, object)
	}
}

func (s *story) remove(object object) { s.take(object, nil) }

func (s *story) take(of, object object) {
	s.t.Helper()
	s.revision++
	if err := s.checker.take(change{revision: s.revision, key: keyOf(of), object: object, time: s.now}); err != nil {
		s.t.Fatal(err)
	}
}

func keyOf(object object) string {
	return fmt.Sprintf("%s%T/%s/%s", root, object, object.GetNamespace(), object.GetName())
}

// tell writes the event of an eviction.
func (s *story) tell(victim, preemptor *corev1.Pod) {
	s.put(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "event-" + victim.Name},
		Reason:         preempted,
		InvolvedObject: corev1.ObjectReference{UID: victim.UID},
		Related:        &corev1.ObjectReference{UID: preemptor.UID},
	})
}

// expect compares the counts that are not 0.
func (s *story) expect(violations, excused map[kind]int) {
	s.t.Helper()
	if err := s.checker.finish(); err != nil {
		s.t.Fatal(err)
	}
	for kind, count := range s.checker.report.Violations {
		if count != violations[kind] {
			s.t.Errorf("violations, %s: got %d, expected %d: %+v", kind, count, violations[kind], s.checker.report.Shown)
		}
	}
	for kind, count := range s.checker.report.Excused {
		if count != excused[kind] {
			s.t.Errorf("excused, %s: got %d, expected %d", kind, count, excused[kind])
		}
	}
}

func makeNode(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
}

func makePod(name, cpu string) *corev1.Pod {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}
}

func on(pod *corev1.Pod, node string) *corev1.Pod {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	return bound
}

// bind creates a pod and binds it.
func (s *story) bind(pod *corev1.Pod, node string) {
	s.t.Helper()
	s.put(pod, on(pod, node))
}

func TestBindingsThatFitAreWell(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	s.bind(makePod("one", "2"), "a")
	s.bind(makePod("two", "2"), "a")
	s.expect(nil, nil)
	if s.checker.report.Bindings != 2 {
		t.Errorf("bindings: got %d, expected 2", s.checker.report.Bindings)
	}
}

func TestAnOverfullNodeIsSeen(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	s.bind(makePod("one", "2"), "a")
	s.bind(makePod("two", "3"), "a")
	s.expect(map[kind]int{resources: 1}, nil)
}

func TestWhatAPodThatEndedHadIsFree(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	one := makePod("one", "4")
	s.bind(one, "a")
	ended := on(one, "a")
	ended.Status.Phase = corev1.PodSucceeded
	s.put(ended)
	two := makePod("two", "4")
	s.bind(two, "a")
	s.remove(on(two, "a"))
	s.bind(makePod("three", "4"), "a")
	s.expect(nil, nil)
}

func TestRoomThatWasGoneForLongIsNotExcused(t *testing.T) {
	for seconds, isExcused := range map[int]bool{1: true, 30: false} {
		s := newStory(t)
		s.put(makeNode("a", "4"))
		s.wait(60)
		s.put(makeNode("a", "1"))
		s.wait(seconds)
		s.bind(makePod("one", "2"), "a")
		if isExcused {
			s.expect(nil, map[kind]int{resources: 1})
		} else {
			s.expect(map[kind]int{resources: 1}, nil)
		}
	}
}

func TestRoomThatABindingTookIsNeverExcused(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	s.bind(makePod("one", "4"), "a")
	changed := makeNode("a", "4")
	changed.Labels["new"] = "yes"
	s.put(changed)
	s.bind(makePod("two", "4"), "a")
	s.expect(map[kind]int{resources: 1}, nil)
}

func TestRoomThatAStaticPodTookIsExcusedWhileItIsNew(t *testing.T) {
	for seconds, isExcused := range map[int]bool{1: true, 30: false} {
		s := newStory(t)
		s.put(makeNode("a", "4"))
		s.wait(60)
		s.put(on(makePod("static", "4"), "a"))
		s.wait(seconds)
		s.bind(makePod("one", "1"), "a")
		if isExcused {
			s.expect(nil, map[kind]int{resources: 1})
		} else {
			s.expect(map[kind]int{resources: 1}, nil)
		}
	}
}

func TestAPortIsTakenOnce(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	for _, name := range []string{"one", "two"} {
		pod := makePod(name, "1")
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}}
		s.bind(pod, "a")
	}
	s.expect(map[kind]int{ports: 1}, nil)
}

func TestAPodThatMovesWasBoundTwice(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"), makeNode("b", "4"))
	pod := makePod("one", "1")
	s.bind(pod, "a")
	s.put(on(pod, "b"))
	s.expect(map[kind]int{boundTwice: 1}, nil)
}

func TestATaintIsExcusedOnlyIfItIsNew(t *testing.T) {
	for seconds, isExcused := range map[int]bool{2: true, 5: false} {
		s := newStory(t)
		tainted := makeNode("a", "4")
		tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		s.put(makeNode("a", "4"))
		s.wait(60)
		s.put(tainted)
		s.wait(seconds)
		s.bind(makePod("one", "1"), "a")
		if isExcused {
			s.expect(nil, map[kind]int{others: 1})
		} else {
			s.expect(map[kind]int{others: 1}, nil)
		}
	}
}

func TestAChangeThatDoesNotExplainExcusesNothing(t *testing.T) {
	s := newStory(t)
	tainted := makeNode("a", "4")
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	s.put(tainted)
	s.wait(60)
	labelled := tainted.DeepCopy()
	labelled.Labels["new"] = "yes"
	s.put(labelled)
	s.bind(makePod("one", "1"), "a")
	s.expect(map[kind]int{others: 1}, nil)
}

func TestANodeThatIsGone(t *testing.T) {
	for seconds, isExcused := range map[int]bool{1: true, 30: false} {
		s := newStory(t)
		s.put(makeNode("a", "4"))
		s.wait(60)
		s.remove(makeNode("a", "4"))
		s.wait(seconds)
		s.bind(makePod("one", "2"), "a")
		if isExcused {
			s.expect(nil, map[kind]int{others: 1})
		} else {
			s.expect(map[kind]int{others: 1}, nil)
		}
	}
}

func affine(name, to string) *corev1.Pod {
	pod := makePod(name, "1")
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": to}},
			TopologyKey:   "kubernetes.io/hostname",
		}},
	}}
	return pod
}

func TestASchedulerKnowsItsOwnBindingsBeforehand(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	one := makePod("one", "1")
	s.put(one)
	s.bind(affine("two", "one"), "a")
	s.put(on(one, "a"))
	s.expect(nil, map[kind]int{others: 1})
}

func TestAffinityToNobodyIsAViolation(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"))
	s.bind(affine("two", "one"), "a")
	s.expect(map[kind]int{others: 1}, nil)
}

func TestLookingAtOtherViewsLeavesTheClusterAsItWas(t *testing.T) {
	s := newStory(t)
	s.put(makeNode("a", "4"), makeNode("b", "4"))
	one := makePod("one", "4")
	s.bind(one, "a")
	s.wait(60)
	s.remove(on(one, "a"))
	s.remove(makeNode("b", "4"))
	s.bind(affine("two", "nobody"), "a") // every view is looked at, in vain
	s.bind(makePod("three", "3"), "a")
	s.bind(makePod("four", "1"), "a")
	s.expect(map[kind]int{others: 1, resources: 1}, nil)
}
