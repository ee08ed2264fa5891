package inference

import "math"

// column is a feature that depends on other nodes. Mostly it is the same for all of them, and then need not be looked at
// node by node: the pod may go everywhere, has no like, and wishes for nobody.
type column struct {
	isSame bool
	same   float32
	values []float32 // of every node, where they are not the same
}

func (c *column) takeSame(value float32) { c.isSame, c.same = true, value }

// takeBits takes 1 for those that are true, or for all.
func (c *column) takeBits(is []bool, isAll bool) {
	if isAll {
		c.takeSame(1)
		return
	}
	c.isSame = false
	for i, is := range is {
		c.values[i] = float32(bit(is))
	}
}

// takeOfMost takes numbers by the largest size of any, -1 to 1.
func (c *column) takeOfMost(numbers []float64) {
	most := 0.0
	for _, number := range numbers {
		most = max(most, math.Abs(number))
	}
	if most == 0 {
		c.takeSame(0)
		return
	}
	c.isSame = false
	for i, number := range numbers {
		c.values[i] = float32(number / most)
	}
}

func (c *column) at(node int) float32 {
	if c.isSame {
		return c.same
	}
	return c.values[node]
}
