package inference

import (
	"maps"
	"math/bits"
	"slices"
	"unsafe"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// NodeIndex knows nodes by their places in a list.
//
// Names are read only of nodes that it does not know yet. Upstream's own object of a node stays the same while the node
// is there, and to look at its address alone reads nothing of it: it is often in no near cache, and its name still less.
type NodeIndex struct {
	infos  []*framework.NodeInfo
	places map[string]int32
	// slots has places, + 1, by the objects' addresses; 0 = free. There are four at least for every node.
	slots []int32
	shift int
	taken int
}

// NewNodeIndex gives the nodes of some lists their places; a node that is in several has the first one.
func NewNodeIndex(lists ...[]fwk.NodeInfo) *NodeIndex {
	r := &NodeIndex{places: make(map[string]int32, len(lists[0]))}
	for _, list := range lists {
		for _, info := range list {
			name := info.Node().Name
			if _, found := r.places[name]; !found {
				r.places[name] = int32(len(r.infos))
				r.infos = append(r.infos, ownOf(info))
			}
		}
	}
	size := bits.Len(uint(4 * len(r.infos)))
	r.slots, r.shift = make([]int32, 1<<size), 64-size
	for place := range r.infos {
		r.note(int32(place))
	}
	return r
}

// ownOf returns upstream's own object; nil where it is something else.
func ownOf(info fwk.NodeInfo) *framework.NodeInfo {
	own, _ := info.(*framework.NodeInfo)
	return own
}

// Places returns the places by the nodes' names. It is not written to, ever.
func (r *NodeIndex) Places() map[string]int32 { return r.places }

// Ranks returns, by place, how many nodes have a lower name.
func (r *NodeIndex) Ranks() []int32 {
	ranks := make([]int32, len(r.infos))
	for rank, name := range slices.Sorted(maps.Keys(r.places)) {
		ranks[r.places[name]] = int32(rank)
	}
	return ranks
}

// Find appends the places of nodes; at a node that has none it stops and returns that.
func (r *NodeIndex) Find(nodes []fwk.NodeInfo, found []int32) ([]int32, fwk.NodeInfo) {
	next := int32(0)
	for _, info := range nodes {
		own := ownOf(info)
		// Mostly they come in the order of the list; where several threads filtered, in parts of it.
		if int(next) >= len(r.infos) || r.infos[next] != own || own == nil {
			if next = r.placeOf(own); next < 0 {
				place, ok := r.places[info.Node().Name]
				if !ok {
					return found, info
				}
				next = place
				r.replace(next, own)
			}
		}
		found = append(found, next)
		next++
	}
	return found, nil
}

func (r *NodeIndex) slotOf(own *framework.NodeInfo) int {
	return int(uint64(uintptr(unsafe.Pointer(own))) * 0x9E3779B97F4A7C15 >> r.shift)
}

// placeOf returns the place of an object; -1 = it is not known.
func (r *NodeIndex) placeOf(own *framework.NodeInfo) int32 {
	if own == nil {
		return -1
	}
	for slot := r.slotOf(own); ; slot = (slot + 1) % len(r.slots) {
		place := r.slots[slot] - 1
		if place < 0 || r.infos[place] == own {
			return place
		}
	}
}

// replace notes that a node has another object now.
func (r *NodeIndex) replace(place int32, own *framework.NodeInfo) {
	if r.infos[place] == own {
		return
	}
	r.infos[place] = own
	if 2*r.taken < len(r.slots) {
		r.note(place)
		return
	}
	// Half of the slots are of objects that are gone, or soon would be.
	clear(r.slots)
	r.taken = 0
	for place := range r.infos {
		r.note(int32(place))
	}
}

// note gives the object at a place a slot.
func (r *NodeIndex) note(place int32) {
	own := r.infos[place]
	if own == nil {
		return
	}
	slot := r.slotOf(own)
	for r.slots[slot] != 0 {
		slot = (slot + 1) % len(r.slots)
	}
	r.slots[slot] = place + 1
	r.taken++
}
