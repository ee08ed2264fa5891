package inference

import "math"

// clusterFacts is what runs on all nodes together.
type clusterFacts struct {
	cpuMean, cpuMost, cpuLeast, cpuDeviation, memoryMean, onShare float64
	// gpusUsed is the share of the cluster's GPUs that is in use.
	gpusUsed float64
}

// usage is what runs on the nodes, with what is found of it kept by blocks: only those are gone over again in which a
// node changed.
type usage struct {
	cpu, memory, isOn []float64
	gpus, gpusUsed    []int64 // milli
	blocks            []blockUsage
}

// blockUsage is what runs on a block of nodes; square is the sum of the squared distances from its own mean.
type blockUsage struct {
	isStale                       bool
	cpu, square, memory, on, most float64
	least                         float64
	gpus, gpusUsed                int64
}

func (u *usage) resize(numNodes int) {
	u.cpu, u.memory, u.isOn = zeroed(u.cpu, numNodes), zeroed(u.memory, numNodes), zeroed(u.isOn, numNodes)
	u.gpus, u.gpusUsed = zeroed(u.gpus, numNodes), zeroed(u.gpusUsed, numNodes)
	u.blocks = make([]blockUsage, (numNodes+blockSize-1)/blockSize)
}

// take notes what runs on a node.
func (u *usage) take(at int, n *node) {
	u.cpu[at], u.memory[at], u.isOn[at] = n.cpuUsed, n.memoryUsed, bit(n.numPods > 0)
	u.gpus[at], u.gpusUsed[at] = int64(len(n.gpuUsed))*wholeGPU, 0
	for _, used := range n.gpuUsed {
		u.gpusUsed[at] += used
	}
	u.blocks[at/blockSize].isStale = true
}

// renew goes over a block again.
func (u *usage) renew(block int) {
	from, to := block*blockSize, min((block+1)*blockSize, len(u.cpu))
	found := blockUsage{least: 1}
	for i, used := range u.cpu[from:to] {
		found.cpu += used
		found.most, found.least = max(found.most, used), min(found.least, used)
		found.memory += u.memory[from+i]
		found.on += u.isOn[from+i]
		found.gpus += u.gpus[from+i]
		found.gpusUsed += u.gpusUsed[from+i]
	}
	mean := found.cpu / float64(to-from)
	for _, used := range u.cpu[from:to] {
		found.square += (used - mean) * (used - mean)
	}
	u.blocks[block] = found
}

// pool works out what runs on all nodes together.
func (u *usage) pool() clusterFacts {
	c, number := clusterFacts{cpuLeast: 1}, float64(len(u.cpu))
	gpus, gpusUsed := int64(0), int64(0)
	for i := range u.blocks {
		if u.blocks[i].isStale {
			u.renew(i)
		}
		one := &u.blocks[i]
		c.cpuMean += one.cpu
		c.cpuMost, c.cpuLeast = max(c.cpuMost, one.most), min(c.cpuLeast, one.least)
		c.memoryMean += one.memory
		c.onShare += one.on
		gpus += one.gpus
		gpusUsed += one.gpusUsed
	}
	c.cpuMean, c.memoryMean, c.onShare = c.cpuMean/number, c.memoryMean/number, c.onShare/number
	c.gpusUsed = float64(gpusUsed) / float64(max(gpus, 1))
	square := 0.0
	for i := range u.blocks {
		size := float64(min(blockSize, len(u.cpu)-i*blockSize))
		apart := u.blocks[i].cpu/size - c.cpuMean
		square += u.blocks[i].square + size*apart*apart
	}
	c.cpuDeviation = math.Sqrt(square / number)
	return c
}
