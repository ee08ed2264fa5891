package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	plfeature "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// initMetrics creates upstream's metrics, which its code writes to unasked. They are not registered and so count
// nothing.
var initMetrics = sync.OnceFunc(metrics.InitMetrics)

func silenceLogs() {
	klog.SetLogger(logr.Discard())
}

// scorer is a score plugin as the framework runs it.
type scorer struct {
	plugin fwk.ScorePlugin
	weight int64
}

// evaluator is upstream's framework with its default profile, and the world that it looks at. It serves one case at a
// time.
type evaluator struct {
	ctx       context.Context
	world     *world
	framework framework.Framework
	scorers   []scorer
	timed     bool
}

// newEvaluator builds what scheduler.New builds, less the queue, the cache and the API server. The informers are never
// started: their stores are filled by world.show. No plugin that filters or scores keeps a copy of what it read.
func newEvaluator() (*evaluator, error) {
	initMetrics()
	ctx := klog.NewContext(context.Background(), logr.Discard())
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
	world := newWorld(factory)
	built, err := frameworkruntime.NewFramework(ctx, recordingRegistry(made), &configuration.Profiles[0],
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(draManager),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(world),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithLogger(logr.Discard()),
	)
	if err != nil {
		return nil, fmt.Errorf("upstream's framework: %w", err)
	}
	scorers, err := scorersOf(built, made)
	if err != nil {
		return nil, err
	}
	return &evaluator{ctx: ctx, world: world, framework: built, scorers: scorers}, nil
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

// recordingRegistry is upstream's registry; it also notes every plugin that it makes, as the framework does not show
// them.
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

// scorersOf lists the score plugins in the framework's order, with the framework's weights.
func scorersOf(built framework.Framework, made map[string]fwk.Plugin) ([]scorer, error) {
	var scorers []scorer
	for _, enabled := range built.ListPlugins().Score.Enabled {
		plugin, ok := made[enabled.Name].(fwk.ScorePlugin)
		if !ok {
			return nil, fmt.Errorf("score plugin %q: got %T, expected a score plugin", enabled.Name, made[enabled.Name])
		}
		scorers = append(scorers, scorer{plugin: plugin, weight: int64(enabled.Weight)})
	}
	return scorers, nil
}

// serialHandle is the framework's handle with plugins' loops over nodes run in place: a case is small, workers are
// parallel already, and a panic stays in the goroutine that can turn it into an answer.
type serialHandle struct{ fwk.Handle }

func (serialHandle) Parallelizer() fwk.Parallelizer { return serialParallelizer{} }

type serialParallelizer struct{}

func (serialParallelizer) Until(ctx context.Context, pieces int, work workqueue.DoWorkPieceFunc, _ string) {
	for piece := 0; piece < pieces && ctx.Err() == nil; piece++ {
		work(piece)
	}
}

// profilePlugin is a plugin in the output of -profile; its weight is there for score plugins only.
type profilePlugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

// profile is the output of -profile.
type profile struct {
	PreFilter []profilePlugin    `json:"preFilter"`
	Filter    []profilePlugin    `json:"filter"`
	PreScore  []profilePlugin    `json:"preScore"`
	Score     []profilePlugin    `json:"score"`
	Features  plfeature.Features `json:"features"`
}

// profile lists the plugins that filter and score, in the order in which they run, and the feature gates that they were
// made with.
func (e *evaluator) profile() profile {
	enabled := e.framework.ListPlugins()
	return profile{
		PreFilter: pluginsOf(enabled.PreFilter),
		Filter:    pluginsOf(enabled.Filter),
		PreScore:  pluginsOf(enabled.PreScore),
		Score:     pluginsOf(enabled.Score),
		Features:  plfeature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate),
	}
}

func pluginsOf(set config.PluginSet) []profilePlugin {
	out := make([]profilePlugin, 0, len(set.Enabled))
	for _, plugin := range set.Enabled {
		out = append(out, profilePlugin{Name: plugin.Name, Weight: plugin.Weight})
	}
	return out
}
