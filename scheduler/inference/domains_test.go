package inference

import (
	"fmt"
	"testing"
)

// TestDomainsAreForgotten names keys as tenants may, without end.
func TestDomainsAreForgotten(t *testing.T) {
	scorer := NewScorer(&Model{program: &program{}}, nil)
	for i := range 10 * maxDomains {
		scorer.domainOf(fmt.Sprint("tenant.example/", i))
	}
	if got := len(scorer.domains); got > maxDomains {
		t.Errorf("got %d keys that are kept, expected at most %d", got, maxDomains)
	}
}
