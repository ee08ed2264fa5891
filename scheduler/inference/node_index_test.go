package inference

import (
	"math/rand/v2"
	"slices"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// TestNodeIndexFinds: nodes in order, as several threads mix them, in any order, and as other objects than before.
func TestNodeIndexFinds(t *testing.T) {
	const count = 100
	all := asInterfaces(busyCluster(count, 1))
	others := asInterfaces(busyCluster(count, 1))
	inOrder := make([]int32, count)
	for i := range inOrder {
		inOrder[i] = int32(i)
	}
	mixed := make([]int32, 0, count)
	for i := range int32(count / 2) {
		mixed = append(mixed, i, i+count/2)
	}
	shuffled := slices.Clone(inOrder)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(count, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	tests := map[string]struct {
		nodes []fwk.NodeInfo
		want  []int32
	}{
		"all in order":       {all, inOrder},
		"two threads":        {all, mixed},
		"any order":          {all, shuffled},
		"some":               {all, []int32{3, 4, 5, 98, 99, 0}},
		"the last":           {all, []int32{99}},
		"none":               {all, nil},
		"objects of the now": {others, mixed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nodeIndex := NewNodeIndex(all)
			for range 2 { // what it learnt the first time must be right, too
				nodes := make([]fwk.NodeInfo, len(test.want))
				for i, at := range test.want {
					nodes[i] = test.nodes[at]
				}
				got, missing := nodeIndex.Find(nodes, nil)
				if missing != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %v, missing %v, want %v", got, missing, test.want)
				}
			}
		})
	}
}

func TestNodeIndexSaysWhatIsMissing(t *testing.T) {
	all := asInterfaces(busyCluster(10, 1))
	nodeIndex := NewNodeIndex(all[:9], all[:5])
	if _, missing := nodeIndex.Find(all, nil); missing != all[9] {
		t.Errorf("got %v, want the tenth node", missing)
	}
	nodeIndex = NewNodeIndex(all[:9], all)
	if places, missing := nodeIndex.Find(all[8:], nil); missing != nil || !slices.Equal(places, []int32{8, 9}) {
		t.Errorf("got %v, missing %v, want 8 and 9", places, missing)
	}
}

// TestNodeIndexLearnsObjects: a node that is listed anew has another object, however often that happens.
func TestNodeIndexLearnsObjects(t *testing.T) {
	nodeIndex := NewNodeIndex(asInterfaces(busyCluster(10, 1)))
	for round := range 20 {
		now := asInterfaces(busyCluster(10, 1))
		for _, at := range []int{9, 0, round % 10} {
			if places, missing := nodeIndex.Find(now[at:at+1], nil); missing != nil || places[0] != int32(at) {
				t.Fatalf("round %d: got %v, missing %v, want %d", round, places, missing, at)
			}
			if known := nodeIndex.placeOf(ownOf(now[at])); known != int32(at) {
				t.Fatalf("round %d: the object of node %d is at %d", round, at, known)
			}
		}
	}
}

func TestNodeIndexRanks(t *testing.T) {
	all := asInterfaces(busyCluster(4, 1))
	nodeIndex := NewNodeIndex([]fwk.NodeInfo{all[2], all[0], all[3], all[1]})
	if got := nodeIndex.Ranks(); !slices.Equal(got, []int32{2, 0, 3, 1}) {
		t.Errorf("got %v, want 2 0 3 1", got)
	}
}
