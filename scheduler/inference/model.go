// Package inference scores nodes for a pod with a trained policy (a bundle): features from NodeInfo, then the policy's
// operations, with what has not changed kept from pod to pod.
package inference

import (
	"errors"
	"strconv"
	"strings"

	"longshore.dev/scheduler/bundle"
)

// Model is a policy that is ready to score. It is not written to after Load: several scorers may share one.
type Model struct {
	name, version, sha256 string
	limitsLatency         bool
	tieTolerance          float32
	numNodes              int // of a network of fixed size; 0 = any number
	preference            []float32
	features              []feature
	names                 []string
	low, high             []float32
	reads                 reads
	program               *program
	load                  *bundle.LoadScale // how `load` is measured; nil = the network does not read it
	// The places of features by what they depend on: own ones that stay while the node stays as it is, own ones that
	// move with its pods and readings, those of the cluster, and those that depend on other nodes.
	still, moving, cluster, others []int
}

// Load reads and checks a bundle folder; errors are Problems that say the file, what was got and what was expected.
func Load(dir string) (*Model, error) { return LoadPreferring(dir, nil) }

// LoadPreferring is Load for a policy that takes the weights of its objective's terms; none = its own.
func LoadPreferring(dir string, preference map[string]float64) (*Model, error) {
	read, err := bundle.Read(dir)
	if err == nil && len(preference) > 0 {
		err = read.Policy.SetPreference(preference)
	}
	if err != nil {
		return nil, badBundle(err)
	}
	return newModel(read)
}

func badBundle(err error) error {
	var known *bundle.Error
	if !errors.As(err, &known) {
		return problemf(BadBundle, "%v", err)
	}
	return &Problem{Reason: BadBundle, Message: known.Error()}
}

func newModel(b *bundle.Bundle) (*Model, error) {
	policy := b.Policy
	if policy.Prior != nil {
		return nil, problemf(BadBundle, "policy `%s` corrects the heuristic `%s`, which is not computed here (hint: train it "+
			"without `--prior`, or serve it with `longshore schedule`)", *policy.Name, *policy.Prior)
	}
	if policy.MayDefer {
		return nil, problemf(BadBundle, "policy `%s` may let pods wait, which a score cannot say (hint: serve it with "+
			"`longshore schedule`)", *policy.Name)
	}
	m := &Model{name: *policy.Name, version: policy.Version(), sha256: b.SHA256, tieTolerance: float32(policy.Tolerance()), load: policy.Load}
	m.limitsLatency = policy.Filters == nil || *policy.Filters != "upstream"
	if policy.NumNodes != nil {
		m.numNodes = *policy.NumNodes
	}
	for _, one := range policy.Preference {
		m.preference = append(m.preference, float32(one.Weight))
	}
	if err := m.takeFeatures(policy); err != nil {
		return nil, err
	}
	m.program = compile(b)
	m.reads.gpus = m.reads.gpus || m.program.readsLoad
	for i := range m.program.stages {
		for _, pool := range m.program.stages[i].pools {
			m.reads.app = m.reads.app || pool.kind == "mean_app"
			m.reads.zones = m.reads.zones || pool.kind == "mean_zone" || pool.kind == "mean_near"
			m.reads.readings = m.reads.readings || pool.kind == "mean_near"
		}
	}
	return m, nil
}

// takeFeatures looks the features up that the policy reads, each in the version that it was trained with.
func (m *Model) takeFeatures(policy *bundle.Policy) error {
	table := featureTable()
	for i, spec := range policy.Features {
		name, version, _ := strings.Cut(spec, "@")
		one, found := table[name]
		if !found {
			return problemf(UnknownFeature, "policy `%s` reads the feature `%s`, which is not known inside kube-scheduler "+
				"(hint: train it without this feature, or serve it with `longshore schedule`)", m.name, name)
		}
		if version != strconv.Itoa(one.version) {
			return problemf(UnknownFeature, "policy `%s`: got the feature `%s`, expected `%s@%d` (hint: use the release of "+
				"longshore that it was trained with, or train it again)", m.name, spec, name, one.version)
		}
		m.features, m.names = append(m.features, one), append(m.names, name)
		m.low, m.high = append(m.low, float32(policy.Envelope.Low[i])), append(m.high, float32(policy.Envelope.High[i]))
		m.reads.join(one.reads)
		switch one.scope {
		case ofPod, ofNode:
			m.still = append(m.still, i)
		case ofReadings, ofPods:
			m.moving = append(m.moving, i)
		case ofCluster:
			m.cluster = append(m.cluster, i)
		case ofOthers:
			m.others = append(m.others, i)
		}
	}
	return nil
}

// Info returns what the policy is called, the release of longshore that made it, and the SHA-256 of its policy.json,
// which covers the weights too.
func (m *Model) Info() (name, version, sha256 string) { return m.name, m.version, m.sha256 }

// NeedsReadings says whether the policy reads what is measured outside of Kubernetes.
func (m *Model) NeedsReadings() bool { return m.reads.readings }

// TieTolerance returns how far scores may be apart to count as equal.
func (m *Model) TieTolerance() float32 { return m.tieTolerance }

// LimitsLatency says whether the policy was trained behind a filter that keeps pods within their hard latency limits.
func (m *Model) LimitsLatency() bool { return m.limitsLatency }
