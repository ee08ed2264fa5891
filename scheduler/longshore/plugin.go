// Package longshore is a plugin of kube-scheduler that ranks nodes by a trained policy, and keeps pods off nodes that do
// not have what longshore's own annotations ask for.
//
// All ranking is done once per pod, in PreScore; Score only reads. Neither ever returns an error, as either would reject
// the pod: whatever goes wrong, the profile's other score plugins decide as they would without longshore, and a metric
// and an event say why. Models, readings and the decision log are served in the background, never on the scheduling path.
package longshore

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"longshore.dev/scheduler/inference"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "Longshore"

const stateKey fwk.StateKey = "PreScore" + Name

// pollInterval is how often the bundle's folder and the file of readings are looked at.
const pollInterval = 2 * time.Second

// longestStart is how long kube-scheduler's start waits for the disk.
const longestStart = 5 * time.Second

var (
	_ fwk.PreScorePlugin = &Longshore{}
	_ fwk.ScorePlugin    = &Longshore{}
	_ fwk.SignPlugin     = &Longshore{}
)

// Longshore ranks nodes by a policy. One instance serves one profile.
type Longshore struct {
	arguments  Arguments
	snapshot   fwk.SharedLister
	clock      clock.PassiveClock
	metrics    *pluginMetrics
	announcer  *announcer
	models     *models
	trials     *trials
	health     *health
	telemetry  *telemetry // nil = nothing is measured
	ring       *ring      // nil = decisions are not logged
	delay      time.Duration
	handle     fwk.Handle
	held       *inference.Held // GPUs that pods were given
	limited    waiting
	passedOver told

	// mutex guards what is kept from pod to pod. kube-scheduler scores one pod at a time, so that it never waits.
	mutex   sync.Mutex
	circuit *circuit
	last    *policy
	isCold  bool // the next ranking has everything to make anew
	// numRankings counts what the policy was asked for.
	numRankings uint64
	learned     []float32
	nodeIndex   *inference.NodeIndex
	ranks       []int32 // of the index's nodes by their names
	places      []int32 // of the pod's nodes in the index
}

// held is of all profiles: each places pods on the same devices.
var held = &inference.Held{}

// New makes the plugin for one profile and starts what it does in the background; that ends with the context.
func New(ctx context.Context, configuration runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	arguments, err := decodeArguments(configuration)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	load, err := loadBundle(handle, arguments, inference.Holding(held))
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	return newPlugin(ctx, arguments, handle, load, held, legacyregistry.Register, clock.RealClock{})
}

func newPlugin(
	ctx context.Context, arguments Arguments, handle fwk.Handle, load loadPolicy, held *inference.Held, register register,
	clock clock.WithTicker,
) (*Longshore, error) {
	logger := klog.LoggerWithName(klog.FromContext(ctx), Name)
	metrics, err := newPluginMetrics(register, handle.ProfileName())
	if err != nil {
		return nil, err
	}
	delay, err := scoringDelay()
	if err != nil {
		return nil, err
	}
	plugin := &Longshore{
		arguments: arguments,
		snapshot:  handle.SnapshotSharedLister(),
		clock:     clock,
		metrics:   metrics,
		announcer: newAnnouncer(handle.EventRecorder(), clock, arguments.EventInterval.Duration),
		models:    newModels(arguments, load, metrics, logger, clock),
		trials:    newTrials(arguments.StateFolder, handle.ProfileName(), logger),
		health:    newHealth(handle.SharedInformerFactory(), metrics, clock),
		delay:     delay,
		handle:    handle,
		held:      held,
		nodeIndex: inference.NewNodeIndex(nil),
		circuit:   newCircuit(clock, arguments.Circuit),
	}
	if arguments.ReadingsFile != "" {
		plugin.telemetry = &telemetry{
			path: arguments.ReadingsFile, maxAge: arguments.ReadingsMaxAge.Duration,
			clock: clock, metrics: metrics, logger: logger,
		}
	}
	if err := plugin.forgetGone(); err != nil {
		return nil, err
	}
	plugin.start(ctx, logger, clock)
	return plugin, nil
}

