package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	plfeature "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"

	"longshore.dev/controlplane/upstream"
)

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

// newEvaluator builds upstream's framework on top of an empty world.
func newEvaluator() (*evaluator, error) {
	ctx := klog.NewContext(context.Background(), logr.Discard())
	world := newWorld()
	built, err := upstream.NewFramework(ctx, world)
	if err != nil {
		return nil, err
	}
	world.stores = built.Stores
	scorers, err := scorersOf(built)
	if err != nil {
		return nil, err
	}
	return &evaluator{ctx: ctx, world: world, framework: built, scorers: scorers}, nil
}

// scorersOf lists the score plugins in the framework's order, with the framework's weights.
func scorersOf(built *upstream.Framework) ([]scorer, error) {
	var scorers []scorer
	for _, enabled := range built.ListPlugins().Score.Enabled {
		plugin, ok := built.Plugins[enabled.Name].(fwk.ScorePlugin)
		if !ok {
			return nil, fmt.Errorf("score plugin %q: got %T, expected a score plugin", enabled.Name, built.Plugins[enabled.Name])
		}
		scorers = append(scorers, scorer{plugin: plugin, weight: int64(enabled.Weight)})
	}
	return scorers, nil
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
