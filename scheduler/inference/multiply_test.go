package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// drawn returns what draws numbers between -0.5 and 0.5, the same ones for the same seeds.
func drawn(seed, stream uint64) func(length int) []float32 {
	random := rand.New(rand.NewPCG(seed, stream))
	return func(length int) []float32 {
		values := make([]float32, length)
		for i := range values {
			values[i] = random.Float32() - 0.5
		}
		return values
	}
}

// TestMultiply compares both ways to multiply with the textbook's, in float64.
func TestMultiply(t *testing.T) {
	draw := drawn(3, 4)
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

// TestAddProducts: each row has its own start, and only its own values count; an odd last row too.
func TestAddProducts(t *testing.T) {
	draw := drawn(7, 8)
	for _, size := range []struct{ rows, height, width int }{
		{1, 1, 1}, {3, 4, 7}, {64, 1, 32}, {63, 4, 32}, {1, 45, 32}, {5, 2, 96}, {64, 3, 1},
	} {
		start, in, matrix := draw(size.rows*size.width), draw(size.rows*size.height), draw(size.height*size.width)
		got := slices.Repeat([]float32{9}, size.rows*size.width+1)
		addProducts(got, start, in, matrix, size.rows, size.height, size.width)
		if got[len(got)-1] != 9 {
			t.Errorf("%v: wrote beyond the end", size)
		}
		for row := range size.rows {
			for j := range size.width {
				want := float64(start[row*size.width+j])
				for i := range size.height {
					want += float64(in[row*size.height+i]) * float64(matrix[i*size.width+j])
				}
				if math.Abs(float64(got[row*size.width+j])-want) > 1e-5 {
					t.Fatalf("%v: row %d, output %d: got %v, want %v", size, row, j, got[row*size.width+j], want)
				}
			}
		}
	}
}

// TestSumReluDot compares the assembly with plain Go; what is not a number must stay so.
func TestSumReluDot(t *testing.T) {
	draw := drawn(9, 10)
	for _, size := range []struct{ rows, width int }{{1, 1}, {3, 7}, {64, 32}, {1, 8}, {5, 96}, {63, 40}} {
		rows, shared, weights := draw(size.rows*size.width), draw(size.width), draw(size.width)
		got, want := make([]float32, size.rows), make([]float32, size.rows)
		rows[len(rows)-1] = float32(math.NaN())
		sumReluDot(got, rows, shared, weights, 0.25)
		sumReluDotPlain(want, rows, shared, weights, 0.25)
		for i := range size.rows - 1 {
			same(t, size, got[i], want[i])
		}
		if last := float64(got[size.rows-1]); !math.IsNaN(last) || !math.IsNaN(float64(want[size.rows-1])) {
			t.Errorf("%v: got %v and %v, want NaN", size, last, want[size.rows-1])
		}
	}
}
