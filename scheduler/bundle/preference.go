package bundle

import (
	"maps"
	"slices"
	"strings"
)

// SetPreference gives the terms of a policy's objective other weights than its own, as core/network/bundle.py's weight_values
// does. Terms that are not given weigh 0. Only proportions matter: given weights are scaled to the sum of the policy's
// own, which is what the network has met in training.
func (p *Policy) SetPreference(given map[string]float64) error {
	if len(p.Preference) == 0 {
		return errorf("leave `preference` out, or take a policy that was trained with `--dial`",
			"policy `%s` has no preference that could be given", *p.Name)
	}
	var terms []string
	var ownSum float32
	for _, one := range p.Preference {
		terms = append(terms, one.Term)
		ownSum += float32(one.Weight)
	}
	total := 0.0
	for _, term := range slices.Sorted(maps.Keys(given)) {
		weight := given[term]
		if !slices.Contains(terms, term) {
			return errorf("policy `"+*p.Name+"` was trained with these terms",
				"got the preference `%s`, expected one of: %s", term, strings.Join(terms, ", "))
		}
		if !isFinite(weight) || weight < 0 {
			return errorf("", "preference `%s`: got %v, expected a finite weight of 0 or more", term, weight)
		}
		total += weight
	}
	if !(total > 0) || !isFinite(total) {
		return errorf("", "got a preference that weighs %v, expected weights above 0 that have a sum", total)
	}
	scale := float64(ownSum)
	if scale == 0 {
		scale = 1
	}
	weights := make([]Weight, len(p.Preference))
	for i, term := range terms {
		weights[i] = Weight{term, float64(float32(given[term] / total * scale))}
	}
	p.Preference = weights
	return nil
}
