package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// preempted is the reason of the events that tell which pod a victim made room for.
const preempted = "Preempted"

// departure is a pod that no longer waits: it was bound, or is gone.
type departure struct {
	pod  *corev1.Pod
	time time.Time
}

// hear notes for whom a pod was evicted.
func (k *checker) hear(event *corev1.Event) {
	if event.Related != nil {
		k.preemptors[event.InvolvedObject.UID] = event.Related.UID
	}
}

// isEvicted says whether a write is a scheduler's eviction: the condition is written before the pod is deleted.
func isEvicted(old, pod *corev1.Pod) bool {
	return pod != nil && old.UID == pod.UID && old.Spec.NodeName != "" && !isMarked(old) && isMarked(pod)
}

func isMarked(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Reason == corev1.PodReasonPreemptionByScheduler {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// judgeEviction says whether as many pods had to go as were evicted for one pod on one node. They are judged together,
// at the first of them.
func (k *checker) judgeEviction(victim *corev1.Pod, next change) error {
	k.report.Evictions++
	if k.judged[victim.UID] {
		return nil
	}
	preemptor := k.preemptorOf(victim)
	if preemptor == nil {
		k.report.Unexplained++
		return nil
	}
	node, evicted := victim.Spec.NodeName, k.markFollowing(victim).Insert(victim.UID)
	count := len(evicted)
	isNeeded := func() (bool, error) {
		fewest, err := k.cluster.fewestVictims(preemptor, node, evicted)
		return fewest >= count, err
	}
	fewest, err := k.cluster.fewestVictims(preemptor, node, evicted)
	if err != nil || fewest >= count {
		return err
	}
	isExcused, err := k.anyView(isNeeded)
	if err != nil {
		return err
	}
	if isExcused {
		k.report.Excused[evictions]++
		return nil
	}
	why := fmt.Sprintf("%d evicted for pod %s, needed were %d", count, klog.KObj(preemptor), fewest)
	if fewest < 0 {
		why = fmt.Sprintf("%d evicted for pod %s, which does not fit without them either", count, klog.KObj(preemptor))
	}
	k.report.violate(evictions, next, victim, why)
	return nil
}

// preemptorOf finds for whom a pod is evicted: events say it and, where one was lost, the promise of its node to one pod.
func (k *checker) preemptorOf(victim *corev1.Pod) *corev1.Pod {
	if uid, isTold := k.preemptors[victim.UID]; isTold {
		if pod := k.cluster.waiting[uid]; pod != nil {
			return pod
		}
		for _, left := range k.departed {
			if left.pod.UID == uid {
				return left.pod
			}
		}
		return nil
	}
	promised := map[types.UID]*corev1.Pod{}
	for _, pod := range k.cluster.nominated {
		promised[pod.UID] = pod
	}
	for _, own := range k.own() {
		if pod := own.object.(*corev1.Pod); pod.Spec.NodeName == "" {
			promised[pod.UID] = pod
		}
	}
	maps.DeleteFunc(promised, func(_ types.UID, pod *corev1.Pod) bool {
		return pod.Status.NominatedNodeName != victim.Spec.NodeName
	})
	if len(promised) != 1 {
		return nil
	}
	return slices.Collect(maps.Values(promised))[0]
}

// markFollowing finds the other pods of a node that are evicted for the same pod at about the same time.
func (k *checker) markFollowing(victim *corev1.Pod) sets.Set[types.UID] {
	found := sets.Set[types.UID]{}
	latest := map[string]object{}
	for _, next := range k.ahead {
		if next.time.Sub(k.at) > staleness {
			break
		}
		before, isSeen := latest[next.key]
		if !isSeen {
			before = k.cluster.objects[next.key]
		}
		latest[next.key] = next.object
		old, wasPod := before.(*corev1.Pod)
		pod, _ := next.object.(*corev1.Pod)
		if wasPod && isEvicted(old, pod) && old.Spec.NodeName == victim.Spec.NodeName &&
			k.preemptors[old.UID] == k.preemptors[victim.UID] && !k.judged[old.UID] {
			k.judged[old.UID] = true
			found.Insert(old.UID)
		}
	}
	return found
}

// fewestVictims is upstream's dry run: how many pods of a node must go for a pod; -1 where that does not help.
// Upstream leaves open which of two pods goes that started in the same second, or have not started: it is one of the evicted.
func (c *cluster) fewestVictims(pod *corev1.Pod, node string, evicted sets.Set[types.UID]) (int, error) {
	info := c.node(node)
	if info == nil {
		return -1, nil
	}
	search, isSearch := c.framework.Plugins[names.DefaultPreemption].(*defaultpreemption.DefaultPreemption)
	if !isSearch {
		return 0, fmt.Errorf("upstream's framework has no plugin %s", names.DefaultPreemption)
	}
	state := framework.NewCycleState()
	if result, status, _ := c.framework.RunPreFilterPlugins(c.ctx, state, pod); !status.IsSuccess() ||
		!result.AllNodes() && !result.NodeNames.Has(node) {
		return -1, nil
	}
	tried := info.Snapshot()
	if err := startLast(tried, evicted); err != nil {
		return 0, err
	}
	victims, _, status := search.SelectVictimsOnNode(c.ctx, state, pod, tried, c.disruptionBudgets())
	switch {
	case status.IsSuccess():
		return len(victims), nil
	case status.IsRejected():
		return -1, nil
	}
	return 0, fmt.Errorf("upstream's preemption for pod %s: %w", klog.KObj(pod), status.AsError())
}

// startLast makes some pods of a node the least important of those that started in the same second as they did.
func startLast(node fwk.NodeInfo, last sets.Set[types.UID]) error {
	for _, info := range slices.Clone(node.GetPods()) {
		if !last.Has(info.GetPod().UID) {
			continue
		}
		pod := info.GetPod().DeepCopy()
		start := metav1.NewTime(time.Now().Add(time.Hour)) // upstream takes one that has not started as starting now
		if pod.Status.StartTime != nil {
			start = metav1.NewTime(pod.Status.StartTime.Add(time.Nanosecond))
		}
		pod.Status.StartTime = &start
		changed, err := framework.NewPodInfo(pod)
		if err != nil {
			return err
		}
		if err := node.RemovePod(klog.Background(), info.GetPod()); err != nil {
			return err
		}
		node.AddPodInfo(changed)
	}
	return nil
}
