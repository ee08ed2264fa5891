package main

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"

	"longshore.dev/controlplane/upstream"
)

func TestMain(m *testing.M) {
	upstream.SilenceLogs()
	m.Run()
}

func newTestEvaluator(t testing.TB) *evaluator {
	t.Helper()
	made, err := newEvaluator()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func ask(t testing.TB, e *evaluator, line []byte) answer {
	t.Helper()
	raw, err := e.answerLine(line)
	if err != nil {
		t.Fatal(err)
	}
	var out answer
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// nodeAffinityTo restricts a pod to nodes by name.
func nodeAffinityTo(operatorAndNames ...[]string) object {
	var fields list
	for _, one := range operatorAndNames {
		fields = append(fields, object{"key": "metadata.name", "operator": one[0], "values": one[1:]})
	}
	terms := list{object{"matchFields": fields}}
	required := object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": terms}}
	return object{"affinity": object{"nodeAffinity": required}}
}

const unresolvable, unschedulable = "UnschedulableAndUnresolvable", "Unschedulable"

var (
	zone        = "topology.kubernetes.io/zone"
	tolerateAll = object{"tolerations": list{object{"operator": "Exists"}}}
	small, none = object{"cpu": "1"}, object{}
)

// rejectionCases are what upstream says about a node, rule by rule.
var rejectionCases = []struct {
	name      string
	pod       object
	items     list
	prefilter *rejection
	nodes     map[string]*rejection
}{
	{
		name:  "a taint and its toleration",
		pod:   pod("new", nil, small, nil),
		items: list{node("a", nil, object{"taints": list{object{"key": "k", "effect": "NoSchedule"}}}), node("b", nil, nil)},
		nodes: map[string]*rejection{
			"a": {"TaintToleration", unresolvable, []string{"node(s) had untolerated taint(s)"}}, "b": nil,
		},
	},
	{
		name:  "every taint tolerated",
		pod:   pod("new", nil, small, tolerateAll),
		items: list{node("a", nil, object{"taints": list{object{"key": "k", "effect": "NoExecute"}}})},
		nodes: map[string]*rejection{"a": nil},
	},
	{
		name: "too large for what is left, and too large for the node",
		pod:  pod("new", nil, object{"cpu": "3", "memory": "1Gi"}, nil),
		items: list{
			node("a", nil, nil), node("b", nil, nil),
			pod("old", nil, object{"cpu": "2", "memory": "7500Mi"}, object{"nodeName": "a"}),
		},
		nodes: map[string]*rejection{
			"a": {"NodeResourcesFit", unschedulable, []string{"Insufficient cpu", "Insufficient memory"}}, "b": nil,
		},
	},
	{
		name:  "what the node never has, scalar resources by name",
		pod:   pod("new", nil, object{"cpu": "5", "z.example/z": "1", "a.example/a": "1", "m.example/m": "1"}, nil),
		items: list{node("a", nil, nil)},
		nodes: map[string]*rejection{"a": {"NodeResourcesFit", unresolvable, []string{
			"Insufficient cpu", "Insufficient a.example/a", "Insufficient m.example/m", "Insufficient z.example/z",
		}}},
	},
	{
		name:  "nodes that PreFilter leaves out carry no plugin",
		pod:   pod("new", nil, none, nodeAffinityTo([]string{"In", "b"})),
		items: list{node("a", nil, nil), node("b", nil, nil)},
		nodes: map[string]*rejection{
			"a": {"", unresolvable, []string{"node(s) didn't satisfy plugin(s) [NodeAffinity]"}}, "b": nil,
		},
	},
	{
		name:      "PreFilter refuses the pod as a whole",
		pod:       pod("new", nil, none, nodeAffinityTo([]string{"In", "a"}, []string{"In", "b"})),
		items:     list{node("a", nil, nil), node("b", nil, nil)},
		prefilter: &rejection{"NodeAffinity", unresolvable, []string{"pod affinity terms conflict"}},
		nodes: map[string]*rejection{
			"a": {"NodeAffinity", unresolvable, []string{"pod affinity terms conflict"}},
			"b": {"NodeAffinity", unresolvable, []string{"pod affinity terms conflict"}},
		},
	},
	{
		name: "a running pod's anti-affinity covers its zone",
		pod:  pod("new", object{"app": "web"}, none, nil),
		items: list{
			node("a", object{zone: "1"}, nil), node("b", object{zone: "1"}, nil), node("c", object{zone: "2"}, nil),
			pod("old", nil, none, object{"nodeName": "a", "affinity": podAntiAffinity("web", zone)}),
		},
		nodes: map[string]*rejection{
			"a": {"InterPodAffinity", unschedulable, []string{"node(s) didn't satisfy existing pods anti-affinity rules"}},
			"b": {"InterPodAffinity", unschedulable, []string{"node(s) didn't satisfy existing pods anti-affinity rules"}},
			"c": nil,
		},
	},
	{
		name: "a bound volume keeps its pod in the zone",
		pod: pod("new", nil, none, object{
			"volumes": list{object{"name": "data", "persistentVolumeClaim": object{"claimName": "data"}}},
		}),
		items: append(claimedVolume("data", "volume", "2"), node("a", object{zone: "1"}, nil), node("b", object{zone: "2"}, nil)),
		nodes: map[string]*rejection{
			"a": {"VolumeZone", unresolvable, []string{"node(s) had no available volume zone"}}, "b": nil,
		},
	},
	{
		name: "a claim that is not there",
		pod: pod("new", nil, none, object{
			"volumes": list{object{"name": "data", "persistentVolumeClaim": object{"claimName": "data"}}},
		}),
		items:     list{node("a", nil, nil)},
		prefilter: &rejection{"VolumeRestrictions", unresolvable, []string{`persistentvolumeclaim "data" not found`}},
		nodes: map[string]*rejection{
			"a": {"VolumeRestrictions", unresolvable, []string{`persistentvolumeclaim "data" not found`}},
		},
	},
	{
		name: "finished pods and pods on nodes that do not exist take no room",
		pod:  pod("new", nil, object{"cpu": "4"}, nil),
		items: list{
			node("a", nil, nil),
			merge(pod("done", nil, small, object{"nodeName": "a"}), object{"status": object{"phase": "Succeeded"}}),
			pod("lost", nil, small, object{"nodeName": "gone"}),
			pod("waiting", nil, small, nil),
		},
		nodes: map[string]*rejection{"a": nil},
	},
}

func TestRejections(t *testing.T) {
	e := newTestEvaluator(t)
	for _, test := range rejectionCases {
		t.Run(test.name, func(t *testing.T) {
			got := ask(t, e, line(t, 7, test.pod, test.items...))
			if got.Error != nil {
				t.Fatalf("got the error %q", *got.Error)
			}
			if string(got.ID) != "7" {
				t.Errorf("got id %s, expected 7", got.ID)
			}
			if !reflect.DeepEqual(got.Prefilter, test.prefilter) {
				t.Errorf("got prefilter %+v, expected %+v", got.Prefilter, test.prefilter)
			}
			if !reflect.DeepEqual(got.Nodes, test.nodes) {
				t.Errorf("got nodes %s, expected %s", text(t, got.Nodes), text(t, test.nodes))
			}
		})
	}
}

func merge(base, change object) object {
	for key, value := range change {
		base[key] = value
	}
	return base
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestScores(t *testing.T) {
	e := newTestEvaluator(t)
	// LeastAllocated: the pod takes a quarter of node a and b runs as much already, so that 75 % and 50 % stay free.
	// Balanced: CPU and memory are used alike before and after, and 1.36 gives 75 for "no change". One preferring taint.
	got := ask(t, e, line(t, 1, pod("new", nil, object{"cpu": "1", "memory": "2Gi"}, nil),
		node("a", nil, nil),
		node("b", nil, object{"taints": list{object{"key": "k", "effect": "PreferNoSchedule"}}}),
		pod("old", nil, object{"cpu": "1", "memory": "2Gi"}, object{"nodeName": "b"})))
	expected := map[string]*pluginScores{
		"NodeResourcesFit":                {Raw: map[string]int64{"a": 75, "b": 50}, Normalized: map[string]int64{"a": 75, "b": 50}},
		"NodeResourcesBalancedAllocation": {Raw: map[string]int64{"a": 75, "b": 75}, Normalized: map[string]int64{"a": 75, "b": 75}},
		"TaintToleration":                 {Raw: map[string]int64{"a": 0, "b": 1}, Normalized: map[string]int64{"a": 100, "b": 0}},
		"ImageLocality":                   {Raw: map[string]int64{"a": 0, "b": 0}, Normalized: map[string]int64{"a": 0, "b": 0}},
		"DynamicResources":                {Raw: map[string]int64{"a": 0, "b": 0}, Normalized: map[string]int64{"a": 0, "b": 0}},
	}
	if !reflect.DeepEqual(got.Scores, expected) {
		t.Errorf("got scores %s, expected %s", text(t, got.Scores), text(t, expected))
	}
	totals := map[string]int64{"a": 75 + 75 + 3*100, "b": 50 + 75}
	if !reflect.DeepEqual(got.Totals, totals) {
		t.Errorf("got totals %v, expected %v", got.Totals, totals)
	}
}

// TestDefaultSpreading needs the service and the owner to be seen through the listers.
func TestDefaultSpreading(t *testing.T) {
	e := newTestEvaluator(t)
	labels := object{"app": "web"}
	items := list{
		node("a", object{"topology.kubernetes.io/zone": "1"}, nil), node("b", object{"topology.kubernetes.io/zone": "2"}, nil),
		pod("old", labels, object{}, object{"nodeName": "a"}),
	}
	placed := pod("new", labels, object{}, nil)
	if got := ask(t, e, line(t, 1, placed, items...)); got.Scores["PodTopologySpread"] != nil {
		t.Errorf("without a service: got %+v, expected no spreading", got.Scores["PodTopologySpread"])
	}
	service := simple("v1", "Service", "shop", "front", object{"selector": labels})
	got := ask(t, e, line(t, 2, placed, append(items, service)...))
	spread := got.Scores["PodTopologySpread"]
	if spread == nil || spread.Normalized["b"] != 100 || spread.Normalized["a"] >= 100 {
		t.Errorf("with a service: got %+v, expected b best", spread)
	}
}

// TestSingleFeasibleNodeIsScored: kube-scheduler would not, the oracle does.
func TestSingleFeasibleNodeIsScored(t *testing.T) {
	got := ask(t, newTestEvaluator(t), line(t, 1, pod("new", nil, object{"cpu": "1"}, nil), node("a", nil, nil)))
	if len(got.Totals) != 1 || got.Totals["a"] == 0 {
		t.Errorf("got totals %v, expected those of node a", got.Totals)
	}
}

func TestErrorsAreAnswers(t *testing.T) {
	fine := pod("new", nil, object{}, nil)
	tests := []struct{ name, line, error string }{
		{"not JSON", `{"id": 1`, "unexpected end of JSON input"},
		{"no pod", `{"id": 1, "items": []}`, `got no "pod"`},
		{"unknown kind", `{"id": 1, "pod": {}, "items": [{"apiVersion": "v1", "kind": "Widget"}]}`, `kind "Widget", expected one of`},
		{"wrong group", `{"id": 1, "pod": {}, "items": [{"apiVersion": "v1", "kind": "ReplicaSet"}]}`, "apps/v1 ReplicaSet"},
		{"misspelt field", `{"id": 1, "pod": {"spec": {"nodeSelektor": {}}}}`, `unknown field "spec.nodeSelektor"`},
		{"bad quantity", `{"id": 1, "pod": {"spec": {"overhead": {"cpu": "1x"}}}}`, "quantities must match"},
		{"no nodes", string(line(t, 1, fine)), "no nodes available"},
		{"one node twice", string(line(t, 1, fine, node("a", nil, nil), node("a", nil, nil))), "got Node /a twice"},
	}
	e := newTestEvaluator(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ask(t, e, []byte(test.line))
			if got.Error == nil || !strings.Contains(*got.Error, test.error) {
				t.Errorf("got %s, expected an error with %q", text(t, got), test.error)
			}
		})
	}
}

func TestOwnScoresAreCheckedAgainstTheFrameworks(t *testing.T) {
	e := newTestEvaluator(t)
	e.scorers[0].weight++
	tainted := node("b", nil, object{"taints": list{object{"key": "k", "effect": "PreferNoSchedule"}}})
	_, err := e.answerLine(line(t, 1, pod("new", nil, object{}, nil), node("a", nil, nil), tainted))
	if !errors.Is(err, errUntrustworthy) {
		t.Errorf("got %v, expected %v", err, errUntrustworthy)
	}
}

// TestSnapshotEqualsTheSchedulersCache feeds each case to the cache that kube-scheduler keeps and decides on its snapshot too.
func TestSnapshotEqualsTheSchedulersCache(t *testing.T) {
	e := newTestEvaluator(t)
	ctx := klog.NewContext(t.Context(), logr.Discard())
	for i, raw := range randomLines(t, 200) {
		id, c, err := decodeCase(raw)
		if err != nil {
			t.Fatal(err)
		}
		expected := ask(t, e, raw)
		schedulerCache := internalcache.New(ctx, nil, false)
		for _, node := range c.nodes {
			schedulerCache.AddNode(logr.Discard(), node)
		}
		for _, pod := range c.pods {
			// The cache tells pods apart by UID, which an API server would have set.
			pod.UID = types.UID(pod.Name)
			if err := schedulerCache.AddPod(logr.Discard(), pod); err != nil {
				t.Fatal(err)
			}
		}
		snapshot := internalcache.NewEmptySnapshot()
		if err := schedulerCache.UpdateSnapshot(logr.Discard(), snapshot); err != nil {
			t.Fatal(err)
		}
		e.world.snapshot = snapshot
		got, err := e.decide(id, c)
		if err != nil {
			t.Fatal(err)
		}
		if text(t, got) != text(t, expected) {
			t.Fatalf("case %d: got %s from the scheduler's cache, expected %s", i, text(t, got), text(t, expected))
		}
	}
}
