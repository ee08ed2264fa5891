package longshore

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// register is legacyregistry.Register, or a test's own.
type register func(metrics.Registerable) error

// pluginMetrics are what the plugin adds to kube-scheduler's /metrics. All profiles of a process share them.
type pluginMetrics struct {
	fallbacks        *metrics.CounterVec
	models           *metrics.GaugeVec
	duration         *metrics.Histogram
	processorTime    *metrics.Histogram
	readingsAge      *metrics.GaugeVec
	dropped          *metrics.Counter
	updateFailures   *metrics.Counter
	registryPolls    *metrics.CounterVec
	readingsFailures *metrics.Counter
	logFailures      *metrics.Counter
}

// Finer than upstream's buckets, whose first is a millisecond, and than those of `longshore schedule`: what a ranking may
// take, 1 ms with a thousand nodes and 5 with five thousand, is to be told from what is just above it.
var decisionBuckets = []float64{
	0.00005, 0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.00125, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.006,
	0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 1,
}

// newPluginMetrics registers the metrics; where another profile has done so already, that profile's are returned.
func newPluginMetrics(register register) (*pluginMetrics, error) {
	var made pluginMetrics
	var problems [10]error
	made.fallbacks, problems[0] = registered(register, metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "longshore_fallback_total", Help: "Decisions that the policy did not make, by the reason.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"reason"}))
	made.models, problems[1] = registered(register, metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "longshore_model_info", Help: "How many profiles use the policy that the labels name.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"name", "version", "sha256"}))
	made.duration, problems[2] = registered(register, metrics.NewHistogram(&metrics.HistogramOpts{
		Name: "longshore_decision_duration_seconds", Help: "Seconds of scoring all nodes for one pod.",
		Buckets: decisionBuckets, StabilityLevel: metrics.ALPHA,
	}))
	made.readingsAge, problems[3] = registered(register, metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "longshore_readings_age_seconds", Help: "Age of a source's readings.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"source"}))
	made.dropped, problems[4] = registered(register, metrics.NewCounter(&metrics.CounterOpts{
		Name: "longshore_decision_log_dropped_total", Help: "Decisions that the decision log did not take in time.",
		StabilityLevel: metrics.ALPHA,
	}))
	made.updateFailures, problems[5] = registered(register, metrics.NewCounter(&metrics.CounterOpts{
		Name:           "longshore_model_update_failures_total",
		Help:           "Times that a bundle was gone, could not be read, or was taken back; the last good one was kept.",
		StabilityLevel: metrics.ALPHA,
	}))
	made.readingsFailures, problems[6] = registered(register, metrics.NewCounter(&metrics.CounterOpts{
		Name:           "longshore_readings_failures_total",
		Help:           "Times that the file of readings was gone or could not be read; the last good ones were kept.",
		StabilityLevel: metrics.ALPHA,
	}))
	made.logFailures, problems[7] = registered(register, metrics.NewCounter(&metrics.CounterOpts{
		Name:           "longshore_decision_log_failures_total",
		Help:           "Batches that the decision log did not take; they wait to be sent again.",
		StabilityLevel: metrics.ALPHA,
	}))
	made.processorTime, problems[8] = registered(register, metrics.NewHistogram(&metrics.HistogramOpts{
		Name: "longshore_decision_cpu_seconds", Help: "Processor seconds of the policy's scores of all nodes for one pod in 32.",
		Buckets: decisionBuckets, StabilityLevel: metrics.ALPHA,
	}))
	made.registryPolls, problems[9] = registered(register, metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "longshore_model_registry_polls_total",
		Help:           "Times that the registry was asked for a new bundle, by what came of it.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"}))
	return &made, errors.Join(problems[:]...)
}

// registered registers a metric, or finds the one that was registered under its name before.
func registered[Metric metrics.Registerable](register register, metric Metric) (Metric, error) {
	err := register(metric)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if earlier, ok := already.ExistingCollector.(Metric); ok {
			return earlier, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("metric %s: %w", metric.FQName(), err)
	}
	return metric, err
}
