package inference

import (
	"math"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The annotations and labels that are read, as src/longshore/kube/annotations.py describes them.
const (
	gpuCountKey    = "longshore.dev/gpu-count"
	gpuMilliKey    = "longshore.dev/gpu-milli"
	gpuModelKey    = "longshore.dev/gpu-model"
	gpuDevicesKey  = "longshore.dev/gpu-devices"
	latencyKey     = "longshore.dev/latency-ms"
	zoneLatencyKey = "longshore.dev/zone-latency-ms"
	wattsKey       = "longshore.dev/watts"
	costKey        = "longshore.dev/cost-per-hour"
	carbonKey      = "longshore.dev/carbon-grams-per-kwh"
	softLatencyKey = "latencySoftConstraint"
	hardLatencyKey = "latencyHardConstraint"
)

const (
	largestNumber = 1e9
	mostPoints    = 1001
	maxDevices    = 64
	wholeGPU      = 1000
)

// What a node has that says nothing else: a common two-socket server, a price of 1, close to the world's mean grid.
const (
	defaultCost   = 1.0
	defaultCarbon = 400.0
)

// number reads a number from 0 to a billion, as Python's float() would; ok is false for anything else.
func number(text string) (value float64, ok bool) {
	text = strings.TrimSpace(text)
	// Go also reads hexadecimal floats and underscores; whoever writes those means something else.
	if strings.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil && value >= 0 && value <= largestNumber
}

// whole reads a whole number of plain digits within limits.
func whole(text string, low, high int) (value int, ok bool) {
	if text == "" || len(text) > 9 {
		return 0, false
	}
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		value = 10*value + int(digit-'0')
	}
	return value, value >= low && value <= high
}

// numberOr returns what a node's annotation says; one that cannot be read says nothing.
func numberOr(notes map[string]string, key string, otherwise float64) float64 {
	if text, given := notes[key]; given {
		if value, ok := number(text); ok {
			return value
		}
	}
	return otherwise
}

// limitOf returns a pod's latency limit, infinite where it has none.
func limitOf(pod *v1.Pod, key string) (float64, *Problem) {
	text, given := pod.Annotations[key]
	if !given {
		return math.Inf(1), nil
	}
	value, ok := number(text)
	if !ok {
		return 0, problemf(Unreadable, "pod %s/%s: annotation `%s`: got `%s`, expected a number from 0 to %d",
			pod.Namespace, pod.Name, key, text, int(largestNumber))
	}
	return value, nil
}

// powerCurve returns a node's watts at even steps of CPU use.
func powerCurve(notes map[string]string) []float64 {
	if text, given := notes[wattsKey]; given {
		parts := strings.Split(text, ",")
		curve := make([]float64, 0, len(parts))
		for _, part := range parts {
			if value, ok := number(part); ok {
				curve = append(curve, value)
			}
		}
		if len(curve) == len(parts) && len(parts) >= 2 && len(parts) <= mostPoints {
			return curve
		}
	}
	return []float64{100, 300}
}

// annotatedReading returns what a node's annotations say of what is otherwise measured.
func annotatedReading(notes map[string]string) Reading {
	reading := Unknown()
	reading.LatencyMillis = numberOr(notes, latencyKey, math.NaN())
	if text, given := notes[zoneLatencyKey]; given {
		zones := map[string]float64{}
		for _, part := range strings.Split(text, ",") {
			zone, millis, found := strings.Cut(part, "=")
			value, ok := number(millis)
			if zone = strings.TrimSpace(zone); !found || !ok || zone == "" {
				return reading
			}
			zones[zone] = value
		}
		reading.ZoneLatencyMillis = zones
	}
	return reading
}

// gpuRequest is what a pod wants of GPUs: milli of each of count devices, of one of the models ("" = any).
type gpuRequest struct {
	count, milli int
	models       string
}

// gpuRequestOf reads a pod's annotations; ok is false where they cannot be read.
func gpuRequestOf(notes map[string]string) (request gpuRequest, ok bool) {
	milli, hasMilli := notes[gpuMilliKey]
	count, hasCount := notes[gpuCountKey]
	models := notes[gpuModelKey]
	if !hasMilli && !hasCount {
		return gpuRequest{}, models == ""
	}
	request = gpuRequest{count: 1, milli: wholeGPU, models: sortedModels(models)}
	if hasMilli {
		if request.milli, ok = whole(milli, 1, wholeGPU); !ok {
			return gpuRequest{}, false
		}
	}
	if hasCount {
		if request.count, ok = whole(count, 1, maxDevices); !ok {
			return gpuRequest{}, false
		}
	}
	return request, request.milli == wholeGPU || request.count == 1
}

// gpuRequestOfPod reads a waiting pod's annotations.
func gpuRequestOfPod(pod *v1.Pod) (gpuRequest, *Problem) {
	request, ok := gpuRequestOf(pod.Annotations)
	if !ok {
		return gpuRequest{}, problemf(Unreadable, "pod %s/%s: the annotations `%s`, `%s` and `%s` are no request for GPUs",
			pod.Namespace, pod.Name, gpuCountKey, gpuMilliKey, gpuModelKey)
	}
	return request, nil
}

// SaidBy returns what pods' needs are compared with of a node: its GPUs, their model, its latency.
func SaidBy(node *v1.Node) map[string]string {
	said := map[string]string{"label": node.Labels[gpuModelKey]}
	for _, key := range []string{gpuCountKey, gpuModelKey, latencyKey} {
		if text, given := node.Annotations[key]; given {
			said[key] = text
		}
	}
	return said
}
