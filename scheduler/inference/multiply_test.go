package inference

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMultiply compares both ways to multiply with the textbook's, in float64.
func TestMultiply(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(length int) []float32 {
		values := make([]float32, length)
		for i := range values {
			values[i] = random.Float32() - 0.5
		}
		return values
	}
	for _, size := range []struct{ rows, height, width int }{
		{1, 1, 1}, {3, 5, 7}, {64, 32, 32}, {7, 22, 32}, {5, 1, 64}, {2, 100, 96}, {64, 16, 1}, {1, 300, 33},
	} {
		in, matrix, vector := draw(size.rows*size.height), draw(size.height*size.width), draw(size.width)
		o := &op{matrix: matrix, vector: vector, turned: transposed(matrix, size.width)}
		fast, plain := make([]float32, size.rows*size.width), make([]float32, size.rows*size.width)
		multiply(in, fast, o, size.rows, size.height, size.width)
		multiplyPlain(in, plain, o.turned, vector, size.rows, size.height, size.width)
		for row := range size.rows {
			for j := range size.width {
				want := float64(vector[j])
				for i := range size.height {
					want += float64(in[row*size.height+i]) * float64(matrix[i*size.width+j])
				}
				for _, got := range []float32{fast[row*size.width+j], plain[row*size.width+j]} {
					if math.Abs(float64(got)-want) > 1e-5 {
						t.Fatalf("%v: row %d, output %d: got %v, want %v", size, row, j, got, want)
					}
				}
			}
		}
	}
}
