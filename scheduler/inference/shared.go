package inference

import (
	"slices"

	"longshore.dev/scheduler/bundle"
)

// sharedPart is what the first layer makes of what all nodes share and of what depends on others: products, of which the
// first is 1 times what is the same for all nodes, and one more for each column in which they differ.
type sharedPart struct {
	columns []int     // features that differ from node to node
	matrix  []float32 // [1 + columns, width of the first layer]
	values  []float32 // [nodes, 1 + columns], or ones for a block where there are no columns
}

// settle tells the network what kind of pod it is about, and how full the cluster is and of what.
func (s *Scorer) settle(of *class) {
	p := s.model.program
	load := [bundle.NumLoads]float32{float32(1 - s.facts.gpusUsed), float32(s.facts.gpusUsed), float32(s.facts.cpuScarce)}
	hasLoad := !p.readsLoad || slices.Equal(s.run.data[p.load], load[:])
	if s.settled == of && of.frame == s.frame && hasLoad {
		return
	}
	copy(s.run.data[p.load], load[:])
	copy(s.run.data[p.preference], s.model.preference)
	copy(s.run.data[p.podKind], of.podKind[:])
	s.run.before(&p.stages[0])
	s.settled = of
}

// prepare puts what depends on others where the network reads it.
func (s *Scorer) prepare(of *class) {
	m, layer := s.model, s.model.program.firstLayer
	if layer == nil {
		s.run.data[m.program.rows] = of.rows
		return
	}
	c, width := &s.shared, layer.width
	c.columns = c.columns[:0]
	c.matrix = zeroed(c.matrix, (1+len(m.others))*width)
	same := c.matrix[:width]
	for _, i := range m.cluster {
		addTimes(same, float32(m.features[i].cluster(&s.facts)), of.matrix[i*width:][:width])
	}
	for _, i := range m.others {
		if column := &s.others[m.features[i].others]; column.isSame {
			addTimes(same, column.same, of.matrix[i*width:][:width])
			continue
		}
		c.columns = append(c.columns, i)
		copy(c.matrix[len(c.columns)*width:], of.matrix[i*width:][:width])
	}
	s.fillShared()
}

// fillShared lays the columns in which nodes differ side by side, as the product reads them.
func (s *Scorer) fillShared() {
	c, height := &s.shared, 1+len(s.shared.columns)
	numRows := len(s.nodes)
	if height == 1 {
		numRows = blockSize
	}
	if len(c.values) != numRows*height {
		c.values = zeroed(c.values, numRows*height)
	}
	for row := range numRows {
		c.values[row*height] = 1
	}
	for place, i := range c.columns {
		for at, value := range s.others[s.model.features[i].others].values {
			c.values[at*height+1+place] = value
		}
	}
}

// complete adds to what is kept of some nodes what depends on others.
func (s *Scorer) complete(p part) {
	m, of, layer := s.model, s.current, s.model.program.firstLayer
	if layer == nil {
		features := len(m.features)
		for _, i := range m.cluster {
			value := float32(m.features[i].cluster(&s.facts))
			for at := p.from; at < p.to; at++ {
				of.rows[at*features+i] = value
			}
		}
		for _, i := range m.others {
			column := &s.others[m.features[i].others]
			for at := p.from; at < p.to; at++ {
				of.rows[at*features+i] = column.at(at)
			}
		}
		return
	}
	out, width := s.run.at(layer.output, p)
	height, values := 1+len(s.shared.columns), s.shared.values
	if height > 1 {
		values = values[p.from*height:]
	}
	addProducts(out, of.first[p.from*width:], values, s.shared.matrix, p.to-p.from, height, width)
}

// shareOutside returns the share of the values that were read of the feasible nodes which are outside of the envelope.
func (s *Scorer) shareOutside(of *class) float32 {
	m, total := s.model, of.allOutside
	if !s.isAll {
		total = 0
		for _, at := range s.index {
			total += int(of.outside[at])
		}
	}
	for _, i := range m.cluster {
		if m.isOutside(i, float32(m.features[i].cluster(&s.facts))) {
			total += len(s.index)
		}
	}
	for _, i := range m.others {
		column := &s.others[m.features[i].others]
		if column.isSame {
			if m.isOutside(i, column.same) {
				total += len(s.index)
			}
			continue
		}
		for _, at := range s.index {
			if m.isOutside(i, column.values[at]) {
				total++
			}
		}
	}
	return float32(total) / float32(len(s.index)*len(m.features))
}

// isOutside says whether a feature's value is outside of what was met in training.
func (m *Model) isOutside(feature int, value float32) bool {
	return value < m.low[feature] || value > m.high[feature]
}
