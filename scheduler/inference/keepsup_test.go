package inference

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// expiring is a context whose time is over when it has been asked so often.
type expiring struct {
	context.Context
	looks atomic.Int64
}

func expiringAfter(looks int) *expiring {
	made := &expiring{Context: background}
	made.looks.Store(int64(looks))
	return made
}

func (e *expiring) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestScoreKeepsUp places pods of several kinds, takes them away, changes nodes, their order and readings, lets pods go
// to some nodes only, and has a scorer that remembers score as one that has never seen the cluster before. Before each
// pod the time of another one runs out somewhere on the way.
func TestScoreKeepsUp(t *testing.T) {
	for name, model := range contractModels(t) {
		if model.numNodes != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			infos := busyCluster(150, 3)
			kept := NewScorer(model, nil, MaxOutside(1))
			readings := NewReadings(map[string]Reading{}, 1)
			numCancelled := 0
			for step := range 120 {
				infos, readings = disturb(t, random, step, infos, readings)
				all, pod := asInterfaces(infos), aPod(step, random.IntN(8))
				feasible := someOf(random, step, all)
				got, want := make([]float32, len(feasible)), make([]float32, len(feasible))
				if err := kept.Score(expiringAfter(random.IntN(12)), aPod(-step, random.IntN(8)), all, feasible, readings, got); err != nil {
					numCancelled++
				}
				afresh := NewScorer(model, nil, MaxOutside(1))
				for scorer, out := range map[*Scorer][]float32{kept: got, afresh: want} {
					if err := scorer.Score(background, pod, all, feasible, readings, out); err != nil {
						t.Fatal(err)
					}
				}
				for i := range want {
					if math.Abs(float64(got[i]-want[i])) > scoreTolerance*max(1, math.Abs(float64(want[i]))) {
						t.Fatalf("step %d, node %d: score %v, afresh %v", step, i, got[i], want[i])
					}
				}
				if kept.Outside() != afresh.Outside() {
					t.Fatalf("step %d: outside %v, afresh %v", step, kept.Outside(), afresh.Outside())
				}
				ownOf(feasible[slices.Index(got, slices.Max(got))]).AddPod(pod)
			}
			if numCancelled < 20 {
				t.Errorf("got %d calls whose time ran out, expected 20 or more", numCancelled)
			}
		})
	}
}

// someOf returns all nodes, all in another order, or some of them.
func someOf(random *rand.Rand, step int, all []fwk.NodeInfo) []fwk.NodeInfo {
	feasible := slices.Clone(all)
	if step%3 > 0 {
		random.Shuffle(len(feasible), func(i, j int) { feasible[i], feasible[j] = feasible[j], feasible[i] })
	}
	if step%3 == 2 {
		feasible = feasible[:1+random.IntN(len(feasible))]
	}
	return feasible
}

// aPod returns a pod of one of several kinds: some want GPUs, some be near others, some not.
func aPod(number, kind int) *v1.Pod {
	pod := podNumber(2_000_000+number, kind%6)
	like := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "app-2"}}
	switch kind {
	case 1:
		pod.Annotations = map[string]string{gpuMilliKey: "300"}
	case 2:
		pod.Annotations = map[string]string{gpuCountKey: "2", gpuModelKey: "A100|T4"}
	case 3:
		pod.Annotations = map[string]string{hardLimitKeys[0]: "30"}
	case 4, 5:
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: hostnameLabel, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: like},
			{MaxSkew: 1, TopologyKey: zoneLabel, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: like},
		}
	case 6:
		term := v1.PodAffinityTerm{LabelSelector: like, TopologyKey: zoneLabel}
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: term}},
		}}
	}
	return pod
}

// disturb changes something about the cluster, another thing at every step.
func disturb(t testing.TB, random *rand.Rand, step int, infos []*framework.NodeInfo, readings Readings) ([]*framework.NodeInfo, Readings) {
	at := random.IntN(len(infos))
	info := infos[at]
	node := info.Node().DeepCopy()
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	switch step % 11 {
	case 0:
		if pods := info.GetPods(); len(pods) > 0 {
			if err := info.RemovePod(klogger(t), pods[0].GetPod()); err != nil {
				t.Fatal(err)
			}
		}
	case 1:
		node.Annotations[wattsKey] = fmt.Sprintf("%d,%d,400", random.IntN(100), 100+random.IntN(100))
		info.SetNode(node)
	case 2:
		reading := Unknown()
		reading.LatencyMillis = 50 * random.Float64()
		reading.ZoneLatencyMillis = map[string]float64{"zone-0": random.Float64(), "zone-1": 3}
		readings = NewReadings(map[string]Reading{node.Name: reading}, uint64(step+2))
	case 3:
		node.Labels[zoneLabel] = "zone-new"
		info.SetNode(node)
	case 4:
		return slices.Delete(slices.Clone(infos), at, at+1), readings
	case 5:
		return append(slices.Clone(infos), busyCluster(500+step, 2)[499+step]), readings
	case 6:
		node.Annotations[gpuCountKey], node.Annotations[gpuModelKey] = "4", "A100"
		info.SetNode(node)
	case 7:
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: "Heartbeat"})
		info.SetNode(node)
	case 8: // another order
		infos = slices.Clone(infos)
		infos[0], infos[at] = infos[at], infos[0]
	case 9: // the same node as another object
		infos = slices.Clone(infos)
		infos[at] = info.SnapshotConcrete()
	}
	return infos, readings
}

// TestScoreKeepsWhatTaintsOfFiltersDoNotTouch: nodes become ready and not all the time; only soft taints are read.
func TestScoreKeepsWhatTaintsOfFiltersDoNotTouch(t *testing.T) {
	infos := busyCluster(10, 1)
	scorer := NewScorer(loadModel(t, contractFolder, "bundles", "deepsets"), nil, MaxOutside(1))
	frameWith := func(effect v1.TaintEffect) uint64 {
		node := infos[3].Node().DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "key", Effect: effect})
		infos[3].SetNode(node)
		scored(t, scorer, podNumber(1, 1), asInterfaces(infos), Readings{})
		return scorer.frame
	}
	first := frameWith(v1.TaintEffectNoExecute)
	if again := frameWith(v1.TaintEffectNoSchedule); again != first {
		t.Errorf("got frame %d after %d, want the same", again, first)
	}
	if soft := frameWith(v1.TaintEffectPreferNoSchedule); soft == first {
		t.Errorf("got the same frame with a soft taint, want another")
	}
}
