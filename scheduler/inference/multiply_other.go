//go:build !amd64

package inference

// wideOutputs and canMultiplyWide: there is no assembly for this processor.
const (
	wideOutputs     = 32
	canMultiplyWide = false
)

const noAssembly = "no assembly for this processor"

func multiplyRows32(_, _, _, _ *float32, _, _, _, _, _, _ int) { panic(noAssembly) }
func sumReluDot8(_, _, _, _ *float32, _ float32, _, _ int)     { panic(noAssembly) }
func relu8(_, _ *float32, _ int)                               { panic(noAssembly) }
func sum8(_, _, _ *float32, _ int)                             { panic(noAssembly) }
func sumRows32(_, _ *float32, _, _ int)                        { panic(noAssembly) }
func maxRows32(_, _ *float32, _, _ int)                        { panic(noAssembly) }
