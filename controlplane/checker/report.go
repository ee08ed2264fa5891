package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"longshore.dev/controlplane/upstream"
)

// kind is what a binding or an eviction can be wrong about.
type kind string

const (
	resources  kind = "resources"
	ports      kind = "ports"
	devices    kind = "devices"
	boundTwice kind = "bound twice"
	others     kind = "other filters"
	evictions  kind = "evicted without need"
)

// maxShown is how many violations are described; all are counted.
const maxShown = 50

// report is what the checker found, as it is printed.
type report struct {
	Upstream  string `json:"upstream"`
	Revisions int    `json:"revisions"`
	Bindings  int    `json:"bindings"`
	Evictions int    `json:"evictions"`
	// Unexplained are evictions of which neither an event nor a promise says for whom they were.
	Unexplained int          `json:"unexplained"`
	Violations  map[kind]int `json:"violations"`
	// Excused would be violations, had nothing changed a moment before or after.
	Excused map[kind]int `json:"excused"`
	Shown   []violation  `json:"shown"`
}

type violation struct {
	Kind     kind   `json:"kind"`
	Revision int64  `json:"revision"`
	Pod      string `json:"pod"`
	Node     string `json:"node"`
	Why      string `json:"why"`
}

func newReport() report {
	made := report{Upstream: upstream.Version(), Violations: map[kind]int{}, Excused: map[kind]int{}, Shown: []violation{}}
	for _, kind := range []kind{resources, ports, devices, boundTwice, others, evictions} {
		made.Violations[kind], made.Excused[kind] = 0, 0
	}
	return made
}

func (r *report) violate(kind kind, at change, pod *corev1.Pod, why string) {
	r.Violations[kind]++
	if len(r.Shown) < maxShown {
		shown := violation{Kind: kind, Revision: at.revision, Pod: klog.KObj(pod).String(), Node: pod.Spec.NodeName, Why: why}
		r.Shown = append(r.Shown, shown)
	}
}
