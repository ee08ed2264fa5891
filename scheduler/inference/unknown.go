package inference

import (
	"fmt"
	"slices"
	"strings"
)

const ourPrefix = "longshore.dev/"

// podKeys are the annotations with our prefix that mean something on a pod.
var podKeys = []string{softLimitKeys[0], hardLimitKeys[0], gpuCountKey, gpuMilliKey, gpuModelKey, gpuDevicesKey}

// UnknownKeys names a pod's annotations that bear our prefix and mean nothing, and what may have been meant.
func UnknownKeys(notes map[string]string) []string {
	var found []string
	for key := range notes {
		if strings.HasPrefix(key, ourPrefix) && !slices.Contains(podKeys, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	for i, key := range found {
		found[i] = fmt.Sprintf("`%s` means nothing on a pod; did you mean `%s`?", key, nearest(key))
	}
	return found
}

// nearest returns the known annotation that the fewest slips of the pen lead to.
func nearest(key string) string {
	return slices.MinFunc(podKeys, func(a, b string) int { return slips(key, a) - slips(key, b) })
}

// slips counts the letters that have to be put in, left out or exchanged to make one text of another.
func slips(one, other string) int {
	row := make([]int, len(other)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(one) {
		before := row[0]
		row[0] = i + 1
		for j := range len(other) {
			exchanged := before
			if one[i] != other[j] {
				exchanged++
			}
			before = row[j+1]
			row[j+1] = min(exchanged, row[j]+1, before+1)
		}
	}
	return row[len(other)]
}
