package longshore

import (
	"fmt"
	"slices"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"longshore.dev/scheduler/inference"
)

func infosNamed(names ...string) []fwk.NodeInfo {
	var infos []fwk.NodeInfo
	for _, name := range names {
		info := framework.NewNodeInfo()
		info.SetNode(st.MakeNode().Name(name).Obj())
		infos = append(infos, info)
	}
	return infos
}

func TestNodeScores(t *testing.T) {
	tests := map[string]struct {
		names  []string
		scores []float32
		want   []int8
	}{
		"a clear best":                    {[]string{"a", "b", "c"}, []float32{1, 3, 2}, []int8{0, 100, 49}},
		"ties go to the lowest name":      {[]string{"c", "b", "a"}, []float32{5, 1, 5}, []int8{99, 0, 100}},
		"within the tolerance is a tie":   {[]string{"b", "a", "c"}, []float32{1.0000005, 1, 0}, []int8{99, 100, 0}},
		"outside of the tolerance is not": {[]string{"b", "a", "c"}, []float32{1.000002, 1, 0}, []int8{100, 98, 0}},
		"all equal":                       {[]string{"b", "a"}, []float32{2, 2}, []int8{99, 100}},
		"below zero":                      {[]string{"a", "b"}, []float32{-3, -2}, []int8{0, 100}},
		"one node":                        {[]string{"a"}, []float32{7}, []int8{100}},
		"the ends of float32":             {[]string{"a", "b"}, []float32{-3e38, 3e38}, []int8{0, 100}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin, infos := &Longshore{nodeIndex: inference.NewNodeIndex(nil)}, infosNamed(test.names...)
			listed := slices.Clone(infos)
			slices.Reverse(listed)
			plugin.locate(listed, infos)
			chosen := plugin.lowestNamedBest(test.scores, 1e-6)
			got := make([]int8, len(test.scores))
			toNodeScores(test.scores, chosen, plugin.places, got)
			slices.Reverse(got)
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, expected %v", got, test.want)
			}
		})
	}
}
