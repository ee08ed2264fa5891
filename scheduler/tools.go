//go:build tools

package scheduler

import (
	_ "k8s.io/klog/v2"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "k8s.io/kubernetes/pkg/scheduler/testing"
)
