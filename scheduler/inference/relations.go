package inference

import (
	"context"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// hostnameLabel and zoneLabel are where pods of one service or controller are spread by default.
const hostnameLabel = "kubernetes.io/hostname"

// hardAffinityWeight is what a required affinity term of an existing pod is worth to others, as upstream has it.
const hardAffinityWeight = 1

// maxRelations bounds how many kinds of pods the scorer keeps relations for.
const maxRelations = 1000

// podRelations are the soft constraints of one kind of pods towards others: spreading and preferred (anti-)affinity.
type podRelations struct {
	pod     *v1.Pod
	version uint64 // of the context objects
	frame   uint64
	used    uint64
	// soft spread constraints: what is counted, and by which label it is summed.
	soft []softTerm
	// own wishes about other pods, with the sign of the weight, and all counts by label.
	wishes          []fwk.WeightedAffinityTerm
	namespaceLabels labels.Set
	tick            uint64
	byKey           []keyedCounts
}

type softTerm struct {
	query *query
	key   string
}

// query counts the pods of a namespace that a selector matches, on every node.
type query struct {
	namespace string
	selector  labels.Selector
	counts    []float64
	total     float64
	tick      uint64
}

// keyedCounts are weights of pods on every node, to be summed over what shares a label's value.
type keyedCounts struct {
	key     string
	weights []float64
}

// domain numbers the values that nodes have of a label; 0 = the node lacks it.
type domain struct {
	frame   uint64
	numbers []int32
	sums    []float64
}

// relationsOf returns what a pod has to do with others, up to date.
func (s *Scorer) relationsOf(pod *v1.Pod) *podRelations {
	h := hasher{seed: s.seed}
	h.text(pod.Namespace)
	h.labels(pod.Labels)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		h.text(owner.APIVersion)
		h.text(owner.Kind)
		h.text(owner.Name)
	}
	h.spread(pod.Spec.TopologySpreadConstraints)
	if affinity := pod.Spec.Affinity; affinity != nil {
		if affinity.PodAffinity != nil {
			h.wishes(affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if affinity.PodAntiAffinity != nil {
			h.number(-1)
			h.wishes(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	found := s.relations[h.sum]
	switch {
	case found == nil || found.frame != s.frame:
		found = s.newRelations(pod)
		s.forgetOldest()
		s.relations[h.sum] = found
	case found.version != s.contextObjects.now():
		// A service, controller or namespace is another: mostly one that has nothing to do with this kind of pod. Only
		// if it does, pods are counted again.
		if now := s.newRelations(pod); now.equal(found) {
			found.version = now.version
		} else {
			found, s.relations[h.sum] = now, now
		}
	}
	found.used = s.tick
	return found
}

// forgetOldest makes room: the kind that was not asked for the longest goes, and with the last kind all queries.
func (s *Scorer) forgetOldest() {
	if len(s.relations) < maxRelations {
		return
	}
	oldest, least := uint64(0), uint64(math.MaxUint64)
	for key, one := range s.relations {
		if one.used < least {
			oldest, least = key, one.used
		}
	}
	delete(s.relations, oldest)
	if len(s.queries) > 2*maxRelations {
		clear(s.queries)
		clear(s.relations)
	}
}

func (s *Scorer) newRelations(pod *v1.Pod) *podRelations {
	made := &podRelations{pod: pod, version: s.contextObjects.now(), frame: s.frame}
	made.soft = s.softTerms(pod)
	if !s.model.reads.neighbours {
		return made
	}
	made.namespaceLabels = s.contextObjects.labelsOf(pod.Namespace)
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return made // terms that cannot be read wish nothing; the pod's filters have had their say
	}
	made.wish(s, info.GetPreferredAffinityTerms(), 1)
	made.wish(s, info.GetPreferredAntiAffinityTerms(), -1)
	return made
}

func (of *podRelations) wish(s *Scorer, terms []fwk.WeightedAffinityTerm, sign int32) {
	for _, term := range terms {
		term.Weight *= sign
		term.Namespaces = term.Namespaces.Clone().Insert(s.contextObjects.namesOf(term.NamespaceSelector)...)
		of.wishes = append(of.wishes, term)
	}
}

// equal says whether two kinds of pods that are spelt the same have to do with the same others.
func (of *podRelations) equal(other *podRelations) bool {
	sameNamespaces := func(a, b fwk.WeightedAffinityTerm) bool { return a.Namespaces.Equal(b.Namespaces) }
	return slices.Equal(of.soft, other.soft) && maps.Equal(of.namespaceLabels, other.namespaceLabels) &&
		slices.EqualFunc(of.wishes, other.wishes, sameNamespaces)
}

// softTerms returns the pod's soft spread constraints, or the cluster's default ones.
func (s *Scorer) softTerms(pod *v1.Pod) []softTerm {
	var terms []softTerm
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		selector := s.contextObjects.defaultSelector(pod)
		if selector.Empty() {
			return nil
		}
		counted := s.queryFor(pod.Namespace, selector)
		return []softTerm{{counted, hostnameLabel}, {counted, zoneLabel}}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		if constraint.WhenUnsatisfiable == v1.ScheduleAnyway {
			terms = append(terms, softTerm{s.queryFor(pod.Namespace, selectorOf(constraint, pod.Labels)), constraint.TopologyKey})
		}
	}
	return terms
}

func (s *Scorer) queryFor(namespace string, selector labels.Selector) *query {
	key := namespace + "\n"
	if selector != nil {
		key += selector.String()
	}
	found := s.queries[key]
	if found == nil {
		found = &query{namespace: namespace, selector: selector}
		s.queries[key] = found
	}
	return found
}

// renew counts again on the nodes whose pods changed; false = there was no time for all.
func (q *query) renew(ctx context.Context, s *Scorer) bool {
	if len(q.counts) != len(s.nodes) {
		q.counts, q.tick = zeroed(q.counts, len(s.nodes)), 0
	}
	if q.selector == nil || q.selector.Empty() {
		return true // as upstream: an empty selector counts nothing
	}
	if q.tick == s.tick {
		return true // for another constraint
	}
	q.total = 0
	numCounted := 0
	for i := range q.counts {
		if s.changed[i] > q.tick || q.tick == 0 {
			if !hasTime(ctx, numCounted) {
				return false
			}
			numCounted++
			q.counts[i] = q.count(s.nodes[i].info.GetPods())
		}
		q.total += q.counts[i]
	}
	q.tick = s.tick
	return true
}

func (q *query) count(pods []fwk.PodInfo) float64 {
	count := 0
	for _, info := range pods {
		pod := info.GetPod()
		if pod.DeletionTimestamp == nil && pod.Namespace == q.namespace && q.selector.Matches(labels.Set(pod.Labels)) {
			count++
		}
	}
	return float64(count)
}

// crowding adds up the pods of the same kind in the node's domains, over the soft spread constraints; false = there was
// no time for it.
func (s *Scorer) crowding(ctx context.Context, of *podRelations) bool {
	isEmpty := true
	for _, term := range of.soft {
		if !term.query.renew(ctx, s) {
			return false
		}
		isEmpty = isEmpty && term.query.total == 0
	}
	column := &s.others[crowdingColumn]
	if isEmpty {
		column.takeSame(0)
		return true
	}
	s.sums = zeroed(s.sums, len(s.nodes))
	for _, term := range of.soft {
		if term.query.total > 0 {
			s.addDomainSums(s.sums, term.query.counts, term.key)
		}
	}
	column.takeOfMost(s.sums)
	return true
}

// neighbours adds up, for every node, the weight that pods near it have for the pod, or it for them; false = there was no
// time for it.
func (s *Scorer) neighbours(ctx context.Context, of *podRelations) bool {
	numWeighed := 0
	for i, changed := range s.changed {
		if changed > of.tick || of.tick == 0 {
			if !hasTime(ctx, numWeighed) {
				return false
			}
			numWeighed++
			of.weigh(i, s)
		}
	}
	of.tick = s.tick
	column := &s.others[neighboursColumn]
	if len(of.byKey) == 0 {
		column.takeSame(0)
		return true
	}
	s.sums = zeroed(s.sums, len(s.nodes))
	for _, one := range of.byKey {
		s.addDomainSums(s.sums, one.weights, one.key)
	}
	column.takeOfMost(s.sums)
	return true
}

// weigh counts one node's pods again.
func (of *podRelations) weigh(at int, s *Scorer) {
	for _, one := range of.byKey {
		one.weights[at] = 0
	}
	info := s.nodes[at].info
	for i := range of.wishes {
		term := &of.wishes[i]
		for _, pod := range info.GetPods() {
			if term.Matches(pod.GetPod(), nil) {
				of.weightsBy(term.TopologyKey, s)[at] += float64(term.Weight)
			}
		}
	}
	for _, pod := range info.GetPodsWithAffinity() {
		for _, term := range pod.GetRequiredAffinityTerms() {
			of.consider(&term, hardAffinityWeight, at, s)
		}
		for _, term := range pod.GetPreferredAffinityTerms() {
			of.consider(&term.AffinityTerm, float64(term.Weight), at, s)
		}
		for _, term := range pod.GetPreferredAntiAffinityTerms() {
			of.consider(&term.AffinityTerm, -float64(term.Weight), at, s)
		}
	}
}

// consider adds the weight of another pod's term where it is about this pod.
func (of *podRelations) consider(term *fwk.AffinityTerm, weight float64, at int, s *Scorer) {
	if term.Matches(of.pod, of.namespaceLabels) {
		of.weightsBy(term.TopologyKey, s)[at] += weight
	}
}

func (of *podRelations) weightsBy(key string, s *Scorer) []float64 {
	for i := range of.byKey {
		if of.byKey[i].key == key {
			return of.byKey[i].weights
		}
	}
	of.byKey = append(of.byKey, keyedCounts{key, make([]float64, len(s.nodes))})
	return of.byKey[len(of.byKey)-1].weights
}

// addDomainSums adds to every node what all nodes that share its value of a label have together.
func (s *Scorer) addDomainSums(column, values []float64, key string) {
	by := s.domainOf(key)
	clear(by.sums)
	for i, number := range by.numbers {
		by.sums[number] += values[i]
	}
	by.sums[0] = 0
	for i, number := range by.numbers {
		column[i] += by.sums[number]
	}
}

// maxDomains is how many keys of labels are kept: each takes four bytes for every node.
const maxDomains = 64

// domainOf numbers the nodes' values of a label.
func (s *Scorer) domainOf(key string) *domain {
	found := s.domains[key]
	if found != nil && found.frame == s.frame {
		return found
	}
	found = &domain{frame: s.frame, numbers: make([]int32, len(s.nodes))}
	values := map[string]int32{}
	for i := range s.nodes {
		value, given := s.nodes[i].object.Labels[key]
		if !given {
			continue
		}
		if values[value] == 0 {
			values[value] = int32(len(values) + 1)
		}
		found.numbers[i] = values[value]
	}
	found.sums = make([]float64, len(values)+1)
	if len(s.domains) >= maxDomains {
		clear(s.domains) // tenants name the keys, and clusters have a handful
	}
	s.domains[key] = found
	return found
}