// start reads the model and the readings, so that the first pod has them, and follows them in the background. A disk
// that does not answer holds up the start for a while, but not for ever.
func (p *Longshore) start(ctx context.Context, logger klog.Logger, clock clock.WithTicker) {
	polls := []func(){func() { p.models.update(ctx) }, p.health.poll}
	if p.telemetry != nil {
		polls = append(polls, func() { p.pollReadings(logger) })
	}
	followAll(ctx, logger, clock, longestStart, polls...)
	if p.arguments.DecisionLog != "" {
		p.ring = newRing(ringSize)
		log := &decisionLog{ring: p.ring, send: newSend(p.arguments), metrics: p.metrics, clock: clock, logger: logger}
		go guarded(logger, func() { log.run(ctx) })
	}
}

// followAll runs every poll at once and then again and again, in the background; it returns when each has run, or after the
// longest time.
func followAll(ctx context.Context, logger klog.Logger, clock clock.WithTicker, longest time.Duration, polls ...func()) {
	patience, enough := context.WithTimeout(ctx, longest)
	defer enough()
	for _, poll := range polls {
		isRead := make(chan struct{})
		go func() {
			guarded(logger, poll)
			close(isRead)
			for {
				select {
				case <-ctx.Done():
					return
				case <-clock.After(pollInterval):
					guarded(logger, poll)
				}
			}
		}()
		select {
		case <-isRead:
		case <-patience.Done():
		}
	}
}

// guarded runs background work; a panic there must not end kube-scheduler.
func guarded(logger klog.Logger, work func()) {
	defer func() {
		if value := recover(); value != nil {
			logger.Error(fmt.Errorf("%v", value), "Work in the background failed")
		}
	}()
	work()
}

// Name returns the plugin's name.
func (p *Longshore) Name() string { return Name }

// PreScore has the policy rank all nodes that the pod fits on; where it does not, Score is skipped. It never fails.
func (p *Longshore) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if !p.decide(ctx, state, pod, nodes) {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score returns what PreScore found for the node; 0 for all where it found nothing.
func (p *Longshore) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	found := verdictIn(state)
	if found == nil || found.scores == nil {
		return 0, nil
	}
	return found.scores.of(node.Node().Name), nil
}

// ScoreExtensions returns nil: the scores are from 0 to 100 already.
func (p *Longshore) ScoreExtensions() fwk.ScoreExtensions { return nil }

// SignPod refuses while a policy ranks, so that kube-scheduler does not reuse one pod's ranking for the next: a placement
// changes the pooled context, and with it every node's score. In shadow nothing of ours counts, and without a policy
// only what the profile's other plugins sign, so that batching stays as it was.
func (p *Longshore) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.arguments.Shadow {
		return nil, nil
	}
	if p.models.current.Load() != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, "scores depend on all nodes")
	}
	if needs, _ := inference.NeedsOf(pod); needs.HasLimit() || needs.HasDevices() {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the pod has needs that only longshore reads")
	}
	return nil, nil
}

// verdict is what came of asking the policy about one pod, in the state of its scheduling cycle.
type verdict struct {
	// scores are nil where the policy does not rank.
	scores *nodeScores
	// pending is what the decision log gets once the pod has its node; nil = nothing more is to be logged.
	pending *decision
}

// Clone returns the same verdict: it is not written to after PreScore.
func (v *verdict) Clone() fwk.StateData { return v }

// verdictIn returns what came of it; nil = the policy was not asked in this cycle.
func verdictIn(state fwk.CycleState) *verdict {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	found, _ := data.(*verdict)
	return found
}

// nodeScores are one pod's scores. The places are shared by many pods and never written to.
type nodeScores struct {
	places map[string]int32
	scores []int8
}

func (s *nodeScores) of(node string) int64 {
	place, ok := s.places[node]
	if !ok || int(place) >= len(s.scores) {
		return 0
	}
	return int64(s.scores[place])
}
