package longshore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// stock scores as the default profile does: upstream's own plugins, weights, normalisation and sum. It is asked only
// when the policy is not, or is mixed with it.
type stock struct {
	plugins      []*stockPlugin
	parallelizer fwk.Parallelizer
}

// stockPlugin is one of upstream's score plugins, with its weight in the default profile and the scores of one pod.
type stockPlugin struct {
	fwk.ScorePlugin
	weight int64

	isSkipped bool
	failure   atomic.Pointer[error]
	scores    fwk.NodeScoreList
}

// newStock makes the default profile's score plugins from upstream's registry. What PreFilter and Filter leave in the
// cycle's state for some of them comes from the profile's own instances, which have run by then.
func newStock(ctx context.Context, handle fwk.Handle, parallelizer fwk.Parallelizer, given json.RawMessage) (*stock, error) {
	profile, err := stockProfile(given)
	if err != nil {
		return nil, err
	}
	arguments := map[string]runtime.Object{}
	for _, one := range profile.PluginConfig {
		arguments[one.Name] = one.Args
	}
	registry := plugins.NewInTreeRegistry()
	made := &stock{parallelizer: parallelizer}
	for _, enabled := range profile.Plugins.MultiPoint.Enabled {
		// All are made and those that score kept: a list of names would miss what upstream adds.
		plugin, err := registry[enabled.Name](ctx, arguments[enabled.Name], handle)
		if err != nil {
			return nil, fmt.Errorf("upstream's plugin %s: %w", enabled.Name, err)
		}
		if scorer, ok := plugin.(fwk.ScorePlugin); ok {
			// The framework takes a weight of 0 for 1.
			made.plugins = append(made.plugins, &stockPlugin{ScorePlugin: scorer, weight: max(int64(enabled.Weight), 1)})
		}
	}
	return made, nil
}

// stockProfile returns the default profile with the given `pluginConfig`, read, checked and completed by upstream.
func stockProfile(given json.RawMessage) (*config.KubeSchedulerProfile, error) {
	content := map[string]any{
		"apiVersion": configv1.SchemeGroupVersion.String(), "kind": "KubeSchedulerConfiguration",
		"profiles": []map[string]any{{"pluginConfig": given}},
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	profile := &object.(*config.KubeSchedulerConfiguration).Profiles[0]
	for _, one := range profile.PluginConfig {
		if _, found := plugins.NewInTreeRegistry()[one.Name]; !found {
			return nil, fmt.Errorf("got the name %s, expected one of upstream's plugins", one.Name)
		}
	}
	return profile, nil
}

// sign returns in what pods have to be alike for the same scores.
func (s *stock) sign(ctx context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	var all []fwk.SignFragment
	for _, plugin := range s.plugins {
		signer, ok := plugin.ScorePlugin.(fwk.SignPlugin)
		if !ok {
			return nil, fwk.NewStatus(fwk.Unschedulable, plugin.Name()+" does not say what it depends on")
		}
		fragments, status := signer.SignPod(ctx, pod)
		if !status.IsSuccess() {
			return nil, status
		}
		all = append(all, fragments...)
	}
	return all, nil
}

// score writes upstream's total of nodes[i] to out[i]. A plugin that fails, which upstream would reject the pod for,
// counts nothing for this pod and is in the error; the totals are there all the same.
func (s *stock) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, out []float32) error {
	for _, plugin := range s.plugins {
		plugin.prepare(ctx, state, pod, nodes)
	}
	s.parallelizer.Until(ctx, len(nodes), func(i int) {
		for _, plugin := range s.plugins {
			if !plugin.isSkipped {
				plugin.scoreNode(ctx, state, pod, nodes[i], i)
			}
		}
	}, metrics.Score)
	for _, plugin := range s.plugins {
		// One after the other: each takes some microseconds, less than to hand it over.
		plugin.normalize(ctx, state, pod)
	}

	clear(out)
	var problems []error
	for _, plugin := range s.plugins {
		if plugin.isSkipped {
			continue
		}
		if failure := plugin.failure.Load(); failure != nil {
			problems = append(problems, fmt.Errorf("%s: %w", plugin.Name(), *failure))
			continue
		}
		for i := range out {
			out[i] += float32(plugin.weight * plugin.scores[i].Score) // exact: totals are far below 2²⁴
		}
	}
	if ctx.Err() != nil {
		problems = append(problems, ctx.Err())
	}
	return errors.Join(problems...)
}

// prepare runs PreScore, where the plugin has one, and makes room for the scores.
func (p *stockPlugin) prepare(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) {
	p.isSkipped = false
	p.failure.Store(nil)
	if plugin, ok := p.ScorePlugin.(fwk.PreScorePlugin); ok {
		status := plugin.PreScore(ctx, state, pod, nodes)
		p.isSkipped = status.IsSkip()
		if !p.isSkipped {
			p.fail(status)
		}
	}
	if cap(p.scores) < len(nodes) {
		p.scores = make(fwk.NodeScoreList, len(nodes))
	}
	p.scores = p.scores[:len(nodes)]
}

func (p *stockPlugin) scoreNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, i int) {
	if p.failure.Load() != nil {
		return
	}
	score, status := p.Score(ctx, state, pod, node)
	p.fail(status)
	p.scores[i] = fwk.NodeScore{Name: node.Node().Name, Score: score}
}

func (p *stockPlugin) normalize(ctx context.Context, state fwk.CycleState, pod *v1.Pod) {
	if p.isSkipped || p.failure.Load() != nil || p.ScoreExtensions() == nil {
		return
	}
	p.fail(p.ScoreExtensions().NormalizeScore(ctx, state, pod, p.scores))
}

// fail notes a status that is no success.
func (p *stockPlugin) fail(status *fwk.Status) {
	if !status.IsSuccess() {
		err := status.AsError()
		p.failure.CompareAndSwap(nil, &err)
	}
}
