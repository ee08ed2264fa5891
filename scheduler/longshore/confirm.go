package longshore

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long, and how often, it is asked what came of a binding whose answer was lost.
const (
	mostConfirmTime     = 30 * time.Second
	firstConfirmPause   = 100 * time.Millisecond
	longestConfirmPause = time.Second
)

// bindSurely sends a binding, and where the answer is lost finds out what came of it. Upstream takes a lost answer for a
// no: it forgets the pod, gives its room to others, and when the API server is back and the pod turns out to be bound,
// the node is overfilled. Here the room stays taken until the API server has said which it is; a pod that is not bound
// is sent again.
func (p *Longshore) bindSurely(ctx context.Context, pod *v1.Pod, nodeName string, send func() error) error {
	err := send()
	pause, isRepeated := firstConfirmPause, false
	for limit := time.Now().Add(mostConfirmTime); time.Now().Before(limit); {
		// A binding that is sent again may meet the late success of the one before.
		if !mayHaveHappened(err) && !(isRepeated && apierrors.IsConflict(err)) {
			return err
		}
		wait(ctx, pause)
		if ctx.Err() != nil {
			return err
		}
		pause = min(2*pause, longestConfirmPause)
		found, problem := p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(problem):
			return err
		case problem != nil: // not there yet, or just started and without its rules
			continue
		case found.UID != pod.UID:
			return err
		case found.Spec.NodeName == "" && apierrors.IsConflict(err):
			return err
		case found.Spec.NodeName == "":
			err, isRepeated = send(), true
		case found.Spec.NodeName == nodeName:
			return nil
		default:
			return err
		}
	}
	return err
}

// mayHaveHappened says whether a call that failed may have been carried out all the same.
func mayHaveHappened(err error) bool {
	if err == nil {
		return false
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnknown, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonInternalError, metav1.StatusReasonServiceUnavailable:
		return true
	}
	return false
}
