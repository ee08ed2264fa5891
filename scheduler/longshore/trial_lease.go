package longshore

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// markKey, with the profile's name after it, is the lease's annotation that holds a mark.
const markKey = "longshore.dev/trial-"

// Lease names the lease of kube-scheduler's leader election; the zero value = it elects no leader.
type Lease struct{ Namespace, Name string }

// markLease keeps the mark on the lease, which every replica may change that leads, and which outlives them all.
type markLease struct {
	client  kubernetes.Interface
	lease   Lease
	profile string
}

func (l markLease) read(ctx context.Context) (mark, error) {
	found, err := l.client.CoordinationV1().Leases(l.lease.Namespace).Get(ctx, l.lease.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	text, given := found.Annotations[markKey+l.profile]
	if !given {
		return mark{}, nil
	}
	var noted mark
	err = json.Unmarshal([]byte(text), &noted)
	return noted, err
}

// write changes the annotation alone. The leader renews the lease meanwhile: whoever comes second reads it again.
func (l markLease) write(ctx context.Context, what mark) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	leases := l.client.CoordinationV1().Leases(l.lease.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := leases.Get(ctx, l.lease.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Annotations == nil {
			found.Annotations = map[string]string{}
		}
		found.Annotations[markKey+l.profile] = string(data)
		_, err = leases.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}
