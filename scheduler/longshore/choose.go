package longshore

import (
	"math"

	fwk "k8s.io/kube-scheduler/framework"
)

// kube-scheduler takes the highest total, and any of them where several are equal. So that the choice is the policy's
// alone, only the chosen node gets 100; the others get floor(99 · their place between the worst and the best).
const (
	chosenScore = int8(fwk.MaxNodeScore)
	mostOther   = float64(fwk.MaxNodeScore - 1)
)

// lowestNamedBest returns the node with the best score; scores within the tolerance of the best tie, and of those the
// lowest name wins. Where nodes are alike most of them tie, so that names are compared by their ranks.
func (p *Longshore) lowestNamedBest(scores []float32, tolerance float32) int {
	_, best := ends(scores)
	chosen, least := -1, int32(math.MaxInt32)
	for i, score := range scores {
		if rank := p.ranks[p.places[i]]; rank < least && score >= best-tolerance {
			chosen, least = i, rank
		}
	}
	return chosen
}

// ends returns the lowest and the highest of scores, all of which are numbers.
func ends(scores []float32) (worst, best float32) {
	worst, best = scores[0], scores[0]
	for _, score := range scores[1:] {
		// Not min and max, which also look for what is not a number, one score after the other.
		if score < worst {
			worst = score
		}
		if score > best {
			best = score
		}
	}
	return worst, best
}

// toNodeScores writes what kube-scheduler is given, each score at its node's place: 100 for the chosen node, at most 99
// for every other.
func toNodeScores(scores []float32, chosen int, places []int32, out []int8) {
	worst, best := ends(scores)
	width := float64(best) - float64(worst)
	for i, score := range scores {
		share := 1.0 // where all are equal, all are as good as the best
		if width > 0 {
			share = (float64(score) - float64(worst)) / width
		}
		out[places[i]] = int8(mostOther * share)
	}
	out[places[chosen]] = chosenScore
}
