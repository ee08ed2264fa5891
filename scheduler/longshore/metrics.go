package longshore

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// register is legacyregistry.Register, or a test's own.
type register func(metrics.Registerable) error

// pluginMetrics are what the plugin of one profile adds to kube-scheduler's /metrics. The profiles of a process share
// them, each under its own label.
type pluginMetrics struct {
	fallbacks        func(reason string) metrics.CounterMetric
	models           func(name, version, sha256 string) metrics.GaugeMetric
	duration         metrics.ObserverMetric
	processorTime    metrics.ObserverMetric
	readingsAge      func(source string) metrics.GaugeMetric
	dropped          metrics.CounterMetric
	updateFailures   metrics.CounterMetric
	registryPolls    func(result string) metrics.CounterMetric
	readingsFailures metrics.CounterMetric
	logFailures      metrics.CounterMetric
	watchAge         func(resource string) metrics.GaugeMetric
	bindsInFlight    metrics.GaugeMetric
	oldestBind       metrics.GaugeMetric
}

// Finer than upstream's buckets, whose first is a millisecond, and than those of `longshore schedule`: what a ranking may
// take, 1 ms with a thousand nodes and 5 with five thousand, is to be told from what is just above it.
var decisionBuckets = []float64{
	0.00005, 0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.00125, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.006,
	0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 1,
}

// newPluginMetrics registers the metrics of a profile; where another profile has done so already, that one's are used.
func newPluginMetrics(register register, profile string) (*pluginMetrics, error) {
	r := registrar{register: register}
	fallbacks := r.counter("longshore_fallback_total", "Decisions that the policy did not make, by the reason.", "reason")
	models := r.gauge("longshore_model_info", "Whether a profile uses the policy that the labels name.", "name", "version", "sha256")
	readingsAge := r.gauge("longshore_readings_age_seconds", "Age of a source's readings.", "source")
	polls := r.counter("longshore_model_registry_polls_total",
		"Times that the registry was asked for a new bundle, by what came of it.", "result")
	duration := r.histogram("longshore_decision_duration_seconds", "Seconds of scoring all nodes for one pod.")
	processorTime := r.histogram("longshore_decision_cpu_seconds",
		"Processor seconds of the policy's scores of all nodes for one pod in 32.")
	dropped := r.counter("longshore_decision_log_dropped_total", "Decisions that the decision log did not take in time.")
	updateFailures := r.counter("longshore_model_update_failures_total",
		"Times that a bundle was gone, could not be read, or was taken back; the last good one was kept.")
	readingsFailures := r.counter("longshore_readings_failures_total",
		"Times that the file of readings was gone or could not be read; the last good ones were kept.")
	logFailures := r.counter("longshore_decision_log_failures_total",
		"Batches that the decision log did not take; they wait to be sent again.")
	watchAge := r.gauge("longshore_watch_age_seconds", "Seconds since the watch of a resource said something.", "resource")
	bindsInFlight := r.gauge("longshore_binds_in_flight", "Bindings that were sent and not answered.")
	oldestBind := r.gauge("longshore_oldest_bind_seconds", "Seconds since the oldest binding without an answer was sent.")
	if r.err != nil {
		return nil, r.err
	}
	return &pluginMetrics{
		fallbacks: func(reason string) metrics.CounterMetric { return fallbacks.WithLabelValues(profile, reason) },
		models: func(name, version, sha256 string) metrics.GaugeMetric {
			return models.WithLabelValues(profile, name, version, sha256)
		},
		duration:         duration.WithLabelValues(profile),
		processorTime:    processorTime.WithLabelValues(profile),
		readingsAge:      func(source string) metrics.GaugeMetric { return readingsAge.WithLabelValues(profile, source) },
		dropped:          dropped.WithLabelValues(profile),
		updateFailures:   updateFailures.WithLabelValues(profile),
		registryPolls:    func(result string) metrics.CounterMetric { return polls.WithLabelValues(profile, result) },
		readingsFailures: readingsFailures.WithLabelValues(profile),
		logFailures:      logFailures.WithLabelValues(profile),
		watchAge:         func(resource string) metrics.GaugeMetric { return watchAge.WithLabelValues(profile, resource) },
		bindsInFlight:    bindsInFlight.WithLabelValues(profile),
		oldestBind:       oldestBind.WithLabelValues(profile),
	}, nil
}

// registrar makes metrics that have the label `profile` before their own, and keeps the first problem.
type registrar struct {
	register register
	err      error
}

func (r *registrar) counter(name, help string, labels ...string) *metrics.CounterVec {
	return registered(r, metrics.NewCounterVec(
		&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, withProfile(labels)))
}

func (r *registrar) gauge(name, help string, labels ...string) *metrics.GaugeVec {
	return registered(r, metrics.NewGaugeVec(
		&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, withProfile(labels)))
}

func (r *registrar) histogram(name, help string) *metrics.HistogramVec {
	return registered(r, metrics.NewHistogramVec(
		&metrics.HistogramOpts{Name: name, Help: help, Buckets: decisionBuckets, StabilityLevel: metrics.ALPHA}, withProfile(nil)))
}

func withProfile(labels []string) []string { return append([]string{"profile"}, labels...) }

// registered registers a metric, or finds the one that was registered under its name before.
func registered[Metric metrics.Registerable](r *registrar, metric Metric) Metric {
	err := r.register(metric)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if earlier, ok := already.ExistingCollector.(Metric); ok {
			return earlier
		}
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("metric %s: %w", metric.FQName(), err)
	}
	return metric
}
