package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// counted are the filters of what bindings use up. Bindings are never taken back in other views, so that a scheduler
// is excused only where somebody else took room a moment ago.
var counted = map[string]kind{
	names.NodeResourcesFit: resources,
	names.NodePorts:        ports,
}

// judgeBinding says whether upstream's filters let a pod go to the node that it was bound to.
func (k *checker) judgeBinding(bound *corev1.Pod, next change) error {
	k.report.Bindings++
	// The pod as it is bound, but for the node: bindings carry annotations, too.
	pod := bound.DeepCopy()
	pod.Spec.NodeName = ""
	node := bound.Spec.NodeName
	if k.cluster.node(node) != nil {
		if reason := devicesProblem(pod, k.cluster.node(node)); reason != "" {
			k.report.violate(devices, next, bound, reason)
		}
	}
	status, err := k.cluster.refusal(pod, node)
	if err != nil || status == nil {
		return err
	}
	isExcused, err := k.anyView(func() (bool, error) {
		status, err := k.cluster.refusal(pod, node)
		return status == nil, err
	})
	if err != nil {
		return err
	}
	kind, isCounted := counted[status.Plugin()]
	if !isCounted {
		kind = others
	}
	if isExcused {
		k.report.Excused[kind]++
		return nil
	}
	k.report.violate(kind, next, bound, fmt.Sprintf("%s: %s", status.Plugin(), strings.Join(status.Reasons(), ", ")))
	return nil
}

// refusal is what upstream's filters say against a pod on a node; nil = nothing.
func (c *cluster) refusal(pod *corev1.Pod, node string) (*fwk.Status, error) {
	info := c.node(node)
	if info == nil {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the node is gone"), nil
	}
	state := framework.NewCycleState()
	result, status, plugins := c.framework.RunPreFilterPlugins(c.ctx, state, pod)
	if status.IsSuccess() && !result.AllNodes() && !result.NodeNames.Has(node) {
		status = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("not among the nodes of %v", plugins.UnsortedList()))
	}
	if status.IsSuccess() {
		status = c.framework.RunFilterPlugins(c.ctx, state, pod, info)
	}
	switch {
	case status.IsSuccess():
		return nil, nil
	case status.IsRejected():
		return status, nil
	}
	return nil, fmt.Errorf("upstream's filters on pod %s: %w", klog.KObj(pod), status.AsError())
}
