package longshore

import (
	"math/rand/v2"

	fwk "k8s.io/kube-scheduler/framework"
)

// kube-scheduler takes the highest total, and any of them where several are equal. So that the choice is the policy's
// alone, only the chosen node gets 100; the others get floor(99 · their place between the worst and the best).
const (
	chosenScore = int8(fwk.MaxNodeScore)
	mostOther   = float64(fwk.MaxNodeScore - 1)
)

// lowestNamedBest returns the node with the best score; scores within the tolerance of the best tie, and of those the
// lowest name wins.
func lowestNamedBest(nodes []fwk.NodeInfo, scores []float32, tolerance float32) int {
	best := scores[0]
	for _, score := range scores[1:] {
		best = max(best, score)
	}
	chosen := -1
	for i, score := range scores {
		if score >= best-tolerance && (chosen < 0 || nodes[i].Node().Name < nodes[chosen].Node().Name) {
			chosen = i
		}
	}
	return chosen
}

// anyBest returns one of the nodes with the highest score, each as likely as the other, as kube-scheduler does.
func anyBest(scores []float32) int {
	chosen, count := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[chosen]:
			chosen, count = i, 1
		case scores[i] == scores[chosen]:
			count++
			if rand.IntN(count) == 0 {
				chosen = i
			}
		}
	}
	return chosen
}

// toNodeScores writes what kube-scheduler is given: 100 for the chosen node, at most 99 for every other.
func toNodeScores(scores []float32, chosen int, out []int8) {
	worst, best := scores[0], scores[0]
	for _, score := range scores[1:] {
		worst, best = min(worst, score), max(best, score)
	}
	width := float64(best) - float64(worst)
	for i, score := range scores {
		place := 1.0 // where all are equal, all are as good as the best
		if width > 0 {
			place = (float64(score) - float64(worst)) / width
		}
		out[i] = int8(mostOther * place)
	}
	out[chosen] = chosenScore
}

// mix writes the sum of two rankings, each stretched to 0…1 first, to the first of them.
func mix(learned, stock []float32, stockShare float64) {
	stretch(learned)
	stretch(stock)
	for i := range learned {
		learned[i] = float32((1-stockShare)*float64(learned[i]) + stockShare*float64(stock[i]))
	}
}

func stretch(scores []float32) {
	worst, best := scores[0], scores[0]
	for _, score := range scores[1:] {
		worst, best = min(worst, score), max(best, score)
	}
	width := float64(best) - float64(worst)
	for i, score := range scores {
		scores[i] = 0
		if width > 0 {
			scores[i] = float32((float64(score) - float64(worst)) / width)
		}
	}
}
