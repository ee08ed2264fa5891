package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const contractBundles = "../../contract/bundles"

// files returns a good bundle's files.
func files(t testing.TB, name string) (policy, weights []byte) {
	t.Helper()
	for file, into := range map[string]*[]byte{PolicyFile: &policy, WeightsFile: &weights} {
		data, err := os.ReadFile(filepath.Join(contractBundles, name, file))
		if err != nil {
			t.Fatal(err)
		}
		*into = data
	}
	return policy, weights
}

// changed returns policy.json with some fields replaced; nil takes a field away.
func changed(t testing.TB, policy []byte, fields map[string]any) []byte {
	t.Helper()
	document := map[string]any{}
	if err := json.Unmarshal(policy, &document); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if value == nil {
			delete(document, name)
		} else {
			document[name] = value
		}
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signed returns policy.json with the hash of other weights.
func signed(t testing.TB, policy, weights []byte) []byte {
	sum := sha256.Sum256(weights)
	return changed(t, policy, map[string]any{"weights_sha256": hex.EncodeToString(sum[:])})
}

// tensorFile returns the bytes of a safetensors file with this header.
func tensorFile(header string, numbers []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(length, header...), numbers...)
}

func TestReadTakesEveryContractBundle(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(contractBundles, "*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("got %v, %v", folders, err)
	}
	for _, folder := range folders {
		read, err := Read(folder)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		text, _ := os.ReadFile(filepath.Join(folder, PolicyFile))
		sum := sha256.Sum256(text)
		if want := hex.EncodeToString(sum[:]); read.SHA256 != want {
			t.Errorf("%s: SHA-256 %s, want %s", folder, read.SHA256, want)
		}
	}
}

func TestReadNamesTheFileThatIsMissing(t *testing.T) {
	_, err := Read(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), PolicyFile) {
		t.Errorf("got %v, want an error that names %s", err, PolicyFile)
	}
}

