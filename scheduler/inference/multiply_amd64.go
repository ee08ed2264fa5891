package inference

import "golang.org/x/sys/cpu"

// wideOutputs is how many outputs the processor's wide registers hold at a time.
const wideOutputs = 32

// canMultiplyWide says whether the processor has them, as all of the last ten years' servers do.
var canMultiplyWide = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// multiplyRows32 writes 32 outputs of some rows: out[r] = start[r] + Σ_i in[r, i] · matrix[i]. Strides are in bytes, from a
// row to the next; that of start may be 0, the same for all. There is at least one row, and one value in it.
//
//go:noescape
func multiplyRows32(
	out, start, in, matrix *float32, outStride, startStride, inStride, matrixStride, height, rows int,
)

// sumReluDot8 computes the same as sumReluDotPlain; the width is a multiple of 8, and neither it nor the count is 0.
//
//go:noescape
func sumReluDot8(out, rows, shared, weights *float32, bias float32, width, count int)

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
