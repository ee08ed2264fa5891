package inference

// multiply computes out = in · matrix + vector for some rows: most of what a network costs.
func multiply(in, out []float32, o *op, rows, height, width int) {
	if canMultiplyWide && width%wideOutputs == 0 && height > 0 && rows > 0 {
		multiplyWide(out, o.vector[:width], in, o.matrix, rows, height, width)
		return
	}
	multiplyPlain(in, out, o.turned, o.vector, rows, height, width)
}

// addProducts computes out = start + in · matrix for some rows, each of which has a start of its own.
func addProducts(out, start, in, matrix []float32, rows, height, width int) {
	if canMultiplyWide && width%wideOutputs == 0 && height > 0 && rows > 0 {
		multiplyWide(out, start[:rows*width], in, matrix, rows, height, width)
		return
	}
	if width == 1 {
		for row := range rows {
			out[row] = start[row] + dot(in[row*height:][:height], matrix)
		}
		return
	}
	for row := range rows {
		sum := out[row*width:][:width]
		copy(sum, start[row*width:][:width])
		for i, value := range in[row*height:][:height] {
			addTimes(sum, value, matrix[i*width:][:width])
		}
	}
}

// multiplyWide computes start + in · matrix in the processor's wide registers, from the matrix as the bundle has it. The
// start is one row for all, or one for each.
func multiplyWide(out, start, in, matrix []float32, rows, height, width int) {
	// The assembly checks nothing: all that it touches is looked at here, once.
	out, in, matrix = out[:rows*width], in[:rows*height], matrix[:height*width]
	startStride := 0
	if len(start) > width {
		startStride = 4 * width
	}
	for j := 0; j < width; j += wideOutputs {
		multiplyRows32(&out[j], &start[j], &in[0], &matrix[j], 4*width, startStride, 4*height, 4*width, height, rows)
	}
}

// sumReluDot computes out = relu(row + shared) · weights + bias for some rows: what a network with context ends with.
func sumReluDot(out, rows, shared, weights []float32, bias float32) {
	width := len(weights)
	rows, shared = rows[:len(out)*width], shared[:width]
	if canMultiplyWide && width > 0 && width%8 == 0 && len(out) > 0 {
		sumReluDot8(&out[0], &rows[0], &shared[0], &weights[0], bias, width, len(out))
		return
	}
	sumReluDotPlain(out, rows, shared, weights, bias)
}

func sumReluDotPlain(out, rows, shared, weights []float32, bias float32) {
	width := len(weights)
	for i := range out {
		sum := bias
		for j, value := range rows[i*width:][:width] {
			sum += max(value+shared[j], 0) * weights[j]
		}
		out[i] = sum
	}
}

// multiplyPlain reads a matrix with one row for each output. Two rows and four outputs at a time: every number that is
// read is then used several times, and no sum waits for another.
func multiplyPlain(in, out, turned, vector []float32, rows, height, width int) {
	row := 0
	for ; row+2 <= rows; row += 2 {
		a, b := in[row*height:][:height], in[(row+1)*height:][:height]
		y, z := out[row*width:][:width], out[(row+1)*width:][:width]
		j := 0
		for ; j+4 <= width; j += 4 {
			w0, w1 := turned[j*height:][:len(a)], turned[(j+1)*height:][:len(a)]
			w2, w3 := turned[(j+2)*height:][:len(a)], turned[(j+3)*height:][:len(a)]
			b := b[:len(a)]
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			for i, x := range a {
				u := b[i]
				p, q, r, s := w0[i], w1[i], w2[i], w3[i]
				a0 += x * p
				b0 += u * p
				a1 += x * q
				b1 += u * q
				a2 += x * r
				b2 += u * r
				a3 += x * s
				b3 += u * s
			}
			y[j], y[j+1], y[j+2], y[j+3] = a0+vector[j], a1+vector[j+1], a2+vector[j+2], a3+vector[j+3]
			z[j], z[j+1], z[j+2], z[j+3] = b0+vector[j], b1+vector[j+1], b2+vector[j+2], b3+vector[j+3]
		}
		for ; j < width; j++ {
			y[j] = dot(a, turned[j*height:][:height]) + vector[j]
			z[j] = dot(b, turned[j*height:][:height]) + vector[j]
		}
	}
	for ; row < rows; row++ {
		a := in[row*height:][:height]
		for j := range width {
			out[row*width+j] = dot(a, turned[j*height:][:height]) + vector[j]
		}
	}
}

// dot adds up products, four sums side by side: each addition else waits for the one before it.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
