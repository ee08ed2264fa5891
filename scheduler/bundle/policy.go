package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// FormatVersion is the newest; formerFormat has no field `load`.
const (
	FormatVersion = 2
	formerFormat  = 1
)

// Limits of policy.json, as on the Python side; those on the lists keep what a small file can ask for small.
const (
	MaxPolicyBytes = 1 << 20
	MaxFeatures    = 1000
	MaxOps         = 1000
	MaxNodes       = 10_000
)

// defaultTieTolerance is what a policy that names no tolerance has.
const defaultTieTolerance = 1e-6

// Op is one operation of the network.
type Op struct {
	Kind    string   `json:"kind"`
	Inputs  []string `json:"inputs"`
	Output  string   `json:"output"`
	Tensors []string `json:"tensors"`
}

// Weight is one term of the objective, and how much it counts.
type Weight struct {
	Term   string  `json:"term"`
	Weight float64 `json:"weight"`
}

// Envelope is the smallest and largest value of every feature in training, in the order of the features.
type Envelope struct {
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
}

// Policy is what policy.json holds. Fields without a default are pointers, so that their absence shows.
type Policy struct {
	Name          *string                    `json:"name"`
	Features      []string                   `json:"features"`
	Ops           []Op                       `json:"ops"`
	Prior         *string                    `json:"prior"`
	Preference    []Weight                   `json:"preference"`
	Filters       *string                    `json:"filters"`
	Objective     *string                    `json:"objective"`
	Envelope      *Envelope                  `json:"envelope"`
	Provenance    map[string]json.RawMessage `json:"provenance"`
	Metrics       map[string]json.RawMessage `json:"metrics"`
	NumNodes      *int                       `json:"num_nodes"`
	MayDefer      bool                       `json:"may_defer"`
	TieTolerance  *float64                   `json:"tie_tolerance"`
	Load          *LoadScale                 `json:"load"`
	Format        *int                       `json:"format"`
	FeatureHash   *string                    `json:"feature_hash"`
	WeightsSHA256 *string                    `json:"weights_sha256"`
}

// Version returns the release of longshore that trained the policy, "" where that is not told.
func (p *Policy) Version() string {
	var versions struct {
		Longshore string `json:"longshore"`
	}
	if json.Unmarshal(p.Provenance["versions"], &versions) != nil {
		return ""
	}
	return versions.Longshore
}

// Tolerance returns how far scores may be apart to count as equal.
func (p *Policy) Tolerance() float64 {
	if p.TieTolerance == nil {
		return defaultTieTolerance
	}
	return *p.TieTolerance
}

// ReadPolicy decodes policy.json and checks all that can be checked without the weights.
func ReadPolicy(data []byte) (*Policy, error) {
	if len(data) > MaxPolicyBytes {
		return nil, errorf("this is no policy of ours", "`policy.json` has %d bytes, expected at most %d", len(data), MaxPolicyBytes)
	}
	var format struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &format); err != nil {
		return nil, errorf(againHint, "`policy.json` cannot be read: %v", err)
	}
	if format.Format == nil {
		return nil, errorf("this is no policy of ours", "`policy.json` has no field `format`")
	}
	if *format.Format != FormatVersion && *format.Format != formerFormat {
		return nil, errorf("use the release of longshore that wrote the bundle, or train the policy again",
			"`policy.json`: got the format version %d, expected %d or %d", *format.Format, formerFormat, FormatVersion)
	}
	policy := &Policy{}
	if err := strictly(data, policy); err != nil {
		return nil, errorf(againHint, "`policy.json` cannot be read: %v", err)
	}
	for _, check := range []func(*Policy) error{checkPresent, checkLists, checkFeatures, checkEnvelope, checkNumbers, checkLoad} {
		if err := check(policy); err != nil {
			return nil, err
		}
	}
	return policy, nil
}

