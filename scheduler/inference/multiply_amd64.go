package inference

import "golang.org/x/sys/cpu"

// wideOutputs is how many outputs the processor's wide registers hold at a time.
const wideOutputs = 32

// canMultiplyWide says whether the processor has them, as all of the last ten years' servers do.
var canMultiplyWide = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// multiplyWide computes the same as multiplyPlain, six times as fast, from the matrix as the bundle has it.
func multiplyWide(in, out, matrix, vector []float32, rows, height, width int) {
	// The assembly checks nothing: all that it touches is looked at here, once.
	in, matrix = in[:rows*height], matrix[:height*width]
	for row := range rows {
		sum := out[row*width:][:width]
		copy(sum, vector[:width])
		for j := 0; j < width; j += wideOutputs {
			addRows32(&sum[j], &matrix[j], 4*width, &in[row*height], height)
		}
	}
}

// addRows32 adds to 32 sums a matrix's rows, each times a value: sum[k] += Σ_i values[i] · matrix[i·stride/4 + k].
//
//go:noescape
func addRows32(sum, matrix *float32, stride int, values *float32, height int)

// relu8 writes the larger of 0 and each number; the count is a multiple of 8 and not 0.
//
//go:noescape
func relu8(out, in *float32, count int)

// sum8 writes the sum of each two numbers; the count is a multiple of 8 and not 0.
//
//go:noescape
func sum8(out, a, b *float32, count int)

// sumRows32 adds rows to 32 sums; the stride is in bytes and the height not 0.
//
//go:noescape
func sumRows32(sums, rows *float32, stride, height int)

// maxRows32 puts the largest of 32 numbers and of those below them in some rows in their place, as sumRows32 adds.
//
//go:noescape
func maxRows32(most, rows *float32, stride, height int)
