package longshore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// allNodes is what percentageOfNodesToScore is while a policy ranks: it is to see every node that fits.
const allNodes int32 = 100

// Profiles makes the plugin for the profiles of one scheduler, and then stands in front of those that have it.
//
// A profile keeps the score plugins, weights, arguments and sampling that its user gave it. While the policy ranks and
// outweighs them, they are not asked at all; when it does not, the profile is what it was without longshore.
type Profiles struct {
	mutex sync.Mutex
	made  map[fwk.Handle]*Longshore
}

// New is the plugin's factory; it remembers whose plugin it has made.
func (p *Profiles) New(ctx context.Context, configuration runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	made, err := New(ctx, configuration, handle)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.made == nil {
		p.made = map[fwk.Handle]*Longshore{}
	}
	p.made[handle] = made.(*Longshore)
	return made, nil
}

// KeepTrialsOn has the marks of bundles on trial kept on the lease of the leader election, too.
func (p *Profiles) KeepTrialsOn(lease Lease) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, plugin := range p.made {
		plugin.trials.keepAlso(markLease{plugin.handle.ClientSet(), lease, plugin.handle.ProfileName()})
	}
}

// End says that the process is about to end for reasons of its own, and not by a bundle. It takes no longer than that.
func (p *Profiles) End(longest time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var all sync.WaitGroup
	for _, plugin := range p.made {
		all.Go(func() { plugin.trials.end(longest) })
	}
	all.Wait()
}

// StandInFront replaces the frameworks that have the plugin by ones that ask the policy first. An error is a profile
// in which nothing is left to rank when the policy does not.
func (p *Profiles) StandInFront(all profile.Map) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		plugin := p.made[all[name]]
		if plugin == nil {
			continue
		}
		made := newRankedProfile(all[name], plugin)
		if len(made.others) == 0 && !plugin.arguments.Shadow {
			problems = append(problems, fmt.Errorf("profile %s: no score plugin beside %s, expected at least one: they rank "+
				"whenever the policy does not (hint: leave upstream's score plugins enabled)", name, Name))
		}
		all[name] = made
	}
	return errors.Join(problems...)
}

// rankedProfile is a profile's framework with the policy in front of its score plugins.
type rankedProfile struct {
	framework.Framework
	plugin *Longshore
	// others are the profile's score plugins but ours.
	others sets.Set[string]
	// isAlone says that our weight outweighs all others together, so that the choice is the same without asking them.
	isAlone bool
}

func newRankedProfile(inner framework.Framework, plugin *Longshore) *rankedProfile {
	made := &rankedProfile{Framework: inner, plugin: plugin, others: sets.New[string]()}
	own, rest := int64(0), int64(0)
	for _, one := range inner.ListPlugins().Score.Enabled {
		if one.Name == Name {
			own = int64(one.Weight)
			continue
		}
		made.others.Insert(one.Name)
		rest += int64(one.Weight)
	}
	// The chosen node is one point ahead of every other, and the others differ by 100 points each at most.
	made.isAlone = own > rest*fwk.MaxNodeScore
	return made
}

// RunPreScorePlugins asks the policy, and the profile's own plugins where it does not rank or is one voice among theirs.
func (f *rankedProfile) RunPreScorePlugins(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) *fwk.Status {
	started := f.plugin.clock.Now()
	if !f.plugin.decide(ctx, state, pod, nodes) || !f.isAlone {
		return f.Framework.RunPreScorePlugins(ctx, state, pod, nodes)
	}
	state.SetSkipScorePlugins(f.others)
	metrics.FrameworkExtensionPointDuration.WithLabelValues(metrics.PreScore, fwk.Success.String(), f.ProfileName()).
		Observe(f.plugin.clock.Since(started).Seconds())
	return nil
}

// PercentageOfNodesToScore is the profile's own, but for pods that the policy is to rank.
func (f *rankedProfile) PercentageOfNodesToScore() *int32 {
	if !f.plugin.willRank() {
		return f.Framework.PercentageOfNodesToScore()
	}
	all := allNodes
	return &all
}