func checkPresent(p *Policy) error {
	required := []struct {
		field   string
		isThere bool
	}{
		{"name", p.Name != nil}, {"features", p.Features != nil}, {"ops", p.Ops != nil}, {"objective", p.Objective != nil},
		{"envelope", p.Envelope != nil}, {"feature_hash", p.FeatureHash != nil}, {"weights_sha256", p.WeightsSHA256 != nil},
	}
	for _, one := range required {
		if !one.isThere {
			return errorf(againHint, "`policy.json` has no field `%s`", one.field)
		}
	}
	if *p.Name == "" || strings.ContainsFunc(*p.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errorf("give the policy another name", "got the name %q, expected one printable line", *p.Name)
	}
	return nil
}

func checkLists(p *Policy) error {
	if len(p.Features) == 0 || len(p.Features) > MaxFeatures {
		return errorf("this is no policy of ours", "got %d features, expected 1 to %d", len(p.Features), MaxFeatures)
	}
	if len(p.Ops) > MaxOps {
		return errorf("train a smaller network", "got %d operations, expected at most %d", len(p.Ops), MaxOps)
	}
	if len(p.Preference) > MaxFeatures {
		return errorf("this is no policy of ours", "got %d preference terms, expected at most %d", len(p.Preference), MaxFeatures)
	}
	return nil
}

// checkFeatures refuses a list that names one feature twice, or that is not the one the hash was made of. Whether the
// features can be computed is the business of whoever computes them.
func checkFeatures(p *Policy) error {
	seen := map[string]bool{}
	for _, spec := range p.Features {
		name, version, found := strings.Cut(spec, "@")
		if _, err := strconv.ParseUint(version, 10, 31); !found || err != nil || name == "" || strings.Contains(name, "\n") {
			return errorf(againHint, "got the feature `%s`, expected `name@version`", spec)
		}
		if seen[name] {
			return errorf("leave doubles out", "got the feature `%s` twice", name)
		}
		seen[name] = true
	}
	if FeatureHash(p.Features) != *p.FeatureHash {
		return errorf("the list was changed after training; "+againHint,
			"`policy.json`: the feature hash is not that of the features listed")
	}
	return nil
}

// FeatureHash returns the SHA-256 of features' `name@version`, one a line, in hex: order and versions count.
func FeatureHash(specs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(specs, "\n")))
	return hex.EncodeToString(sum[:])
}

func checkEnvelope(p *Policy) error {
	low, high := p.Envelope.Low, p.Envelope.High
	if len(low) != len(p.Features) || len(high) != len(p.Features) {
		return errorf("the envelope has one value per feature",
			"got an envelope of %d and %d values, expected %d of each", len(low), len(high), len(p.Features))
	}
	for i, spec := range p.Features {
		if !isFinite(low[i]) || !isFinite(high[i]) || low[i] > high[i] {
			return errorf("train the policy again",
				"feature `%s`: got the envelope %v to %v, expected finite numbers in this order", spec, low[i], high[i])
		}
	}
	return nil
}

func checkNumbers(p *Policy) error {
	var terms []string
	for _, one := range p.Preference {
		if slices.Contains(terms, one.Term) {
			return errorf("leave doubles out", "got the preference term `%s` twice", one.Term)
		}
		terms = append(terms, one.Term)
		if !isFinite(one.Weight) || one.Weight < 0 {
			return errorf("", "preference `%s`: got %v, expected a finite weight of 0 or more", one.Term, one.Weight)
		}
	}
	if tolerance := p.Tolerance(); !isFinite(tolerance) || tolerance < 0 {
		return errorf("", "got the tie tolerance %v, expected a finite number of 0 or more", tolerance)
	}
	if p.NumNodes != nil && (*p.NumNodes < 1 || *p.NumNodes > MaxNodes) {
		return errorf("train a smaller network", "got num_nodes %d, expected 1 to %d", *p.NumNodes, MaxNodes)
	}
	return nil
}

func isFinite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
