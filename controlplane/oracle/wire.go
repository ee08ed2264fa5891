package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	jsoniter "github.com/json-iterator/go"
)

// caseInput is a case as it arrives; the objects are decoded one by one, so that an error can name the object.
type caseInput struct {
	ID    json.RawMessage   `json:"id"`
	Pod   json.RawMessage   `json:"pod"`
	Items []json.RawMessage `json:"items"`
}

// rejection is why a node, or the pod as a whole, was refused.
type rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// pluginScores are one plugin's scores by node name; normalized is before the plugin's weight.
type pluginScores struct {
	Raw        map[string]int64 `json:"raw"`
	Normalized map[string]int64 `json:"normalized"`
}

// answer is what goes out for one case; its maps are never nil.
type answer struct {
	ID        json.RawMessage          `json:"id"`
	Prefilter *rejection               `json:"prefilter"`
	Nodes     map[string]*rejection    `json:"nodes"`
	Scores    map[string]*pluginScores `json:"scores"`
	Totals    map[string]int64         `json:"totals"`
	Error     *string                  `json:"error"`
	// Seconds is what upstream's filter and score phases took; only with -timed, since it differs from run to run.
	Seconds *float64 `json:"seconds,omitempty"`
}

func newAnswer(id json.RawMessage) *answer {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return &answer{
		ID:     id,
		Nodes:  map[string]*rejection{},
		Scores: map[string]*pluginScores{},
		Totals: map[string]int64{},
	}
}

func errorAnswer(id json.RawMessage, err error) *answer {
	text := err.Error()
	out := newAnswer(id)
	out.Error = &text
	return out
}

// encode gives the answer as one line.
func (a *answer) encode() ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// cluster is a decoded case.
type cluster struct {
	pod     *corev1.Pod
	nodes   []*corev1.Node
	pods    []*corev1.Pod
	objects map[string][]any // by kind: what the plugins read through listers
	seen    map[string]bool
}

// kinds maps "apiVersion kind" to what decodes an object of it.
var kinds = map[string]func([]byte) (metav1.Object, error){
	"v1 Node":                        decodeObject[corev1.Node],
	"v1 Pod":                         decodeObject[corev1.Pod],
	"v1 Namespace":                   decodeObject[corev1.Namespace],
	"v1 Service":                     decodeObject[corev1.Service],
	"v1 ReplicationController":       decodeObject[corev1.ReplicationController],
	"v1 PersistentVolume":            decodeObject[corev1.PersistentVolume],
	"v1 PersistentVolumeClaim":       decodeObject[corev1.PersistentVolumeClaim],
	"apps/v1 ReplicaSet":             decodeObject[appsv1.ReplicaSet],
	"apps/v1 StatefulSet":            decodeObject[appsv1.StatefulSet],
	"storage.k8s.io/v1 StorageClass": decodeObject[storagev1.StorageClass],
}

// decodeCase reads a line. The identifier is returned whenever it could be read, even with an error.
func decodeCase(line []byte) (json.RawMessage, *cluster, error) {
	var input caseInput
	if err := decodeStrictly(line, &input); err != nil {
		return input.ID, nil, fmt.Errorf("case: %w", err)
	}
	if isAbsent(input.Pod) {
		return input.ID, nil, errors.New(`case: got no "pod", expected the pod to place`)
	}
	out := &cluster{pod: &corev1.Pod{}, objects: map[string][]any{}, seen: make(map[string]bool, len(input.Items))}
	if err := decodeStrictly(input.Pod, out.pod); err != nil {
		return input.ID, nil, fmt.Errorf("pod: %w", err)
	}
	if kind := out.pod.APIVersion + " " + out.pod.Kind; kind != " " && kind != "v1 Pod" {
		return input.ID, nil, fmt.Errorf("pod: got %q, expected apiVersion v1 and kind Pod", strings.TrimSpace(kind))
	}
	for i, raw := range input.Items {
		if err := out.add(raw); err != nil {
			return input.ID, nil, fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return input.ID, out, nil
}

func isAbsent(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// fastDecoder takes a third of the time of the API server's decoder. Decoding is most of the work on a case.
var fastDecoder = jsoniter.Config{CaseSensitive: true, DisallowUnknownFields: true}.Froze()

// decodeStrictly refuses misspelt fields, as a case with one would prove nothing. What the fast decoder refuses is left
// to the API server's own decoder, which names the field.
func decodeStrictly[T any](raw []byte, into *T) error {
	if fastDecoder.Unmarshal(raw, into) == nil {
		return nil
	}
	*into = *new(T)
	strictErrors, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		return err
	}
	return errors.Join(strictErrors...)
}

// decodeObject decodes into a new T.
func decodeObject[T any, Object interface {
	*T
	metav1.Object
}](raw []byte) (metav1.Object, error) {
	object := Object(new(T))
	return object, decodeStrictly(raw, (*T)(object))
}

// typeOf reads an object's apiVersion and kind, and no further than it must.
func typeOf(raw []byte) (apiVersion, kind string, err error) {
	iterator := fastDecoder.BorrowIterator(raw)
	defer fastDecoder.ReturnIterator(iterator)
	iterator.ReadObjectCB(func(iterator *jsoniter.Iterator, field string) bool {
		switch field {
		case "apiVersion":
			apiVersion = iterator.ReadString()
		case "kind":
			kind = iterator.ReadString()
		default:
			iterator.Skip()
		}
		return apiVersion == "" || kind == ""
	})
	if iterator.Error != nil && (apiVersion == "" || kind == "") {
		return "", "", iterator.Error
	}
	return apiVersion, kind, nil
}

func (c *cluster) add(raw json.RawMessage) error {
	apiVersion, kind, err := typeOf(raw)
	if err != nil {
		return err
	}
	decode, ok := kinds[apiVersion+" "+kind]
	if !ok {
		return fmt.Errorf("got apiVersion %q and kind %q, expected one of: %s", apiVersion, kind, strings.Join(knownKinds(), ", "))
	}
	object, err := decode(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s: got no metadata.name", kind)
	}
	key := kind + " " + object.GetNamespace() + "/" + object.GetName()
	if c.seen[key] {
		return fmt.Errorf("got %s twice, expected every object once", key)
	}
	c.seen[key] = true
	switch object := object.(type) {
	case *corev1.Node:
		c.nodes = append(c.nodes, object)
	case *corev1.Pod:
		c.pods = append(c.pods, object)
	default:
		c.objects[kind] = append(c.objects[kind], object)
	}
	return nil
}

func knownKinds() []string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
