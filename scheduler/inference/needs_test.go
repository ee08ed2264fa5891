package inference

import (
	"math"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// TestContractDevices: wherever Python lets a pod go, its GPUs fit here too; and it is often about GPUs.
func TestContractDevices(t *testing.T) {
	numAsked := 0
	for _, one := range readCases(t) {
		needs, unreadable := NeedsOf(one.Pod)
		if len(unreadable) > 0 {
			t.Errorf("case %d: %v", one.ID, unreadable)
			continue
		}
		if !needs.HasDevices() {
			continue
		}
		for _, node := range one.world(t).feasible {
			numAsked++
			if devices, fit := needs.Devices(one.Pod, node, nil); fit != DevicesFit || devices == "" {
				t.Errorf("case %d, node %s: got `%s` and %v, expected that it fits", one.ID, node.Node().Name, devices, fit)
			}
		}
	}
	if numAsked < 100 {
		t.Errorf("got %d nodes with GPUs, expected more", numAsked)
	}
}

func TestDevicesAreTheFullestThatFit(t *testing.T) {
	node := st.MakeNode().Name("n").Obj()
	node.Annotations = map[string]string{gpuCountKey: "4"}
	holder := func(name string, notes map[string]string) *v1.Pod {
		pod := st.MakePod().Name(name).UID(name).Obj()
		pod.Annotations = notes
		return pod
	}
	tests := map[string]struct {
		pods []*v1.Pod
		held map[string]string
		wish map[string]string
		want string
	}{
		"empty":           {wish: map[string]string{gpuCountKey: "2"}, want: "0,1"},
		"beside another":  {pods: []*v1.Pod{holder("a", map[string]string{gpuMilliKey: "300", gpuDevicesKey: "2"})}, wish: map[string]string{gpuMilliKey: "700"}, want: "2"},
		"not beside it":   {pods: []*v1.Pod{holder("a", map[string]string{gpuMilliKey: "300", gpuDevicesKey: "0"})}, wish: map[string]string{gpuMilliKey: "701"}, want: "1"},
		"whole ones":      {pods: []*v1.Pod{holder("a", map[string]string{gpuMilliKey: "1", gpuDevicesKey: "1"})}, wish: map[string]string{gpuCountKey: "3"}, want: "0,2,3"},
		"given just now":  {pods: []*v1.Pod{holder("a", map[string]string{gpuMilliKey: "300"})}, held: map[string]string{"a": "3"}, wish: map[string]string{gpuMilliKey: "100"}, want: "3"},
		"whoever says so": {pods: []*v1.Pod{holder("a", map[string]string{gpuMilliKey: "300", gpuDevicesKey: "1"})}, held: map[string]string{"a": "3"}, wish: map[string]string{gpuMilliKey: "100"}, want: "3"},
		"the pod itself":  {pods: []*v1.Pod{holder("new", map[string]string{gpuCountKey: "4"})}, wish: map[string]string{gpuCountKey: "4"}, want: "0,1,2,3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := &Held{}
			for pod, devices := range test.held {
				held.Put(holder(pod, nil), "node", devices)
			}
			info := framework.NewNodeInfo(test.pods...)
			info.SetNode(node)
			pod := holder("new", test.wish)
			needs, unreadable := NeedsOf(pod)
			if len(unreadable) > 0 {
				t.Fatal(unreadable)
			}
			if got, fit := needs.Devices(pod, info, held); got != test.want || fit != DevicesFit {
				t.Errorf("got `%s` and %v, expected `%s`", got, fit, test.want)
			}
		})
	}
}

func TestNeedsOfAnythingIsNoPanic(t *testing.T) {
	for _, text := range []string{"", "-1", "0", "65", "1e3", "NaN", "99999999999999999999", "1,2", "ü", "|"} {
		pod := st.MakePod().Obj()
		pod.Annotations = map[string]string{gpuCountKey: text, gpuModelKey: text, gpuDevicesKey: text}
		if needs, unreadable := NeedsOf(pod); needs.HasDevices() || len(unreadable) != 1 {
			t.Errorf("`%s`: got %v and %q, expected no request for GPUs, and that it is said", text, needs, unreadable)
		}
		pod.Annotations = map[string]string{gpuMilliKey: "1", gpuDevicesKey: text}
		info := framework.NewNodeInfo(pod)
		node := st.MakeNode().Name("n").Obj()
		node.Annotations = map[string]string{gpuCountKey: "64"}
		info.SetNode(node)
		needs, _ := NeedsOf(pod)
		if _, fit := needs.Devices(st.MakePod().UID("other").Obj(), info, nil); fit != DevicesFit {
			t.Errorf("`%s`: got %v, expected room", text, fit)
		}
	}
}

