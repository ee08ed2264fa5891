package main

import (
	"context"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"longshore.dev/controlplane/upstream"
)

// cluster is all that schedulers read, as etcd has it at one revision, in upstream's own NodeInfos and stores. It is
// what upstream's plugins see: their SharedLister and their PodNominator.
type cluster struct {
	ctx       context.Context
	framework *upstream.Framework
	objects   map[string]object              // by etcd's key
	infos     map[string]*framework.NodeInfo // by the node's name; also of pods whose node is gone
	list      []fwk.NodeInfo                 // those with a node; nil = to be made again
	waiting   map[types.UID]*corev1.Pod      // pods without a node
	claims    map[string]int                 // how many pods use a claim, by namespace/name
	nominated map[types.UID]*corev1.Pod      // pods without a node that are promised one
	budgets   map[string]*policyv1.PodDisruptionBudget
}

var (
	_ fwk.SharedLister = &cluster{}
	_ fwk.PodNominator = &cluster{}
)

func newCluster() (*cluster, error) {
	c := &cluster{
		ctx:       klog.NewContext(context.Background(), logr.Discard()),
		objects:   map[string]object{},
		infos:     map[string]*framework.NodeInfo{},
		claims:    map[string]int{},
		waiting:   map[types.UID]*corev1.Pod{},
		nominated: map[types.UID]*corev1.Pod{},
		budgets:   map[string]*policyv1.PodDisruptionBudget{},
	}
	built, err := upstream.NewFramework(c.ctx, c, frameworkruntime.WithPodNominator(c))
	c.framework = built
	return c, err
}

// set puts an object in the place of the one under a key; nil removes that.
func (c *cluster) set(key string, after object) error {
	before := c.objects[key]
	if after == nil {
		delete(c.objects, key)
	} else {
		c.objects[key] = after
	}
	switch kind := either(before, after).(type) {
	case *corev1.Pod:
		return c.setPod(before, after)
	case *corev1.Node:
		c.setNode(kind.Name, after)
		return nil
	case *policyv1.PodDisruptionBudget:
		if after == nil {
			delete(c.budgets, key)
		} else {
			c.budgets[key] = after.(*policyv1.PodDisruptionBudget)
		}
		return nil
	default:
		return c.store(kind, after == nil)
	}
}

func either(before, after object) object {
	if after != nil {
		return after
	}
	return before
}

func (c *cluster) setPod(before, after object) error {
	if old, ok := before.(*corev1.Pod); ok {
		delete(c.nominated, old.UID)
		delete(c.waiting, old.UID)
		if counts(old) {
			c.count(old, -1)
			if err := c.info(old.Spec.NodeName).RemovePod(logr.Discard(), old); err != nil {
				return err
			}
		}
	}
	pod, ok := after.(*corev1.Pod)
	if !ok {
		return nil
	}
	if counts(pod) {
		c.count(pod, 1)
		c.info(pod.Spec.NodeName).AddPod(pod)
	} else if pod.Spec.NodeName == "" {
		c.waiting[pod.UID] = pod
		if pod.Status.NominatedNodeName != "" && pod.DeletionTimestamp == nil {
			c.nominated[pod.UID] = pod
		}
	}
	return nil
}

// counts says whether a pod takes room on a node.
func counts(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !isFinished(pod) }

func (c *cluster) count(pod *corev1.Pod, by int) {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			c.claims[pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName] += by
		}
	}
}

func (c *cluster) setNode(name string, after object) {
	c.list = nil
	info := c.info(name)
	if node, ok := after.(*corev1.Node); ok {
		info.SetNode(node)
	} else {
		info.RemoveNode()
	}
}

func (c *cluster) info(node string) *framework.NodeInfo {
	info, ok := c.infos[node]
	if !ok {
		info = framework.NewNodeInfo()
		c.infos[node] = info
	}
	return info
}

func (c *cluster) store(object object, isGone bool) error {
	kind := reflect.TypeOf(object).Elem().Name()
	store, ok := c.framework.Stores[kind]
	if !ok {
		return fmt.Errorf("upstream's framework has no store for a %s", kind)
	}
	if isGone {
		return store.Delete(object)
	}
	return store.Add(object)
}

// node gives a node with its pods, nil where there is none.
func (c *cluster) node(name string) *framework.NodeInfo {
	if info, ok := c.infos[name]; ok && info.Node() != nil {
		return info
	}
	return nil
}

func (c *cluster) disruptionBudgets() []*policyv1.PodDisruptionBudget {
	budgets := make([]*policyv1.PodDisruptionBudget, 0, len(c.budgets))
	for _, budget := range c.budgets {
		budgets = append(budgets, budget)
	}
	return budgets
}
