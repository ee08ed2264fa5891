package inference

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"longshore.dev/scheduler/bundle"
)

const (
	contractFolder = "../../contract"
	bundlesFolder  = "../../src/longshore/bundles"
	// casesVariable names a file with more cases, for a larger comparison than the committed one.
	casesVariable = "LONGSHORE_CONTRACT_CASES"
)

// Features are shares between -1 and 1 and must agree so closely. Scores are sums of many products, so that what counts
// is their size: 1e-5 of the largest score of the case, and of 1 at least.
const (
	featureTolerance = 1e-6
	scoreTolerance   = 1e-5
	clearlyApart     = 1e-4
)

// contractCase is a line of contract/cases.jsonl: a cluster and a pod, and what Python makes of them.
type contractCase struct {
	ID       int               `json:"id"`
	Pod      *v1.Pod           `json:"pod"`
	Items    []json.RawMessage `json:"items"`
	Readings map[string]struct {
		Latency     *float64           `json:"latency_ms"`
		Connections *float64           `json:"connections"`
		Traffic     *float64           `json:"traffic_bytes_per_second"`
		CPU         *float64           `json:"cpu_ratio"`
		Watts       *float64           `json:"watts"`
		Zones       map[string]float64 `json:"zone_latency_ms"`
	} `json:"readings"`
	Expected struct {
		Nodes    []string             `json:"nodes"`
		Feasible []string             `json:"feasible"`
		Features map[string][]float64 `json:"features"`
		Scores   map[string][]float64 `json:"scores"`
		Choices  map[string]string    `json:"choices"`
		// Preferred are scores with the weights of contract/preferences.json.
		Preferred map[string][]float64 `json:"preferred"`
	} `json:"expected"`
}

// world is a case as the scheduler would hold it.
type world struct {
	all, feasible  []fwk.NodeInfo
	readings       Readings
	contextObjects *ContextObjects
}

func readCases(t testing.TB) []contractCase {
	path := os.Getenv(casesVariable)
	if path == "" {
		path = filepath.Join(contractFolder, "cases.jsonl")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	var cases []contractCase
	for lines.Scan() {
		var one contractCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("case %d: %v", len(cases), err)
		}
		cases = append(cases, one)
	}
	if lines.Err() != nil || len(cases) == 0 {
		t.Fatalf("got %d cases, error %v", len(cases), lines.Err())
	}
	return cases
}

func (c *contractCase) world(t testing.TB) *world {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	made := &world{}
	var err error
	if made.contextObjects, err = NewContextObjects(factory); err != nil {
		t.Fatal(err)
	}
	nodes, pods := map[string]*v1.Node{}, []*v1.Pod{}
	for _, text := range c.Items {
		var head struct {
			Kind string `json:"kind"`
		}
		decodeInto(t, text, &head)
		switch head.Kind {
		case "Node":
			node := &v1.Node{}
			decodeInto(t, text, node)
			nodes[node.Name] = node
		case "Pod":
			pod := &v1.Pod{}
			decodeInto(t, text, pod)
			pods = append(pods, pod)
		default:
			addToInformers(t, factory, head.Kind, text)
		}
	}
	byName := nodeInfos(c.Expected.Nodes, nodes, pods)
	for _, name := range c.Expected.Nodes {
		made.all = append(made.all, byName[name])
	}
	for _, name := range c.Expected.Feasible {
		made.feasible = append(made.feasible, byName[name])
	}
	made.readings = NewReadings(c.readingTable(), uint64(c.ID)+1)
	return made
}

