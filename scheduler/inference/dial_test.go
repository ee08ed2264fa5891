package inference

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// preferredModels loads the bundles of contract/preferences.json with the weights that it gives them.
func preferredModels(t testing.TB) map[string]*Model {
	text, err := os.ReadFile(filepath.Join(contractFolder, "preferences.json"))
	if err != nil {
		t.Fatal(err)
	}
	var preferences map[string]map[string]float64
	decodeInto(t, text, &preferences)
	models := map[string]*Model{}
	for name, weights := range preferences {
		folder := filepath.Join(contractFolder, "bundles", name)
		if _, err := os.Stat(folder); err != nil {
			folder = filepath.Join(bundlesFolder, name)
		}
		if models[name], err = LoadPreferring(folder, weights); err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
	}
	return models
}

func TestContractPreferredScores(t *testing.T) {
	models := preferredModels(t)
	compared := 0
	for _, one := range readCases(t) {
		w := one.world(t)
		for name, want := range one.Expected.Preferred {
			one.compareScores(t, w, name, models[name], want)
			compared += len(want)
		}
	}
	t.Logf("%d scores of %d bundles compared", compared, len(models))
	if compared == 0 {
		t.Error("no case has scores of other weights")
	}
}

func TestAPreferenceThatTheBundleDoesNotTakeIsASentence(t *testing.T) {
	tests := map[string]struct{ bundle, want string }{
		"unknown term": {"kinds", "got the preference `latency`, expected one of: fragmentation, watts"},
		"no dial":      {"linear", "policy `linear` has no preference that could be given"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := LoadPreferring(filepath.Join(contractFolder, "bundles", test.bundle), map[string]float64{"latency": 1})
			var problem *Problem
			if !errors.As(err, &problem) || problem.Reason != BadBundle || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
		})
	}
}
