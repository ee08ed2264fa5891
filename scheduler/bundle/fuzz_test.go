package bundle

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// seeds returns a file of every contract bundle, and parts of it.
func seeds(f *testing.F, file string) [][]byte {
	paths, err := filepath.Glob(filepath.Join(contractBundles, "*", file))
	if err != nil || len(paths) == 0 {
		f.Fatalf("got %v, %v", paths, err)
	}
	var found [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		found = append(found, data, data[:len(data)/2])
	}
	return found
}

// FuzzSafetensors: whatever the bytes, an error or tensors whose numbers are as many as their shapes say, and no more
// memory than the file is long.
func FuzzSafetensors(f *testing.F) {
	for _, data := range seeds(f, WeightsFile) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := ReadTensors(data)
		if err != nil {
			return
		}
		total := 0
		for name, tensor := range tensors {
			if want := size(tensor.Shape); len(tensor.Floats)+len(tensor.Whole) != want {
				t.Errorf("tensor %q: %d numbers for the shape %v", name, len(tensor.Floats)+len(tensor.Whole), tensor.Shape)
			}
			total += 4 * (len(tensor.Floats) + len(tensor.Whole))
		}
		if total > len(data) {
			t.Errorf("%d bytes of numbers from a file of %d", total, len(data))
		}
	})
}

// FuzzManifest: whatever the bytes, an error or a manifest whose facts about a bundle's files are within the limits.
func FuzzManifest(f *testing.F) {
	fact := `{"sha256": "` + strings.Repeat("8f", 32) + `", "size": 6788}`
	whole := `{"schema": 1, "name": "el-rl", "version": 2, "files": {"policy.json": ` + fact + `, "weights.safetensors": ` + fact + `}}`
	for _, text := range []string{
		whole, whole[:len(whole)/2], whole + "}", "", "null", "[]", `{"schema": 2}`, `{"schema": 1e400}`,
		strings.ReplaceAll(whole, "6788", "67108865"), strings.ReplaceAll(whole, "6788", "-1"), strings.ReplaceAll(whole, "8f", "8F"),
		strings.ReplaceAll(whole, "policy.json", "../policy.json"), strings.Repeat("[", 20000),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		manifest, err := ReadManifest(data)
		if err != nil {
			return
		}
		for file, most := range map[string]int64{PolicyFile: MaxPolicyBytes, WeightsFile: MaxWeightsBytes} {
			fact, isThere := manifest.Files[file]
			sum, err := hex.DecodeString(fact.SHA256)
			if !isThere || fact.Size < 1 || fact.Size > most || len(sum) != 32 || err != nil {
				t.Errorf("got %v for %s, expected what can be fetched", fact, file)
			}
		}
		text, err := json.Marshal(manifest)
		if again, failure := ReadManifest(text); err != nil || failure != nil || !reflect.DeepEqual(manifest, again) {
			t.Errorf("written and read again: got %v, %v and %v, expected %v", again, err, failure, manifest)
		}
	})
}

// FuzzPolicy: whatever the bytes, an error or a policy whose lists are as long as one another, and a network that is
// refused or has a shape for every value.
func FuzzPolicy(f *testing.F) {
	for _, data := range seeds(f, PolicyFile) {
		f.Add(data)
	}
	tensors := map[string]Tensor{}
	for _, data := range seeds(f, WeightsFile) {
		if found, err := ReadTensors(data); err == nil {
			for name, tensor := range found {
				tensors[name] = tensor
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		policy, err := ReadPolicy(bytes.Clone(data))
		if err != nil {
			return
		}
		if len(policy.Envelope.Low) != len(policy.Features) || len(policy.Envelope.High) != len(policy.Features) {
			t.Errorf("%d features, envelope of %d and %d", len(policy.Features), len(policy.Envelope.Low), len(policy.Envelope.High))
		}
		used := map[string]Tensor{}
		for _, op := range policy.Ops {
			for _, name := range op.Tensors {
				if tensor, found := tensors[name]; found {
					used[name] = tensor
				}
			}
		}
		shapes, err := checkNetwork(policy, used)
		if err != nil {
			return
		}
		for _, op := range policy.Ops {
			if shape, found := shapes[op.Output]; !found || shape.Width < 0 || shape.Width > MaxWidth {
				t.Errorf("value %q has the shape %v", op.Output, shape)
			}
		}
	})
}
