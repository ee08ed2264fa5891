package inference

import (
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

func klogger(t testing.TB) klog.Logger {
	logger, _ := ktesting.NewTestContext(t)
	return logger
}
