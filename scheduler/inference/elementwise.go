package inference

// What is done number by number: half of what a network costs where it is done one number at a time.

// reluInto writes the larger of 0 and each number; what is not a number stays so.
func reluInto(out, in []float32) {
	out = out[:len(in)]
	done := wholeWide(len(in))
	if done > 0 {
		relu8(&out[0], &in[0], done)
	}
	for i := done; i < len(in); i++ {
		out[i] = max(in[i], 0)
	}
}

// sumInto writes the sum of each two numbers.
func sumInto(out, a, b []float32) {
	a, b = a[:len(out)], b[:len(out)]
	done := wholeWide(len(out))
	if done > 0 {
		sum8(&out[0], &a[0], &b[0], done)
	}
	for i := done; i < len(out); i++ {
		out[i] = a[i] + b[i]
	}
}

// addTimes adds a multiple of a vector.
func addTimes(sum []float32, factor float32, vector []float32) {
	if factor == 0 {
		return
	}
	vector = vector[:len(sum)]
	for j, v := range vector {
		sum[j] += factor * v
	}
}

// addUp writes the sums of the columns of some rows, at least one.
func addUp(sums, rows []float32) {
	width := len(sums)
	copy(sums, rows[:width])
	height := len(rows)/width - 1
	if height > 0 && canMultiplyWide && width%wideOutputs == 0 {
		for j := 0; j < width; j += wideOutputs {
			sumRows32(&sums[j], &rows[width+j], 4*width, height)
		}
		return
	}
	for row := range height {
		for j, v := range rows[(row+1)*width:][:width] {
			sums[j] += v
		}
	}
}

// findMost writes the largest of the columns of some rows, at least one. What is not a number may be lost on the way;
// the row that it comes from has it in its own score.
func findMost(most, rows []float32) {
	width := len(most)
	copy(most, rows[:width])
	height := len(rows)/width - 1
	if height > 0 && canMultiplyWide && width%wideOutputs == 0 {
		for j := 0; j < width; j += wideOutputs {
			maxRows32(&most[j], &rows[width+j], 4*width, height)
		}
		return
	}
	for row := range height {
		for j, v := range rows[(row+1)*width:][:width] {
			most[j] = max(most[j], v)
		}
	}
}

// wholeWide returns how many of so many numbers fill the processor's wide registers.
func wholeWide(count int) int {
	if !canMultiplyWide {
		return 0
	}
	return count &^ 7
}
