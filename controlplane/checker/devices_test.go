package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func withDevices(name, count, milli, held string) *corev1.Pod {
	pod := makePod(name, "1")
	pod.Annotations = map[string]string{countKey: count, milliKey: milli, devicesKey: held}
	return pod
}

func TestDevices(t *testing.T) {
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want int
	}{
		"two halves of one":       {[]*corev1.Pod{withDevices("a", "1", "500", "0"), withDevices("b", "1", "500", "0")}, 0},
		"more than one has":       {[]*corev1.Pod{withDevices("a", "1", "600", "1"), withDevices("b", "1", "500", "1")}, 1},
		"two whole ones":          {[]*corev1.Pod{withDevices("a", "2", "1000", "0,1")}, 0},
		"one that does not exist": {[]*corev1.Pod{withDevices("a", "1", "500", "2")}, 1},
		"fewer than wanted":       {[]*corev1.Pod{withDevices("a", "2", "1000", "0")}, 1},
		"none written":            {[]*corev1.Pod{withDevices("a", "1", "500", "")}, 1},
		"the same one twice":      {[]*corev1.Pod{withDevices("a", "2", "1000", "0,0")}, 1},
		"a request without sense": {[]*corev1.Pod{withDevices("a", "many", "500", "")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			node := makeNode("n", "8")
			node.Annotations = map[string]string{countKey: "2"}
			s.put(node)
			for _, pod := range test.pods {
				s.bind(pod, "n")
			}
			s.expect(map[kind]int{devices: test.want}, nil)
		})
	}
}

func TestTheModelMustBeAccepted(t *testing.T) {
	s := newStory(t)
	node := makeNode("n", "8")
	node.Annotations = map[string]string{countKey: "2"}
	node.Labels[modelKey] = "T4"
	s.put(node)
	accepted, refused := withDevices("a", "1", "500", "0"), withDevices("b", "1", "500", "1")
	accepted.Annotations[modelKey], refused.Annotations[modelKey] = "A100|T4", "A100"
	s.bind(accepted, "n")
	s.bind(refused, "n")
	s.expect(map[kind]int{devices: 1}, nil)
}