func TestLatencyIsWithinTheLimit(t *testing.T) {
	pod := st.MakePod().Obj()
	pod.Annotations = map[string]string{hardLimitKeys[0]: "30"}
	needs, unreadable := NeedsOf(pod)
	if len(unreadable) > 0 || !needs.HasLimit() || needs.HasDevices() {
		t.Fatalf("got %+v and %v, expected a limit alone", needs, unreadable)
	}
	node := st.MakeNode().Name("n").Obj()
	node.Annotations = map[string]string{latencyKey: "10"}
	reading := func(millis float64) Readings {
		made := Unknown()
		made.LatencyMillis = millis
		return NewReadings(map[string]Reading{"n": made}, 1)
	}
	for name, test := range map[string]struct {
		readings Readings
		want     LatencyFit
	}{
		"by its annotation":        {Readings{}, WithinLimit},
		"at the limit":             {reading(30), WithinLimit},
		"above it":                 {reading(30.001), BeyondLimit},
		"measured, and not known":  {reading(math.NaN()), NotMeasured},
		"measured without meaning": {reading(math.Inf(1)), NotMeasured},
	} {
		if got := needs.Latency(node, test.readings); got != test.want {
			t.Errorf("%s: got %v, expected %v", name, got, test.want)
		}
	}
}

func TestTheFirstLimitThatCanBeReadCounts(t *testing.T) {
	for name, test := range map[string]struct {
		ours, alias    string
		want           float64
		wantUnreadable int
	}{
		"none":                    {"", "", math.Inf(1), 0},
		"ours":                    {"20", "", 20, 0},
		"the thesis'":             {"", "30", 30, 0},
		"both":                    {"20", "30", 20, 0},
		"ours cannot be read":     {"20ms", "30", 30, 1},
		"neither can be read":     {"20ms", "soon", math.Inf(1), 2},
		"the thesis' is not read": {"20", "soon", 20, 0},
	} {
		pod := st.MakePod().Obj()
		pod.Annotations = map[string]string{}
		for key, text := range map[string]string{hardLimitKeys[0]: test.ours, hardLimitKeys[1]: test.alias} {
			if text != "" {
				pod.Annotations[key] = text
			}
		}
		if needs, unreadable := NeedsOf(pod); needs.latencyHard != test.want || len(unreadable) != test.wantUnreadable {
			t.Errorf("%s: got %v and %q, expected %v and %d", name, needs.latencyHard, unreadable, test.want, test.wantUnreadable)
		}
	}
}

func TestWhichReadingsMayHelp(t *testing.T) {
	needs := Needs{latencyHard: 30}
	of := func(millis float64) Readings {
		made := Unknown()
		made.LatencyMillis = millis
		return NewReadings(map[string]Reading{"n": made}, 1)
	}
	unknown := math.NaN()
	for name, test := range map[string]struct {
		before, now    Readings
		wantIfGuessed  bool
		wantIfNeedsAll bool
	}{
		"near enough now":          {of(31), of(30), true, true},
		"near enough as before":    {of(29), of(28), false, false},
		"still too far":            {of(50), of(31), false, false},
		"too far now":              {of(10), of(31), false, false},
		"measured, and near":       {of(unknown), of(10), false, true},
		"not known any more":       {of(31), of(unknown), true, false},
		"named for the first time": {Readings{}, of(10), true, true},
		"named, and too far":       {Readings{}, of(31), false, false},
		"not named any more":       {of(31), Readings{}, true, true},
	} {
		if got := needs.MayBeNearer(test.before, test.now, true); got != test.wantIfGuessed {
			t.Errorf("%s: got %v, expected %v", name, got, test.wantIfGuessed)
		}
		if got := needs.MayBeNearer(test.before, test.now, false); got != test.wantIfNeedsAll {
			t.Errorf("%s, unknown is too far: got %v, expected %v", name, got, test.wantIfNeedsAll)
		}
	}
}
