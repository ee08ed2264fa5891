package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is what etcd holds under a key.
type object interface {
	runtime.Object
	metav1.Object
}

// change is one write to etcd.
type change struct {
	revision int64
	key      string
	object   object    // nil where the key was deleted
	time     time.Time // no later than the write
}

// isBinding says whether a write gave a pod its node.
func isBinding(before, after object) bool {
	old, wasPod := before.(*corev1.Pod)
	pod, isPod := after.(*corev1.Pod)
	return wasPod && isPod && old.UID == pod.UID && old.Spec.NodeName == "" && pod.Spec.NodeName != ""
}

// isFinished says whether a scheduler no longer counts a pod: its informer does not even ask for such pods.
func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// matters says whether a write, other than a binding, can change what upstream's filters say about other pods.
func matters(before, after object) bool {
	switch old := before.(type) {
	case *corev1.Pod:
		pod, _ := after.(*corev1.Pod)
		if old.Spec.NodeName == "" {
			return false // nobody counts it yet
		}
		return pod == nil || pod.UID != old.UID || isFinished(pod) != isFinished(old) ||
			(pod.DeletionTimestamp == nil) != (old.DeletionTimestamp == nil) ||
			!equality.Semantic.DeepEqual(old.Labels, pod.Labels) || !equality.Semantic.DeepEqual(old.Spec, pod.Spec)
	case *corev1.Node:
		node, _ := after.(*corev1.Node)
		return node == nil || !equality.Semantic.DeepEqual(old.Labels, node.Labels) ||
			!equality.Semantic.DeepEqual(old.Spec, node.Spec) ||
			!equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable) ||
			!equality.Semantic.DeepEqual(old.Status.DeclaredFeatures, node.Status.DeclaredFeatures)
	case *policyv1.PodDisruptionBudget, *corev1.Event:
		return false // no filter reads them
	case nil:
		switch created := after.(type) {
		case *corev1.Pod:
			return created.Spec.NodeName != "" // a static pod, say: no scheduler was asked
		case *policyv1.PodDisruptionBudget, *corev1.Event:
			return false
		}
	}
	return true
}

// isPromise says whether a write promised a node to a pod that waits.
func isPromise(before, after object) bool {
	old, wasPod := before.(*corev1.Pod)
	pod, isPod := after.(*corev1.Pod)
	return wasPod && isPod && pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" &&
		old.Status.NominatedNodeName != pod.Status.NominatedNodeName
}

// newestTime is the newest moment that the API server wrote into an object: its clock at the write or before. Times that
// clients write are not looked at, since a client's clock may be wrong.
func newestTime(object object) time.Time {
	newest := object.GetCreationTimestamp().Time
	take := func(moment time.Time) {
		if moment.After(newest) {
			newest = moment
		}
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil {
			take(entry.Time.Time)
		}
	}
	if pod, isPod := object.(*corev1.Pod); isPod {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
				take(condition.LastTransitionTime.Time) // written by the API server at the binding
			}
		}
	}
	return newest
}
