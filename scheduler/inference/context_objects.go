package inference

import (
	"maps"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// ContextObjects are the objects that say which pods belong together: services, controllers, namespaces. Several scorers
// may share them.
type ContextObjects struct {
	services    corelisters.ServiceLister
	controllers corelisters.ReplicationControllerLister
	replicaSets appslisters.ReplicaSetLister
	statefulSet appslisters.StatefulSetLister
	namespaces  corelisters.NamespaceLister
	// version grows when something changes that selectors are made of.
	version atomic.Uint64
}

// NewContextObjects looks at the informers that kube-scheduler has anyway; they are started by their owner.
func NewContextObjects(factory informers.SharedInformerFactory) (*ContextObjects, error) {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	s := &ContextObjects{
		services: core.Services().Lister(), controllers: core.ReplicationControllers().Lister(),
		replicaSets: apps.ReplicaSets().Lister(), statefulSet: apps.StatefulSets().Lister(), namespaces: core.Namespaces().Lister(),
	}
	s.version.Store(1)
	watched := []struct {
		informer cache.SharedIndexInformer
		isSame   func(before, after any) bool
	}{
		{core.Services().Informer(), func(before, after any) bool {
			return maps.Equal(before.(*v1.Service).Spec.Selector, after.(*v1.Service).Spec.Selector)
		}},
		{core.ReplicationControllers().Informer(), func(before, after any) bool {
			return maps.Equal(before.(*v1.ReplicationController).Spec.Selector, after.(*v1.ReplicationController).Spec.Selector)
		}},
		{apps.ReplicaSets().Informer(), func(before, after any) bool {
			return equality.Semantic.DeepEqual(before.(*appsv1.ReplicaSet).Spec.Selector, after.(*appsv1.ReplicaSet).Spec.Selector)
		}},
		{apps.StatefulSets().Informer(), func(before, after any) bool {
			return equality.Semantic.DeepEqual(before.(*appsv1.StatefulSet).Spec.Selector, after.(*appsv1.StatefulSet).Spec.Selector)
		}},
		{core.Namespaces().Informer(), func(before, after any) bool {
			return maps.Equal(before.(*v1.Namespace).Labels, after.(*v1.Namespace).Labels)
		}},
	}
	for _, one := range watched {
		if _, err := one.informer.AddEventHandler(s.handler(one.isSame)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *ContextObjects) handler(isSame func(before, after any) bool) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.version.Add(1) },
		DeleteFunc: func(any) { s.version.Add(1) },
		UpdateFunc: func(before, after any) {
			// A controller's status changes with every pod: only what it selects matters.
			if !isSame(before, after) {
				s.version.Add(1)
			}
		},
	}
}

// now returns the version, 0 where there are no context objects.
func (s *ContextObjects) now() uint64 {
	if s == nil {
		return 0
	}
	return s.version.Load()
}

// defaultSelector returns what selects the pods that belong with a pod: by its services, and by its controller.
func (s *ContextObjects) defaultSelector(pod *v1.Pod) labels.Selector {
	if s == nil {
		return labels.NewSelector()
	}
	return helper.DefaultSelector(pod, s.services, s.controllers, s.replicaSets, s.statefulSet)
}

func (s *ContextObjects) labelsOf(namespace string) labels.Set {
	if s == nil {
		return nil
	}
	found, err := s.namespaces.Get(namespace)
	if err != nil {
		return nil
	}
	return labels.Set(found.Labels)
}

// namesOf returns the namespaces that a selector selects by their labels.
func (s *ContextObjects) namesOf(selector labels.Selector) []string {
	if s == nil || selector.Empty() {
		return nil
	}
	found, err := s.namespaces.List(selector)
	if err != nil {
		return nil
	}
	names := make([]string, len(found))
	for i, one := range found {
		names[i] = one.Name
	}
	return names
}

// selectorOf returns a spread constraint's selector, with the labels of the pod that it asks for; nil if it cannot be
// read, which selects nothing.
func selectorOf(constraint *v1.TopologySpreadConstraint, own map[string]string) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil {
		return nil
	}
	wanted := labels.Set{}
	for _, key := range constraint.MatchLabelKeys {
		if value, given := own[key]; given {
			wanted[key] = value
		}
	}
	requirements, isSelectable := selector.Requirements()
	if len(wanted) == 0 || !isSelectable {
		return selector
	}
	return labels.SelectorFromSet(wanted).Add(requirements...)
}
