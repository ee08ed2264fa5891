package inference

import "fmt"

// Reason is why a pod could not be scored, in one word: the label of a metric.
type Reason string

// The reasons.
const (
	// NotFinite: a score is NaN or infinite.
	NotFinite Reason = "nan"
	// UnknownFeature: the model reads a feature, or a version of it, that this program does not compute.
	UnknownFeature Reason = "unknown-feature"
	// OutOfDistribution: too much of what the model would read lies outside of what it met in training.
	OutOfDistribution Reason = "out-of-distribution"
	// WrongSize: the model serves another number of nodes.
	WrongSize Reason = "wrong-size"
	// TooLarge: with so many nodes the model would take longer, or more memory, than it may.
	TooLarge Reason = "too-large"
	// Cancelled: the time that was allowed is over.
	Cancelled Reason = "deadline"
	// BadBundle: the model's files are missing, damaged, foreign, too large or of another version.
	BadBundle Reason = "bad-bundle"
)

// Problem is an error with its reason; all errors of this package are Problems.
type Problem struct {
	Reason  Reason
	Message string
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Message }

func problemf(reason Reason, format string, values ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, values...)}
}
