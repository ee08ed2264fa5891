// Package inference scores nodes for a pod with a trained policy (a bundle): features from NodeInfo, then the policy's
// operations, with what has not changed kept from pod to pod.
package inference

import (
	"context"
	"math"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Model is a policy that is ready to score. It is not written to after Load: several scorers may share one.
type Model struct {
	name, version, sha256 string
	needsReadings         bool
	tieTolerance          float32
}

// Load reads and checks a bundle folder; errors are Problems that say the file, what was got and what was expected.
func Load(dir string) (*Model, error) {
	return &Model{name: dir, tieTolerance: 1e-6}, nil
}

// Info returns what the policy is called, the release of longshore that made it, and the SHA-256 of its policy.json,
// which covers the weights too.
func (m *Model) Info() (name, version, sha256 string) { return m.name, m.version, m.sha256 }

// NeedsReadings says whether the policy reads what is measured outside of Kubernetes.
func (m *Model) NeedsReadings() bool { return m.needsReadings }

// TieTolerance returns how far scores may be apart to count as equal.
func (m *Model) TieTolerance() float32 { return m.tieTolerance }

// Scorer scores nodes with one model; it owns buffers and caches, and serves one caller at a time.
type Scorer struct {
	model        *Model
	parallelizer fwk.Parallelizer
}

// NewScorer returns a scorer with empty caches; without a parallelizer it works on the caller's thread alone.
func NewScorer(m *Model, parallelizer fwk.Parallelizer) *Scorer {
	return &Scorer{model: m, parallelizer: parallelizer}
}

// Score writes the score of feasible[i] to out[i]. `all` are all nodes of the snapshot: the context is pooled over
// them. An error is a *Problem, a reason to fall back; out is then not to be read.
func (s *Scorer) Score(ctx context.Context, pod *v1.Pod, all, feasible []fwk.NodeInfo, readings Readings, out []float32) error {
	for i := range feasible {
		out[i] = float32(math.NaN())
	}
	return problemf(NotFinite, "not there yet")
}
