// Package bundle reads a trained policy from its folder: policy.json (what it reads, its network as a list of
// operations) and weights.safetensors (the network's tensors).
//
// A bundle is data from outside: every claim in it is checked against limits and against the files' own lengths before
// it is believed, nothing of it is executed, and what cannot run is refused with a sentence. The format and its limits
// are those of docs/reference/bundle.md.
package bundle

import "fmt"

// Error says what is wrong with a bundle, and what to do.
type Error struct {
	Message string
	Hint    string
}

// Error returns the sentence with its hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (hint: " + e.Hint + ")"
}

const (
	againHint   = "copy the bundle again from where it was made"
	damagedHint = "the file is damaged; " + againHint
	mixedHint   = "weights and operations are of different policies, or of another version of longshore; take all files of one bundle, or train it again"
)

func errorf(hint, format string, values ...any) error {
	return &Error{Message: fmt.Sprintf(format, values...), Hint: hint}
}