func TestParseRefusesBadPolicies(t *testing.T) {
	policy, weights := files(t, "linear")
	var features []string
	var document struct {
		Features []string `json:"features"`
	}
	if err := json.Unmarshal(policy, &document); err != nil {
		t.Fatal(err)
	}
	features = document.Features
	ends := func(low float64) map[string]any {
		values := make([]float64, len(features))
		values[0] = low
		return map[string]any{"low": values, "high": make([]float64, len(features))}
	}
	op := func(kind string, inputs []string, tensors []string) map[string]any {
		return map[string]any{"kind": kind, "inputs": inputs, "output": "score", "tensors": tensors}
	}
	tests := map[string]struct {
		fields map[string]any
		want   string
	}{
		"another format":           {map[string]any{"format": 3}, "format version 3, expected 1 or 2"},
		"no format":                {map[string]any{"format": nil}, "no field `format`"},
		"an unknown field":         {map[string]any{"surprise": 1}, "surprise"},
		"no name":                  {map[string]any{"name": nil}, "no field `name`"},
		"a name of two lines":      {map[string]any{"name": "a\nb"}, "printable"},
		"no features":              {map[string]any{"features": []string{}}, "0 features"},
		"other features":           {map[string]any{"features": []string{"node_cpu_used@1"}}, "feature hash"},
		"a feature twice":          {map[string]any{"features": []string{"a@1", "a@1"}}, "twice"},
		"a feature without number": {map[string]any{"features": []string{"a"}}, "name@version"},
		"a short envelope":         {map[string]any{"envelope": map[string]any{"low": []float64{0}, "high": []float64{1}}}, "envelope of 1"},
		"an envelope upside down":  {map[string]any{"envelope": ends(1)}, "in this order"},
		"a weight below 0":         {map[string]any{"preference": []any{map[string]any{"term": "ee", "weight": -1}}}, "0 or more"},
		"a tolerance below 0":      {map[string]any{"tie_tolerance": -1}, "tie tolerance"},
		"a number of nodes":        {map[string]any{"num_nodes": 4}, "expected null"},
		"too many nodes":           {map[string]any{"num_nodes": 20_000}, "expected 1 to"},
		"an unknown operation":     {map[string]any{"ops": []any{op("dream", []string{"rows"}, []string{"score.weight", "score.bias"})}}, "no such operation"},
		"no operation":             {map[string]any{"ops": []any{}}, "do not belong"},
		"a value from nowhere":     {map[string]any{"ops": []any{op("linear", []string{"x"}, []string{"score.weight", "score.bias"})}}, "nothing before it writes"},
		"a value written twice": {map[string]any{"ops": []any{
			op("relu", []string{"rows"}, []string{}), op("linear", []string{"rows"}, []string{"score.weight", "score.bias"}),
		}}, "which an operation before it writes"},
		"the load written": {map[string]any{"ops": []any{
			map[string]any{"kind": "relu", "inputs": []string{"rows"}, "output": "load", "tensors": []string{}},
			op("linear", []string{"rows"}, []string{"score.weight", "score.bias"}),
		}}, "which is an input"},
		"tensors of another shape": {map[string]any{"ops": []any{op("linear", []string{"pod_kind"}, []string{"score.weight", "score.bias"})}}, "got tensors"},
		"a tensor that is missing": {map[string]any{"ops": []any{op("linear", []string{"rows"}, []string{"a", "b"})}}, "lack `a`"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(changed(t, policy, test.fields), weights)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func loadScale(over float64) map[string]float64 {
	return map[string]float64{
		"cpu_beforehand": 0.1, "gpus_beforehand": 0.1, "scarce_from": 0.5, "scarce_over": over, "little_below": 0.1,
	}
}

func TestParseRefusesBadLoadScales(t *testing.T) {
	policy, weights := files(t, "kinds-load")
	for name, test := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"none":           {map[string]any{"load": nil}, "expected one where the network reads `load`"},
		"a width of 0":   {map[string]any{"load": loadScale(0)}, "above 0"},
		"a part of it":   {map[string]any{"load": map[string]float64{"scarce_over": 1}}, "above 0"},
		"one more field": {map[string]any{"load": map[string]float64{"colour": 1}}, "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(changed(t, policy, test.fields), weights); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestParseRefusesALoadScaleThatNothingReads(t *testing.T) {
	policy, weights := files(t, "linear")
	for format, want := range map[int]string{1: "field `load` in format 1", 2: "and only there"} {
		_, err := Parse(changed(t, policy, map[string]any{"load": loadScale(1), "format": format}), weights)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: got %v, want %q in it", format, err, want)
		}
	}
}

func TestFormat1MeansTheLoadScaleThatItDoesNotName(t *testing.T) {
	policy, weights := files(t, "kinds-load")
	read, err := Parse(changed(t, policy, map[string]any{"load": nil, "format": 1}), weights)
	if err != nil {
		t.Fatal(err)
	}
	if want := (LoadScale{0.024, 0.03, 0.9, 0.15, 0.1}); *read.Policy.Load != want {
		t.Errorf("got %v, want %v", *read.Policy.Load, want)
	}
}

func TestParseRefusesBadWeights(t *testing.T) {
	policy, weights := files(t, "linear")
	notANumber := bytes.Clone(weights)
	binary.LittleEndian.PutUint32(notANumber[len(notANumber)-4:], math.Float32bits(float32(math.NaN())))
	tests := map[string]struct {
		weights []byte
		want    string
	}{
		"none":                      {nil, "cut off after 0 bytes"},
		"truncated in the header":   {weights[:20], "inside their header"},
		"truncated in the numbers":  {weights[:len(weights)-4], "cut off"},
		"longer than it says":       {append(bytes.Clone(weights), 0, 0, 0, 0), "longer than its header says"},
		"a header without end":      {bytes.Repeat([]byte{0xff}, 64), "expected at most"},
		"too large":                 {make([]byte, MaxWeightsBytes+1), "expected at most"},
		"a pickle":                  {[]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00."), "a pickle"},
		"a zip archive":             {[]byte("PK\x03\x04..........."), "a zip archive"},
		"a header that is no JSON":  {tensorFile("{nonsense", nil), "cannot be read"},
		"a field of another kind":   {tensorFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`, make([]byte, 4)), "cannot be read"},
		"another type":              {tensorFile(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)), "F16"},
		"a negative shape":          {tensorFile(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, make([]byte, 4)), "got the shape"},
		"a shape that wraps around": {tensorFile(`{"a":{"dtype":"F32","shape":[67108864,67108864,67108864,4],"data_offsets":[0,4]}}`, make([]byte, 4)), "takes more than"},
		"a shape that does not fit": {tensorFile(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)), "does not fit"},
		"a gap":                     {tensorFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)), "does not fit"},
		"one offset":                {tensorFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}`, make([]byte, 4)), "data offsets"},
		"numbers that are none":     {notANumber, "not finite"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(signed(t, policy, test.weights), test.weights)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestParseRefusesFilesOfTwoBundles(t *testing.T) {
	policy, _ := files(t, "deepsets")
	_, weights := files(t, "gnn")
	if _, err := Parse(policy, weights); err == nil || !strings.Contains(err.Error(), "SHA-256 differ") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefusesAnOversizedPolicy(t *testing.T) {
	policy, weights := files(t, "linear")
	padded := append(bytes.Clone(policy), bytes.Repeat([]byte(" "), MaxPolicyBytes)...)
	if _, err := Parse(padded, weights); err == nil || !strings.Contains(err.Error(), "expected at most") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefusesValuesThatGrowWithoutEnd(t *testing.T) {
	policy, weights := files(t, "linear")
	ops := []any{}
	last := "rows"
	for _, name := range strings.Split("abcdefghijklmnop", "") {
		ops = append(ops, map[string]any{"kind": "concat", "inputs": []string{last, last}, "output": name, "tensors": []string{}})
		last = name
	}
	var document struct {
		Ops []any `json:"ops"`
	}
	if err := json.Unmarshal(policy, &document); err != nil {
		t.Fatal(err)
	}
	wide := changed(t, policy, map[string]any{"ops": append(ops, document.Ops...)})
	if _, err := Parse(wide, weights); err == nil || !strings.Contains(err.Error(), "wide") {
		t.Errorf("got %v", err)
	}
}
