package longshore

import (
	"encoding/json"
	"sync"
	"sync/atomic"
)

const (
	// ringSize is how many decisions wait for the log at most; then the oldest are dropped, and counted.
	ringSize = 10_000
	// topCandidates of the best nodes go into a decision: enough to see how close it was.
	topCandidates = 5
)

// candidate is a node and its score; the log has it as a pair.
type candidate struct {
	node  string
	score float32
}

// MarshalJSON writes the pair.
func (c candidate) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{c.node, c.score}) }

// decision is a row of the decision log, with the field names of src/longshore/core/words/decision.py.
type decision struct {
	TimeMicros     int64       `json:"time_us"`
	Mode           string      `json:"mode"`
	PodNamespace   string      `json:"pod_namespace"`
	PodName        string      `json:"pod_name"`
	PodUID         string      `json:"pod_uid"`
	Policy         string      `json:"policy"`
	PolicyVersion  string      `json:"policy_version"`
	SchedulerName  string      `json:"scheduler_name"`
	Node           *string     `json:"node"`
	RunnerUp       *string     `json:"runner_up"`
	Score          *float32    `json:"score"`
	NumNodes       int         `json:"num_nodes"`
	NumFeasible    int         `json:"num_feasible"`
	Candidates     []candidate `json:"candidates"`
	FallbackReason *string     `json:"fallback_reason"`
	LatencyMicros  int64       `json:"latency_us"`
}

// ring holds the decisions that the log has not taken yet. Adding never waits: a full ring drops its oldest.
type ring struct {
	// trouble is why the log does not take them; nil = it does.
	trouble atomic.Pointer[string]

	mutex   sync.Mutex
	entries []decision
	first   int
	count   int
	dropped int
}

func newRing(size int) *ring { return &ring{entries: make([]decision, size)} }

// add puts a decision in; false = the oldest was dropped for it.
func (r *ring) add(one decision) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	isFull := r.count == len(r.entries)
	if isFull {
		r.first = (r.first + 1) % len(r.entries)
		r.count--
		r.dropped++
	}
	r.entries[(r.first+r.count)%len(r.entries)] = one
	r.count++
	return !isFull
}

// oldest returns up to that many decisions, which stay until done is called, and the number to call it with.
func (r *ring) oldest(most int) ([]decision, int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	batch := make([]decision, min(most, r.count))
	for i := range batch {
		batch[i] = r.entries[(r.first+i)%len(r.entries)]
	}
	return batch, r.dropped
}

// done removes a batch that the log has taken; what was dropped meanwhile was of that batch and is gone already.
func (r *ring) done(size, droppedBefore int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	size = max(0, size-(r.dropped-droppedBefore))
	for range min(size, r.count) {
		r.entries[r.first] = decision{} // let go of its names
		r.first = (r.first + 1) % len(r.entries)
		r.count--
	}
}

// best returns the few best nodes of all, best first and of equal ones the lowest name first.
func best(candidates []candidate, name string, score float32) []candidate {
	at := len(candidates)
	for at > 0 && (candidates[at-1].score < score || candidates[at-1].score == score && candidates[at-1].node > name) {
		at--
	}
	if at == topCandidates {
		return candidates
	}
	if len(candidates) < topCandidates {
		candidates = append(candidates, candidate{})
	}
	copy(candidates[at+1:], candidates[at:])
	candidates[at] = candidate{name, score}
	return candidates
}
