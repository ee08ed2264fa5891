package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// errUntrustworthy ends the program: the scores that it reports are not those that upstream adds up.
var errUntrustworthy = errors.New("the oracle's own scores differ from RunScorePlugins")

// answerLine answers one case. A case that cannot be answered gets an answer with an error; the returned error is for
// the program.
func (e *evaluator) answerLine(line []byte) ([]byte, error) {
	id, cluster, err := decodeCase(line)
	if err != nil {
		return errorAnswer(id, err).encode()
	}
	out, err := e.evaluate(id, cluster)
	if errors.Is(err, errUntrustworthy) {
		return nil, fmt.Errorf("case %s: %w", id, err)
	}
	if err != nil {
		out = errorAnswer(id, err)
	}
	return out.encode()
}

// evaluate is the decision of one scheduling cycle, short of choosing: upstream's schedulePod, with every node filtered
// and scored.
func (e *evaluator) evaluate(id json.RawMessage, c *cluster) (out *answer, err error) {
	defer func() {
		// Cases are not checked by an API server; upstream may stumble over what one would have refused.
		if cause := recover(); cause != nil {
			out, err = nil, fmt.Errorf("upstream's code panicked: %v", cause)
		}
	}()
	if len(c.nodes) == 0 {
		return nil, scheduler.ErrNoNodesAvailable
	}
	if err := e.world.show(c); err != nil {
		return nil, err
	}
	return e.decide(id, c)
}

// decide answers for what the world shows now.
func (e *evaluator) decide(id json.RawMessage, c *cluster) (*answer, error) {
	out := newAnswer(id)
	state := framework.NewCycleState()
	watch := stopwatch{}
	watch.start()
	feasible, err := e.filter(state, c, out)
	watch.stop()
	if err != nil {
		return nil, err
	}
	if len(feasible) > 0 {
		if err := e.score(state, c.pod, feasible, out, &watch); err != nil {
			return nil, err
		}
	}
	if e.timed {
		seconds := watch.total.Seconds()
		out.Seconds = &seconds
	}
	return out, nil
}

// stopwatch adds up the time that upstream's own phases take, without our second look at every score.
type stopwatch struct {
	begun time.Time
	total time.Duration
}

func (w *stopwatch) start() { w.begun = time.Now() }
func (w *stopwatch) stop()  { w.total += time.Since(w.begun) }

// filter fills the answer's rejections as upstream's findNodesThatFitPod does and returns the feasible nodes.
func (e *evaluator) filter(state fwk.CycleState, c *cluster, out *answer) ([]fwk.NodeInfo, error) {
	result, status, restrictingPlugins := e.framework.RunPreFilterPlugins(e.ctx, state, c.pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, status.AsError()
		}
		out.Prefilter = newRejection(status)
		for _, node := range c.nodes {
			out.Nodes[node.Name] = out.Prefilter
		}
		return nil, nil
	}

	var excluded *rejection
	if !result.AllNodes() {
		reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(restrictingPlugins))
		excluded = newRejection(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
	}
	feasible := make([]fwk.NodeInfo, 0, len(c.nodes))
	for _, node := range c.nodes {
		if excluded != nil && !result.NodeNames.Has(node.Name) {
			out.Nodes[node.Name] = excluded
			continue
		}
		info, err := e.world.NodeInfos().Get(node.Name)
		if err != nil {
			return nil, err
		}
		// Pods without a node are not part of a case, so that there are no nominated pods to filter with.
		status := e.framework.RunFilterPlugins(e.ctx, state, c.pod, info)
		switch {
		case status.Code() == fwk.Error:
			return nil, status.AsError()
		case status.IsSuccess():
			out.Nodes[node.Name] = nil
			feasible = append(feasible, info)
		default:
			out.Nodes[node.Name] = newRejection(status)
		}
	}
	return feasible, nil
}

func newRejection(status *fwk.Status) *rejection {
	reasons := slices.Clone(status.Reasons())
	if status.Plugin() == names.NodeResourcesFit {
		sortScalarReasons(reasons)
	}
	return &rejection{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}

// sortScalarReasons orders the reasons about extended resources and huge pages by name: upstream gives them in the
// random order of a Go map, after those about pods, CPU, memory and ephemeral storage.
func sortScalarReasons(reasons []string) {
	isScalar := func(reason string) bool {
		name, found := strings.CutPrefix(reason, "Insufficient ")
		fixed := []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory), string(corev1.ResourceEphemeralStorage)}
		return found && !slices.Contains(fixed, name)
	}
	if first := slices.IndexFunc(reasons, isScalar); first >= 0 {
		slices.Sort(reasons[first:])
	}
}

// score fills the answer's scores and totals, as upstream's prioritizeNodes does.
func (e *evaluator) score(
	state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo, out *answer, watch *stopwatch,
) error {
	watch.start()
	status := e.framework.RunPreScorePlugins(e.ctx, state, pod, feasible)
	watch.stop()
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, scorer := range e.scorers {
		if state.GetSkipScorePlugins().Has(scorer.plugin.Name()) {
			continue
		}
		scores, err := e.scoresOf(scorer.plugin, state, pod, feasible)
		if err != nil {
			return err
		}
		out.Scores[scorer.plugin.Name()] = scores
	}
	watch.start()
	totals, status := e.framework.RunScorePlugins(e.ctx, state, pod, feasible)
	watch.stop()
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range totals {
		out.Totals[node.Name] = node.TotalScore
		if err := e.compare(node, out.Scores); err != nil {
			return err
		}
	}
	return nil
}

// scoresOf runs one plugin on all feasible nodes, with the state that the framework's own run will use.
func (e *evaluator) scoresOf(
	plugin fwk.ScorePlugin, state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo,
) (*pluginScores, error) {
	list := make(fwk.NodeScoreList, 0, len(feasible))
	scores := &pluginScores{Raw: make(map[string]int64, len(feasible)), Normalized: make(map[string]int64, len(feasible))}
	for _, info := range feasible {
		name := info.Node().Name
		score, status := plugin.Score(e.ctx, state, pod, info)
		if !status.IsSuccess() {
			return nil, fmt.Errorf("plugin %q failed with: %w", plugin.Name(), status.AsError())
		}
		scores.Raw[name] = score
		list = append(list, fwk.NodeScore{Name: name, Score: score})
	}
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		if status := extensions.NormalizeScore(e.ctx, state, pod, list); !status.IsSuccess() {
			return nil, fmt.Errorf("plugin %q failed with: %w", plugin.Name(), status.AsError())
		}
	}
	for _, node := range list {
		scores.Normalized[node.Name] = node.Score
	}
	return scores, nil
}

// compare checks the reported scores of a node against the framework's: same plugins, each weight times normalised.
func (e *evaluator) compare(node fwk.NodePluginScores, scores map[string]*pluginScores) error {
	if len(node.Scores) != len(scores) {
		return fmt.Errorf("%w: node %s: got %d plugins, expected %d", errUntrustworthy, node.Name, len(scores), len(node.Scores))
	}
	weights := make(map[string]int64, len(e.scorers))
	for _, scorer := range e.scorers {
		weights[scorer.plugin.Name()] = scorer.weight
	}
	for _, expected := range node.Scores {
		ours, ok := scores[expected.Name]
		if !ok || weights[expected.Name]*ours.Normalized[node.Name] != expected.Score {
			return fmt.Errorf("%w: node %s: plugin %s: got weight %d and %+v, expected %d",
				errUntrustworthy, node.Name, expected.Name, weights[expected.Name], ours, expected.Score)
		}
	}
	return nil
}