func decodeInto(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func addToInformers(t testing.TB, factory informers.SharedInformerFactory, kind string, text []byte) {
	t.Helper()
	core, apps := factory.Core().V1(), factory.Apps().V1()
	var err error
	switch kind {
	case "Service":
		object := &v1.Service{}
		decodeInto(t, text, object)
		err = core.Services().Informer().GetIndexer().Add(object)
	case "ReplicationController":
		object := &v1.ReplicationController{}
		decodeInto(t, text, object)
		err = core.ReplicationControllers().Informer().GetIndexer().Add(object)
	case "ReplicaSet":
		object := &appsv1.ReplicaSet{}
		decodeInto(t, text, object)
		err = apps.ReplicaSets().Informer().GetIndexer().Add(object)
	case "StatefulSet":
		object := &appsv1.StatefulSet{}
		decodeInto(t, text, object)
		err = apps.StatefulSets().Informer().GetIndexer().Add(object)
	case "Namespace":
		object := &v1.Namespace{}
		decodeInto(t, text, object)
		err = core.Namespaces().Informer().GetIndexer().Add(object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// nodeInfos builds what the scheduler's cache would hold, images included.
func nodeInfos(names []string, nodes map[string]*v1.Node, pods []*v1.Pod) map[string]*framework.NodeInfo {
	images := map[string]int{}
	for _, node := range nodes {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				images[name]++
			}
		}
	}
	found := map[string]*framework.NodeInfo{}
	for _, name := range names {
		info := framework.NewNodeInfo()
		info.SetNode(nodes[name])
		info.ImageStates = map[string]*fwk.ImageStateSummary{}
		for _, image := range nodes[name].Status.Images {
			for _, alias := range image.Names {
				info.ImageStates[alias] = &fwk.ImageStateSummary{Size: image.SizeBytes, NumNodes: images[alias]}
			}
		}
		found[name] = info
	}
	for _, pod := range pods {
		isOver := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if info := found[pod.Spec.NodeName]; info != nil && !isOver {
			info.AddPod(pod)
		}
	}
	return found
}

func (c *contractCase) readingTable() map[string]Reading {
	table := map[string]Reading{}
	for name, given := range c.Readings {
		reading := Unknown()
		for field, value := range map[*float64]*float64{
			&reading.LatencyMillis: given.Latency, &reading.Connections: given.Connections,
			&reading.TrafficBytesPerSecond: given.Traffic, &reading.CPURatio: given.CPU, &reading.Watts: given.Watts,
		} {
			if value != nil {
				*field = *value
			}
		}
		reading.ZoneLatencyMillis = given.Zones
		table[name] = reading
	}
	return table
}

// everyFeature returns a model that reads all features, and whose first operation is no linear layer: the scorer then
// keeps whole rows.
func everyFeature(t testing.TB) *Model {
	var specs []string
	for name, one := range featureTable() {
		specs = append(specs, fmt.Sprintf("%s@%d", name, one.version))
	}
	slices.Sort(specs)
	count := len(specs)
	name := "every feature"
	low, high := slices.Repeat([]float64{-1}, count), slices.Repeat([]float64{1}, count)
	model, err := newModel(&bundle.Bundle{
		Policy: &bundle.Policy{
			Name: &name, Features: specs, Envelope: &bundle.Envelope{Low: low, High: high},
			Ops: []bundle.Op{
				{Kind: "relu", Inputs: []string{bundle.Rows}, Output: "same"},
				{Kind: "linear", Inputs: []string{"same"}, Output: bundle.Score, Tensors: []string{"w", "b"}},
			},
		},
		Tensors: map[string]bundle.Tensor{
			"w": {Shape: []int{count, 1}, Floats: make([]float32, count)}, "b": {Shape: []int{1}, Floats: make([]float32, 1)},
		},
		Shapes: map[string]bundle.Shape{
			bundle.Rows: {IsPerNode: true, Width: count}, "same": {IsPerNode: true, Width: count}, bundle.Score: {IsPerNode: true, Width: 1},
			bundle.Prior: {IsPerNode: true}, bundle.Preference: {}, bundle.PodKind: {Width: bundle.NumPodKinds},
			bundle.Load: {Width: bundle.NumLoads},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func TestContractFeatures(t *testing.T) {
	model := everyFeature(t)
	for _, one := range readCases(t) {
		w := one.world(t)
		scorer := NewScorer(model, nil, Within(w.contextObjects))
		out := make([]float32, len(w.feasible))
		if err := scorer.Score(context.Background(), one.Pod, w.all, w.feasible, w.readings, out); err != nil {
			t.Errorf("case %d: %v", one.ID, err)
			continue
		}
		for place, name := range model.names {
			want := one.Expected.Features[name]
			for at, node := range one.Expected.Nodes {
				expected := 0.0
				if want != nil {
					expected = want[at]
				}
				got := float64(scorer.current.rows[at*len(model.names)+place])
				if math.Abs(got-expected) > featureTolerance {
					t.Errorf("case %d, node %s: %s = %v, want %v", one.ID, node, name, got, expected)
				}
			}
		}
	}
}

func TestContractScores(t *testing.T) {
	models := contractModels(t)
	numClear := 0
	for _, one := range readCases(t) {
		w := one.world(t)
		for name, want := range one.Expected.Scores {
			out, scale := one.compareScores(t, w, name, models[name], want)
			if out != nil && isClear(want, float64(models[name].tieTolerance), scale) {
				numClear++
				if got := choose(one.Expected.Feasible, out, models[name].tieTolerance); got != one.Expected.Choices[name] {
					t.Errorf("case %d, %s: chose %s, want %s", one.ID, name, got, one.Expected.Choices[name])
				}
			}
		}
	}
	t.Logf("%d choices compared", numClear)
	if numClear == 0 {
		t.Error("no case has a clear choice")
	}
}

// compareScores scores a case and compares with Python's scores; nil where it cannot. The scale is the largest of them.
func (c *contractCase) compareScores(t *testing.T, w *world, name string, model *Model, want []float64) ([]float32, float64) {
	scorer := NewScorer(model, nil, Within(w.contextObjects), MaxOutside(1))
	out, scale := make([]float32, len(w.feasible)), 1.0
	if err := scorer.Score(context.Background(), c.Pod, w.all, w.feasible, w.readings, out); err != nil {
		t.Errorf("case %d, %s: %v", c.ID, name, err)
		return nil, scale
	}
	for _, score := range want {
		scale = max(scale, math.Abs(score))
	}
	for i, score := range want {
		if math.Abs(float64(out[i])-score) > scoreTolerance*scale {
			t.Errorf("case %d, %s, node %s: score %v, want %v", c.ID, name, c.Expected.Feasible[i], out[i], score)
		}
	}
	return out, scale
}

func contractModels(t testing.TB) map[string]*Model {
	models := map[string]*Model{}
	folders, err := filepath.Glob(filepath.Join(contractFolder, "bundles", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"openb", "openb-power", "openb-nodes"} {
		folders = append(folders, filepath.Join(bundlesFolder, name))
	}
	for _, folder := range folders {
		model, err := Load(folder)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		models[filepath.Base(folder)] = model
	}
	return models
}

// isClear says whether no score is near the edge between those that tie with the best and the others.
func isClear(scores []float64, tolerance, scale float64) bool {
	best := slices.Max(scores)
	for _, score := range scores {
		if edge := best - tolerance - score; math.Abs(edge) <= clearlyApart*scale && score != best {
			return false
		}
	}
	return true
}

// choose takes the best score; of those that tie the lowest name, as Python does.
func choose(names []string, scores []float32, tolerance float32) string {
	best, found := slices.Max(scores), ""
	for i, score := range scores {
		if score >= best-tolerance && (found == "" || names[i] < found) {
			found = names[i]
		}
	}
	return found
}

// TestContractTable: what Python's table says exists in the plugin has a twin here, of the same version and scope, and
// nothing else has.
func TestContractTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(contractFolder, "features.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name     string `json:"name"`
		Version  int    `json:"version"`
		Scope    scope  `json:"scope"`
		InPlugin bool   `json:"in_plugin"`
	}
	decodeInto(t, text, &rows)
	table := featureTable()
	for _, row := range rows {
		twin, found := table[row.Name]
		delete(table, row.Name)
		switch {
		case found != row.InPlugin:
			t.Errorf("feature %s: exists here: %v, expected %v", row.Name, found, row.InPlugin)
		case found && (twin.version != row.Version || twin.scope != row.Scope):
			t.Errorf("feature %s: got version %d and scope %q, expected %d and %q", row.Name, twin.version, twin.scope, row.Version, row.Scope)
		}
	}
	for name := range table {
		t.Errorf("feature %s is not in Python's table", name)
	}
}
