package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// world is the data that the plugins see: a snapshot of nodes with their pods, and the stores behind the listers. The
// framework is built once on top of it; show replaces all of it for the next case.
type world struct {
	snapshot *internalcache.Snapshot
	stores   map[string]cache.Indexer // by kind
}

var _ fwk.SharedLister = &world{}

// newWorld is empty; its stores are the framework's, which is built after it.
func newWorld() *world {
	return &world{snapshot: internalcache.NewEmptySnapshot()}
}

func (w *world) NodeInfos() fwk.NodeInfoLister           { return w.snapshot.NodeInfos() }
func (w *world) StorageInfos() fwk.StorageInfoLister     { return w.snapshot.StorageInfos() }
func (w *world) PodGroupStates() fwk.PodGroupStateLister { return w.snapshot.PodGroupStates() }

// show makes a case the whole world: nothing of the case before remains.
func (w *world) show(c *cluster) error {
	w.snapshot = internalcache.NewSnapshot(visiblePods(c), c.nodes)
	for kind, store := range w.stores {
		objects := c.objects[kind]
		if len(objects) == 0 && len(store.ListKeys()) == 0 {
			continue
		}
		if err := store.Replace(objects, ""); err != nil {
			return fmt.Errorf("storing %s: %w", kind, err)
		}
	}
	return nil
}

// visiblePods are the pods that a scheduler's snapshot holds: bound to a node that exists, and not finished (its
// informer does not even ask for those that are).
func visiblePods(c *cluster) []*corev1.Pod {
	names := sets.New[string]()
	for _, node := range c.nodes {
		names.Insert(node.Name)
	}
	visible := make([]*corev1.Pod, 0, len(c.pods))
	for _, pod := range c.pods {
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !finished && names.Has(pod.Spec.NodeName) {
			visible = append(visible, pod)
		}
	}
	return visible
}
