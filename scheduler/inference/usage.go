package inference

import (
	"math"

	"longshore.dev/scheduler/bundle"
)

// clusterFacts is what runs on all nodes together.
type clusterFacts struct {
	cpuMean, cpuMost, cpuLeast, cpuDeviation, memoryMean, onShare float64
	// gpusUsed is the share of the cluster's GPUs that is in use.
	gpusUsed float64
	// cpuScarce is how near the CPU of its nodes with GPUs is to being used up before these, 0 to 1; 0 where the policy
	// does not read it.
	cpuScarce float64
}

// usage is what runs on the nodes, with what is found of it kept by blocks: only those are gone over again in which a
// node changed.
type usage struct {
	cpu, memory, isOn []float64
	amounts           []amounts
	blocks            []blockUsage
}

// amounts is what nodes with GPUs have and what is in use of it, in milli.
type amounts struct{ gpus, gpusUsed, cpu, cpuUsed int64 }

func (a *amounts) add(other amounts) {
	a.gpus, a.gpusUsed = a.gpus+other.gpus, a.gpusUsed+other.gpusUsed
	a.cpu, a.cpuUsed = a.cpu+other.cpu, a.cpuUsed+other.cpuUsed
}

// usedGPUs returns the share of the GPUs that is in use; 0 without GPUs.
func (a *amounts) usedGPUs() float64 { return float64(a.gpusUsed) / float64(max(a.gpus, 1)) }

// scarceCPU returns how near the CPU is to being used up before the GPUs, 0 to 1; 0 without GPUs.
func (a *amounts) scarceCPU(by *bundle.LoadScale) float64 {
	cpu, gpus := float64(a.cpuUsed)/float64(max(a.cpu, 1)), a.usedGPUs()
	forEach := (cpu + by.CPUBeforehand) / (gpus + by.GPUsBeforehand)
	return cut((forEach-by.ScarceFrom)/by.ScarceOver) * min(gpus/by.LittleBelow, 1)
}

// blockUsage is what runs on a block of nodes; square is the sum of the squared distances from its own mean.
type blockUsage struct {
	isStale                       bool
	cpu, square, memory, on, most float64
	least                         float64
	amounts                       amounts
}

func (u *usage) resize(numNodes int) {
	u.cpu, u.memory, u.isOn = zeroed(u.cpu, numNodes), zeroed(u.memory, numNodes), zeroed(u.isOn, numNodes)
	u.amounts = make([]amounts, numNodes)
	u.blocks = make([]blockUsage, (numNodes+blockSize-1)/blockSize)
}

// take notes what runs on a node.
func (u *usage) take(at int, n *node) {
	u.cpu[at], u.memory[at], u.isOn[at] = n.cpuUsed, n.memoryUsed, bit(n.isOn)
	u.amounts[at] = amounts{}
	if one := &u.amounts[at]; len(n.gpuUsed) > 0 {
		*one = amounts{gpus: int64(len(n.gpuUsed)) * wholeGPU, cpu: n.cpu, cpuUsed: n.cpuAsked}
		for _, used := range n.gpuUsed {
			one.gpusUsed += used
		}
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
		found.amounts.add(u.amounts[from+i])
	}
	mean := found.cpu / float64(to-from)
	for _, used := range u.cpu[from:to] {
		found.square += (used - mean) * (used - mean)
	}
	u.blocks[block] = found
}

// pool works out what runs on all nodes together; without a scale not how scarce CPU is.
func (u *usage) pool(by *bundle.LoadScale) clusterFacts {
	c, number := clusterFacts{cpuLeast: 1}, float64(len(u.cpu))
	var all amounts
	for i := range u.blocks {
		if u.blocks[i].isStale {
			u.renew(i)
		}
		one := &u.blocks[i]
		c.cpuMean += one.cpu
		c.cpuMost, c.cpuLeast = max(c.cpuMost, one.most), min(c.cpuLeast, one.least)
		c.memoryMean += one.memory
		c.onShare += one.on
		all.add(one.amounts)
	}
	c.cpuMean, c.memoryMean, c.onShare = c.cpuMean/number, c.memoryMean/number, c.onShare/number
	c.gpusUsed = all.usedGPUs()
	if by != nil {
		c.cpuScarce = all.scarceCPU(by)
	}
	square := 0.0
	for i := range u.blocks {
		size := float64(min(blockSize, len(u.cpu)-i*blockSize))
		apart := u.blocks[i].cpu/size - c.cpuMean
		square += u.blocks[i].square + size*apart*apart
	}
	c.cpuDeviation = math.Sqrt(square / number)
	return c
}
