package inference

import (
	"cmp"
	"math"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// coveredShare of the pods makes the typical ones, as FGD (USENIX ATC'23) has it.
const coveredShare = 0.95

// shareSteps: shares are multiples of 2^-36, so that sums of them times milli are exact in any order.
const shareSteps = 1 << 36

// anyNumber is how often a pod fits that asks for no CPU.
const anyNumber = 1_000_000

// podKind is what makes pods alike where typical ones are counted.
type podKind struct {
	cpu int64
	gpu gpuRequest
}

// kindCount is how many pods of a kind are there.
type kindCount struct {
	kind  podKind
	count int
}

// size is what a typical pod asks for, whatever the models it accepts.
type size struct{ cpu, milli, count int64 }

// typical is which kinds of pods are typical: the reference that fragmentation is measured against. It is counted over
// all pods on nodes.
type typical struct {
	counts  map[podKind]int
	numGPU  int
	isStale bool

	sorted, spare []kindCount
	sizes         []size
	// byModel has, for a GPU model, how often each size may use it, and last how often none of them may.
	byModel map[string][]float64
	// gpus has how many GPUs of a model there are, pressure what typical pods ask of one of them (see press).
	gpus     map[string]int64
	pressure map[string]float64
}

func newTypical() *typical {
	return &typical{
		counts: map[podKind]int{}, byModel: map[string][]float64{}, gpus: map[string]int64{}, pressure: map[string]float64{},
	}
}

// add counts the pods of a node in place of those that it had.
func (t *typical) add(n *node, pods []fwk.PodInfo) {
	t.remove(n)
	for _, pod := range pods {
		wants, _ := gpuOfBound(pod.GetPod())
		kind := podKind{pod.CalculateResource().Resource.GetMilliCPU(), wants}
		at := slices.IndexFunc(n.kinds, func(one kindCount) bool { return one.kind == kind })
		if at < 0 {
			at = len(n.kinds)
			n.kinds = append(n.kinds, kindCount{kind: kind})
		}
		n.kinds[at].count++
	}
	for _, one := range n.kinds {
		t.counts[one.kind] += one.count
		if one.kind.gpu.count > 0 {
			t.numGPU += one.count
		}
	}
	t.isStale = true
}

// remove forgets the pods of a node.
func (t *typical) remove(n *node) {
	for _, one := range n.kinds {
		if t.counts[one.kind] -= one.count; t.counts[one.kind] == 0 {
			delete(t.counts, one.kind)
		}
		if one.kind.gpu.count > 0 {
			t.numGPU -= one.count
		}
	}
	n.kinds, t.isStale = n.kinds[:0], true
}

// renew finds the typical pods again, most frequent first, and says whether they are others now.
func (t *typical) renew() bool {
	if !t.isStale {
		return false
	}
	t.isStale = false
	t.sorted, t.spare = t.spare[:0], t.sorted
	if t.numGPU > 0 {
		t.sorted = mostFrequent(t.counts, t.sorted)
	}
	if slices.Equal(t.spare, t.sorted) {
		return false
	}
	t.sizes = t.sizes[:0]
	for _, one := range t.sorted {
		if of := sizeOf(one.kind); one.kind.gpu.count > 0 && !slices.Contains(t.sizes, of) {
			t.sizes = append(t.sizes, of)
		}
	}
	for model, shares := range t.byModel {
		t.byModel[model] = t.sharesOf(model, shares)
	}
	return true
}

func sizeOf(kind podKind) size {
	return size{kind.cpu, int64(kind.gpu.milli), int64(kind.gpu.count)}
}

// mostFrequent returns the kinds that cover most pods; of equally frequent ones the larger is typical.
func mostFrequent(counts map[podKind]int, all []kindCount) []kindCount {
	total := 0
	for kind, count := range counts {
		all = append(all, kindCount{kind, count})
		total += count
	}
	slices.SortFunc(all, func(a, b kindCount) int {
		return -cmp.Or(
			cmp.Compare(a.count, b.count), cmp.Compare(a.kind.cpu, b.kind.cpu), cmp.Compare(a.kind.gpu.milli, b.kind.gpu.milli),
			cmp.Compare(a.kind.gpu.count, b.kind.gpu.count), strings.Compare(a.kind.gpu.models, b.kind.gpu.models),
		)
	})
	covered := 0
	for i, one := range all {
		if covered += one.count; float64(covered) >= coveredShare*float64(total) {
			return all[:i+1]
		}
	}
	return all
}

// meet takes note of a GPU model.
func (t *typical) meet(model string) {
	if _, found := t.byModel[model]; !found {
		t.byModel[model] = t.sharesOf(model, nil)
	}
}

// sharesOf returns how often each size may use a GPU model, and last the rest.
func (t *typical) sharesOf(model string, found []float64) []float64 {
	covered := 0
	for _, one := range t.sorted {
		covered += one.count
	}
	found = zeroed(found, len(t.sizes)+1)
	total := 0.0
	for _, one := range t.sorted {
		share := float64(one.count) / float64(covered)
		total += share
		if one.kind.gpu.count > 0 && accepts(one.kind.gpu.models, model) {
			found[slices.Index(t.sizes, sizeOf(one.kind))] += share
		}
	}
	rest := exact(total)
	for i := range t.sizes {
		found[i] = exact(found[i])
		rest -= found[i]
	}
	found[len(t.sizes)] = rest
	return found
}

func exact(share float64) float64 { return math.RoundToEven(share*shareSteps) / shareSteps }

func accepts(models, model string) bool {
	for models != "" {
		var one string
		if one, models, _ = strings.Cut(models, "|"); one == model {
			return true
		}
		if models == "" {
			return false
		}
	}
	return true
}

// isUseful says whether fragments mean anything: somebody wants GPUs, and some node has them.
func (t *typical) isUseful(v *view) bool { return len(t.sizes) > 0 && v.largest.hasDevices }

// countGPUs counts the GPUs of every model.
func (t *typical) countGPUs(nodes []node) {
	clear(t.gpus)
	for i := range nodes {
		t.gpus[nodes[i].gpuModel] += int64(nodes[i].gpuCount)
	}
}

// press works out, for every GPU model, what is asked of one of its GPUs if typical pods spread evenly over those that
// they may use; by the mean over all GPUs, so that it is 1 where every pod may use any of them.
func (t *typical) press() {
	clear(t.pressure)
	total, all := 0.0, int64(0)
	for _, number := range t.gpus {
		all += number
	}
	for _, one := range t.sorted {
		if one.kind.gpu.count == 0 {
			continue
		}
		among := int64(0)
		for model, number := range t.gpus {
			if accepts(one.kind.gpu.models, model) {
				among += number
			}
		}
		if among == 0 { // nobody serves those that ask for models that are not here
			continue
		}
		milli := float64(one.count) * float64(one.kind.gpu.count) * float64(one.kind.gpu.milli)
		total += milli
		for model := range t.gpus {
			if accepts(one.kind.gpu.models, model) {
				t.pressure[model] += milli / float64(among)
			}
		}
	}
	for model, asked := range t.pressure {
		t.pressure[model] = asked * float64(all) / total
	}
}

// pressureOn returns what is asked of a GPU of the node. One without GPUs is as the mean one.
func (t *typical) pressureOn(n *node) float64 {
	if n.gpuCount == 0 && len(t.pressure) > 0 {
		return 1
	}
	return t.pressure[n.gpuModel]
}

// offer is what the devices of a node offer to one size of pods.
type offer struct{ fitting, tooFull, pods int64 }

// add takes one more device, or `times` of them, with so much left.
func (o *offer) add(left, milli, times int64) {
	left = max(left, 0)
	if left >= milli {
		o.fitting += times
		o.pods += times * (left / max(milli, 1))
	} else {
		o.tooFull += times * left
	}
}

// offerAll counts what a node's devices offer to every typical size.
func (t *typical) offerAll(n *node) {
	n.offers = n.offers[:0]
	for _, one := range t.sizes {
		var found offer
		for _, used := range n.gpuUsed {
			found.add(wholeGPU-used, one.milli, 1)
		}
		n.offers = append(n.offers, found)
	}
}

// after returns what is offered to a size once a pod took devices.
func (o offer) after(milli int64, t take) offer {
	if t.count > 0 {
		o.add(t.left, milli, -t.count)
		o.add(t.leftAfter(), milli, t.count)
	}
	return o
}

// fragment returns the milli of a node that are free and of no use to typical pods; idle and cpu are what is left.
func (t *typical) fragment(n *node, after take, idle, cpu int64) float64 {
	shares, total := t.byModel[n.gpuModel], 0.0
	for i, one := range t.sizes {
		unusable, found := idle, n.offers[i].after(one.milli, after)
		if found.fitting >= one.count && cpu >= one.cpu {
			unusable = found.tooFull
		}
		total += float64(unusable) * shares[i]
	}
	return total + float64(idle)*shares[len(t.sizes)]
}

// potential returns the milli of a node that typical pods could use if pods of one size came, over the sizes.
func (t *typical) potential(n *node, after take, cpu int64) float64 {
	shares, total := t.byModel[n.gpuModel], 0.0
	for i, one := range t.sizes {
		fit := int64(anyNumber)
		if one.cpu > 0 {
			fit = max(cpu, 0) / one.cpu
		}
		fit = min(fit, floorDiv64(n.offers[i].after(one.milli, after).pods, one.count))
		total += float64(fit) * (float64(one.milli*one.count) * shares[i])
	}
	return total
}

func floorDiv64(number, by int64) int64 { return int64(floorDiv(int(number), int(by))) }
