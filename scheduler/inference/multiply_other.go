//go:build !amd64

package inference

// wideOutputs and canMultiplyWide: there is no assembly for this processor.
const (
	wideOutputs     = 32
	canMultiplyWide = false
)

func multiplyWide(_, _, _, _ []float32, _, _, _ int) { panic("no assembly for this processor") }
