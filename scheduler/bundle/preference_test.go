package bundle

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func dial(weights ...Weight) *Policy {
	name := "dial"
	return &Policy{Name: &name, Preference: weights}
}

func TestPreferenceIsScaledToThePolicysOwnSum(t *testing.T) {
	tests := map[string]struct {
		own   []Weight
		given map[string]float64
		want  []Weight
	}{
		"both":              {[]Weight{{"ee", 0.5}, {"watts", 1.5}}, map[string]float64{"ee": 3, "watts": 1}, []Weight{{"ee", 1.5}, {"watts", 0.5}}},
		"one alone":         {[]Weight{{"ee", 0.5}, {"watts", 1.5}}, map[string]float64{"watts": 7}, []Weight{{"ee", 0}, {"watts", 2}}},
		"own weights are 0": {[]Weight{{"ee", 0}, {"watts", 0}}, map[string]float64{"ee": 1, "watts": 3}, []Weight{{"ee", 0.25}, {"watts", 0.75}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy := dial(test.own...)
			if err := policy.SetPreference(test.given); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(policy.Preference, test.want) {
				t.Errorf("got %v, expected %v", policy.Preference, test.want)
			}
		})
	}
}

func TestWrongPreferenceIsASentenceAndChangesNothing(t *testing.T) {
	own := []Weight{{"ee", 0.5}, {"watts", 0.5}}
	tests := map[string]struct {
		own   []Weight
		given map[string]float64
		want  string
	}{
		"no dial":        {nil, map[string]float64{"watts": 1}, "policy `dial` has no preference that could be given"},
		"unknown term":   {own, map[string]float64{"wats": 1}, "got the preference `wats`, expected one of: ee, watts"},
		"below 0":        {own, map[string]float64{"watts": -1}, "preference `watts`: got -1, expected a finite weight"},
		"not a number":   {own, map[string]float64{"watts": math.NaN()}, "preference `watts`: got NaN"},
		"weighs nothing": {own, map[string]float64{"watts": 0}, "got a preference that weighs 0"},
		"a sum too far":  {own, map[string]float64{"watts": math.MaxFloat64, "ee": math.MaxFloat64}, "got a preference that weighs +Inf"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy := dial(test.own...)
			err := policy.SetPreference(test.given)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
			if !reflect.DeepEqual(policy.Preference, test.own) {
				t.Errorf("got %v, expected %v as before", policy.Preference, test.own)
			}
		})
	}
}
