package inference

import (
	"hash/maphash"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const zoneLabel = "topology.kubernetes.io/zone"

// halfNearMillis is where a zone counts half as near as one's own.
const halfNearMillis = 5.0

// nodeFacts is what a node is: it changes when somebody changes the node, not when pods come and go.
type nodeFacts struct {
	cpu, memory, pods int64
	curve             []float64
	cost, carbon      float64
	gpuCount          int
	gpuModel          string
	zone              string
	hasZone           bool
	// attributes is a hash of all that the model's other features read of the node: labels, taints, images.
	attributes uint64
}

// node is one node as it was last seen.
type node struct {
	name   string
	object *v1.Node
	info   fwk.NodeInfo
	nodeFacts
	annotated Reading

	// What runs there.
	cpuAsked, memoryAsked, numPods int64
	isOn                           bool // it runs a pod that keeps it from being removed
	gpuUsed                        []int64
	kinds                          []kindCount
	booking                        []holder
	// What was read there.
	reading Reading

	// Worked out of the above and of the largest nodes.
	cpuUsed, memoryUsed, podsUsed float64
	watts                         []float64 // the curve with as many points as the longest one has
	near                          []nearZone
	zoneNumber                    int
	gpu                           gpuState
	offers                        []offer // to every typical size of pods
}

// nearZone is how near the nodes of another zone are.
type nearZone struct {
	zone int
	near float32
}

// factsOf reads a node object.
func (s *Scorer) factsOf(info fwk.NodeInfo) nodeFacts {
	object, have := info.Node(), info.GetAllocatable()
	notes := object.Annotations
	facts := nodeFacts{
		cpu: have.GetMilliCPU(), memory: have.GetMemory(), pods: int64(have.GetAllowedPodNumber()),
		carbon: numberOr(notes, carbonKey, defaultCarbon),
	}
	facts.curve = powerCurve(notes, facts.cpu)
	facts.cost = numberOr(notes, costKey, assumedPrice(facts.cpu, facts.memory))
	facts.gpuCount, facts.gpuModel = devicesOf(object)
	facts.zone, facts.hasZone = object.Labels[zoneLabel]
	facts.attributes = s.hashAttributes(info)
	return facts
}

// hashAttributes hashes what the model's features read of a node beside the numbers.
func (s *Scorer) hashAttributes(info fwk.NodeInfo) uint64 {
	object, sum := info.Node(), uint64(0)
	if s.model.reads.labels {
		for key, value := range object.Labels {
			sum += blend(maphash.String(s.seed, key), maphash.String(s.seed, value))
		}
	}
	if s.model.reads.taints {
		for _, taint := range object.Spec.Taints {
			if taint.Effect != v1.TaintEffectPreferNoSchedule {
				continue // a matter of filters, such as that a node is not ready
			}
			sum += blend(blend(maphash.String(s.seed, taint.Key), maphash.String(s.seed, taint.Value)), maphash.String(s.seed, string(taint.Effect)))
		}
	}
	if s.model.reads.images {
		for name, state := range info.GetImageStates() {
			sum += blend(maphash.String(s.seed, name), uint64(state.Size))
		}
	}
	return sum
}

func (f *nodeFacts) equal(other *nodeFacts) bool {
	return f.cpu == other.cpu && f.memory == other.memory && f.pods == other.pods && slices.Equal(f.curve, other.curve) &&
		f.cost == other.cost && f.carbon == other.carbon && f.gpuCount == other.gpuCount && f.gpuModel == other.gpuModel &&
		f.zone == other.zone && f.hasZone == other.hasZone && f.attributes == other.attributes
}

// takeState reads what runs on a node.
func (n *node) takeState(info fwk.NodeInfo) {
	asked := info.GetRequested()
	n.info = info
	n.cpuAsked, n.memoryAsked, n.numPods = asked.GetMilliCPU(), asked.GetMemory(), int64(len(info.GetPods()))
	n.isOn = slices.ContainsFunc(info.GetPods(), func(one fwk.PodInfo) bool { return keepsOn(one.GetPod()) })
	n.cpuUsed = share(n.cpuAsked, n.cpu)
	n.memoryUsed = share(n.memoryAsked, n.memory)
	n.podsUsed = share(n.numPods, n.pods)
}

// keepsOn says whether a node that runs the pod is on: it could not be removed without moving the pod. A DaemonSet's pod
// and a static pod's mirror come and go with the node; pods that have ended are in no snapshot.
func keepsOn(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		_, isMirror := pod.Annotations[v1.MirrorPodAnnotationKey]
		return !isMirror
	}
	return owner.Kind != "DaemonSet" && (owner.Kind != "Node" || owner.APIVersion != "v1")
}

// share returns asked by what there is, 0 to 1; what a node has none of counts as used up if it is asked for.
func share(asked, have int64) float64 { return cut(float64(asked) / float64(max(have, 1))) }

func cut(value float64) float64 { return min(max(value, 0), 1) }

// resampled returns a curve with another number of points.
func resampled(curve []float64, points int) []float64 {
	if len(curve) == points {
		return curve
	}
	found := make([]float64, points)
	for i := range found {
		position := float64(i) / float64(points-1) * float64(len(curve)-1)
		lower := min(int(position), len(curve)-2)
		found[i] = curve[lower] + (curve[lower+1]-curve[lower])*(position-float64(lower))
	}
	return found
}

// wattsAt reads the node's curve at a share of CPU; a node without CPU is idle as a load.
func (n *node) wattsAt(used float64) float64 {
	if n.cpu <= 0 {
		return n.watts[0]
	}
	position := used * float64(len(n.watts)-1)
	lower := math.Floor(position)
	at := int(lower)
	if at == len(n.watts)-1 {
		return n.watts[at]
	}
	return n.watts[at] + (n.watts[at+1]-n.watts[at])*(position-lower)
}

func known(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
