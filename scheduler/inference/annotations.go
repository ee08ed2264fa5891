package inference

import (
	"fmt"
	"math"
	"slices"
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
)

// A pod's latency limits in milliseconds. The first that can be read counts; the second is the thesis' name for it.
var (
	softLimitKeys = [...]string{"longshore.dev/latency-soft-limit-ms", "latencySoftConstraint"}
	hardLimitKeys = [...]string{"longshore.dev/latency-hard-limit-ms", "latencyHardConstraint"}
)

// requestKeys are all that a pod asks by.
var requestKeys = slices.Concat(softLimitKeys[:], hardLimitKeys[:], []string{gpuCountKey, gpuMilliKey, gpuModelKey})

const (
	largestNumber = 1e9
	mostPoints    = 1001
	maxDevices    = 64
	wholeGPU      = 1000
)

// What is taken of a node that says nothing else, as core/words/assumed.py does: by its size, and close to the world's
// mean grid.
const (
	idleWattsPerCPU, fullWattsPerCPU = 0.75, 3.75
	pricePerCPU, pricePerGiB         = 0.03, 0.004
	defaultCarbon                    = 400.0
)

// assumedPrice is what an hour of a node of that size costs.
func assumedPrice(cpuMillis, memoryBytes int64) float64 {
	return pricePerCPU*(float64(cpuMillis)/1000) + pricePerGiB*(float64(memoryBytes)/(1<<30))
}

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

// request is what a pod asks for by longshore's annotations.
type request struct {
	latencySoft, latencyHard float64 // milliseconds, infinite = no limit
	gpu                      gpuRequest
}

// requestOf reads a pod's annotations as if those that cannot be read were not there, and says which they are.
func requestOf(notes map[string]string) (asked request, unreadable []string) {
	if len(notes) == 0 {
		return request{latencySoft: math.Inf(1), latencyHard: math.Inf(1)}, nil
	}
	limit := func(keys ...string) float64 {
		for _, key := range keys {
			text, given := notes[key]
			if !given {
				continue
			}
			if value, ok := number(text); ok {
				return value
			}
			unreadable = append(unreadable,
				fmt.Sprintf("annotation `%s`: got `%s`, expected a number from 0 to %d", key, text, int(largestNumber)))
		}
		return math.Inf(1)
	}
	asked.latencySoft = limit(softLimitKeys[:]...)
	asked.latencyHard = limit(hardLimitKeys[:]...)
	var ok bool
	if asked.gpu, ok = gpuRequestOf(notes); !ok {
		asked.gpu = gpuRequest{}
		unreadable = append(unreadable,
			fmt.Sprintf("the annotations `%s`, `%s` and `%s` are no request for GPUs", gpuCountKey, gpuMilliKey, gpuModelKey))
	}
	return asked, unreadable
}

// powerCurve returns a node's watts at even steps of CPU use; of one that does not tell, what is assumed for its size.
func powerCurve(notes map[string]string, cpuMillis int64) []float64 {
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
	cpus := float64(cpuMillis) / 1000
	return []float64{idleWattsPerCPU * cpus, fullWattsPerCPU * cpus}
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
