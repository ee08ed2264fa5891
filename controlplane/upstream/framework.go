// Package upstream builds kube-scheduler's own scheduling framework with its default profile, without an API server:
// what its plugins read is put into stores by the caller.
package upstream

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// initMetrics creates upstream's metrics, which its code writes to unasked. They are not registered and so count
// nothing.
var initMetrics = sync.OnceFunc(metrics.InitMetrics)

// SilenceLogs has upstream's code log nothing.
func SilenceLogs() {
	klog.SetLogger(logr.Discard())
}

// Framework is upstream's framework, and what belongs to it.
type Framework struct {
	framework.Framework
	// Plugins are those of the profile by name: the framework itself does not show them.
	Plugins map[string]fwk.Plugin
	// Stores are what plugins read through listers, by kind.
	Stores map[string]cache.Indexer
}

// NewFramework builds what scheduler.New builds, less the queue, the cache and the API server. The informers are never
// started: the caller fills their stores. No plugin that filters or scores keeps a copy of what it read.
func NewFramework(ctx context.Context, lister fwk.SharedLister, options ...frameworkruntime.Option) (*Framework, error) {
	initMetrics()
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactory(client, 0)
	draManager, err := newDRAManager(ctx, factory)
	if err != nil {
		return nil, err
	}
	configuration, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("upstream's default configuration: %w", err)
	}
	if len(configuration.Profiles) != 1 {
		return nil, fmt.Errorf("upstream's default configuration: got %d profiles, expected 1", len(configuration.Profiles))
	}
	made := map[string]fwk.Plugin{}
	built, err := frameworkruntime.NewFramework(ctx, recordingRegistry(made), &configuration.Profiles[0],
		append([]frameworkruntime.Option{
			frameworkruntime.WithClientSet(client),
			frameworkruntime.WithInformerFactory(factory),
			frameworkruntime.WithSharedDRAManager(draManager),
			frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
			frameworkruntime.WithSnapshotSharedLister(lister),
			frameworkruntime.WithParallelism(1),
			frameworkruntime.WithLogger(logr.Discard()),
		}, options...)...,
	)
	if err != nil {
		return nil, fmt.Errorf("upstream's framework: %w", err)
	}
	return &Framework{Framework: built, Plugins: made, Stores: storesOf(factory)}, nil
}

func storesOf(factory informers.SharedInformerFactory) map[string]cache.Indexer {
	core, apps, storage := factory.Core().V1(), factory.Apps().V1(), factory.Storage().V1()
	return map[string]cache.Indexer{
		"Namespace":             core.Namespaces().Informer().GetIndexer(),
		"Service":               core.Services().Informer().GetIndexer(),
		"ReplicationController": core.ReplicationControllers().Informer().GetIndexer(),
		"PersistentVolume":      core.PersistentVolumes().Informer().GetIndexer(),
		"PersistentVolumeClaim": core.PersistentVolumeClaims().Informer().GetIndexer(),
		"ReplicaSet":            apps.ReplicaSets().Informer().GetIndexer(),
		"StatefulSet":           apps.StatefulSets().Informer().GetIndexer(),
		"StorageClass":          storage.StorageClasses().Informer().GetIndexer(),
		"CSINode":               storage.CSINodes().Informer().GetIndexer(),
		"CSIDriver":             storage.CSIDrivers().Informer().GetIndexer(),
		"CSIStorageCapacity":    storage.CSIStorageCapacities().Informer().GetIndexer(),
		"VolumeAttachment":      storage.VolumeAttachments().Informer().GetIndexer(),
	}
}

// newDRAManager gives DynamicResources, and NodeResourcesFit's look-up of device classes, a cluster without claims,
// slices and classes. DRADeviceTaintRules is off by default in 1.36, hence no informers for it.
func newDRAManager(ctx context.Context, factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	resources := factory.Resource().V1()
	claims := assumecache.NewAssumeCache(logr.Discard(), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: resources.ResourceSlices()})
	if err != nil {
		return nil, fmt.Errorf("resource slice tracker: %w", err)
	}
	return dynamicresources.NewDRAManager(ctx, claims, slices, factory), nil
}

// recordingRegistry is upstream's registry; it also notes every plugin that it makes.
func recordingRegistry(made map[string]fwk.Plugin) frameworkruntime.Registry {
	registry := frameworkruntime.Registry{}
	for name, create := range plugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := create(ctx, arguments, serialHandle{handle})
			made[name] = plugin
			return plugin, err
		}
	}
	return registry
}

// serialHandle is the framework's handle with plugins' loops over nodes run in place: a panic then stays in the
// goroutine that can turn it into an answer, and the oracle's workers are parallel already.
type serialHandle struct{ fwk.Handle }

func (serialHandle) Parallelizer() fwk.Parallelizer { return serialParallelizer{} }

type serialParallelizer struct{}

func (serialParallelizer) Until(ctx context.Context, pieces int, work workqueue.DoWorkPieceFunc, _ string) {
	for piece := 0; piece < pieces && ctx.Err() == nil; piece++ {
		work(piece)
	}
}
