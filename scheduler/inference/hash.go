package inference

import (
	"hash/maphash"
	"math/bits"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hasher turns what features read of a pod into a number, so that pods that are alike are found without a copy of
// their specs. The seed is drawn at the start: nobody can make up pods that collide.
type hasher struct {
	seed maphash.Seed
	sum  uint64
}

// blend spreads the bits of two numbers over one.
func blend(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD1B54A32D192ED03)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

func (h *hasher) number(value int64) { h.sum = blend(h.sum, uint64(value)) }
func (h *hasher) text(value string)  { h.sum = blend(h.sum, maphash.String(h.seed, value)) }

// labels hashes a map, whatever the order in which Go goes over it.
func (h *hasher) labels(values map[string]string) {
	total := uint64(0)
	for key, value := range values {
		total += blend(maphash.String(h.seed, key), maphash.String(h.seed, value))
	}
	h.number(int64(len(values)))
	h.sum = blend(h.sum, total)
}

func (h *hasher) amounts(values v1.ResourceList) {
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		quantity, given := values[name]
		if !given {
			h.number(-1)
			continue
		}
		h.number(quantity.ScaledValue(resource.Nano))
		h.number(quantity.Value())
	}
}

func (h *hasher) containers(containers []v1.Container, readsImages bool) {
	h.number(int64(len(containers)))
	for i := range containers {
		one := &containers[i]
		h.amounts(one.Resources.Requests)
		if one.RestartPolicy != nil {
			h.text(string(*one.RestartPolicy))
		}
		if readsImages {
			h.text(one.Image)
		}
	}
}

func (h *hasher) annotations(notes map[string]string) {
	if len(notes) == 0 {
		return
	}
	for _, key := range requestKeys {
		if value, given := notes[key]; given {
			h.text(key)
			h.text(value)
		}
	}
}

func (h *hasher) tolerations(tolerations []v1.Toleration) {
	h.number(int64(len(tolerations)))
	for i := range tolerations {
		one := &tolerations[i]
		h.text(one.Key)
		h.text(string(one.Operator))
		h.text(one.Value)
		h.text(string(one.Effect))
	}
}

func (h *hasher) nodePreferences(affinity *v1.Affinity) {
	if affinity == nil || affinity.NodeAffinity == nil {
		return
	}
	for i := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		one := &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		h.number(int64(one.Weight))
		h.nodeRequirements(one.Preference.MatchExpressions)
		h.nodeRequirements(one.Preference.MatchFields)
	}
}

func (h *hasher) nodeRequirements(requirements []v1.NodeSelectorRequirement) {
	h.number(int64(len(requirements)))
	for i := range requirements {
		h.text(requirements[i].Key)
		h.text(string(requirements[i].Operator))
		h.texts(requirements[i].Values)
	}
}

func (h *hasher) texts(values []string) {
	h.number(int64(len(values)))
	for _, value := range values {
		h.text(value)
	}
}

func (h *hasher) selector(selector *metav1.LabelSelector) {
	if selector == nil {
		h.number(-1)
		return
	}
	h.labels(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		h.text(selector.MatchExpressions[i].Key)
		h.text(string(selector.MatchExpressions[i].Operator))
		h.texts(selector.MatchExpressions[i].Values)
	}
}

func (h *hasher) spread(constraints []v1.TopologySpreadConstraint) {
	h.number(int64(len(constraints)))
	for i := range constraints {
		h.text(constraints[i].TopologyKey)
		h.text(string(constraints[i].WhenUnsatisfiable))
		h.selector(constraints[i].LabelSelector)
		h.texts(constraints[i].MatchLabelKeys)
	}
}

func (h *hasher) wishes(terms []v1.WeightedPodAffinityTerm) {
	h.number(int64(len(terms)))
	for i := range terms {
		term := &terms[i].PodAffinityTerm
		h.number(int64(terms[i].Weight))
		h.text(term.TopologyKey)
		h.selector(term.LabelSelector)
		h.selector(term.NamespaceSelector)
		h.texts(term.Namespaces)
		h.texts(term.MatchLabelKeys)
		h.texts(term.MismatchLabelKeys)
	}
}
