package inference

// multiply computes out = in · matrix + vector for some rows: most of what a network costs.
func multiply(in, out []float32, o *op, rows, height, width int) {
	if canMultiplyWide && width%wideOutputs == 0 && height > 0 {
		multiplyWide(in, out, o.matrix, o.vector, rows, height, width)
		return
	}
	multiplyPlain(in, out, o.turned, o.vector, rows, height, width)
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
