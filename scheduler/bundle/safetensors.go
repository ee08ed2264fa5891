package bundle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Limits of weights.safetensors, as on the Python side.
const (
	MaxWeightsBytes  = 64 << 20
	MaxHeaderBytes   = 1 << 20
	MaxTensors       = 1000
	MaxDimensions    = 4
	lengthBytes      = 8
	metadataKey      = "__metadata__"
	float32Type      = "F32"
	int32Type        = "I32"
	int64Type        = "I64"
	expectedTypes    = float32Type + ", " + int32Type + ", " + int64Type
	safetensorsLimit = "train a smaller network"
)

// Tensor holds numbers in row-major order: floats, or whole numbers.
type Tensor struct {
	Shape  []int
	Floats []float32
	Whole  []int64
}

// entry is what the header says about one tensor.
type entry struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// otherFormats are what people save models as, by the first bytes of the file.
var otherFormats = []struct{ magic, what string }{
	{"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write them"},
	{"\x80\x02", "a pickle"}, {"\x80\x03", "a pickle"}, {"\x80\x04", "a pickle"}, {"\x80\x05", "a pickle"},
	{"\x93NUMPY", "a NumPy file"},
	{"\x89HDF", "an HDF5 file"},
	{"\x1f\x8b", "a gzip archive"},
}

// ReadTensors returns the tensors of a safetensors file, copied from its bytes.
func ReadTensors(data []byte) (map[string]Tensor, error) {
	if len(data) > MaxWeightsBytes {
		return nil, errorf(safetensorsLimit, "the weights have %d bytes, expected at most %d", len(data), MaxWeightsBytes)
	}
	for _, other := range otherFormats {
		if bytes.HasPrefix(data, []byte(other.magic)) && !beginsAsOurs(data) {
			return nil, errorf("export the policy with `longshore train`", "the weights are %s, expected safetensors", other.what)
		}
	}
	start, err := dataStart(data)
	if err != nil {
		return nil, err
	}
	entries, err := readHeader(data[lengthBytes:start])
	if err != nil {
		return nil, err
	}
	names, err := checkRanges(entries, int64(len(data)-start))
	if err != nil {
		return nil, err
	}
	tensors := make(map[string]Tensor, len(names))
	for _, name := range names {
		one := entries[name]
		tensors[name] = decode(one, data[start+int(one.Offsets[0]):start+int(one.Offsets[1])])
	}
	return tensors, nil
}

// beginsAsOurs tells whether a length within the limit and a JSON object stand first, as in every safetensors file: a
// header of 640 bytes makes a length that begins as a pickle does.
func beginsAsOurs(data []byte) bool {
	return len(data) > lengthBytes && binary.LittleEndian.Uint64(data) <= MaxHeaderBytes && data[lengthBytes] == '{'
}

func dataStart(data []byte) (int, error) {
	if len(data) < lengthBytes {
		return 0, errorf(againHint, "the weights are cut off after %d bytes", len(data))
	}
	length := binary.LittleEndian.Uint64(data)
	if length > MaxHeaderBytes {
		return 0, errorf("the file is not safetensors, or not a policy's",
			"the weights' header claims %d bytes, expected at most %d", length, MaxHeaderBytes)
	}
	if uint64(len(data)-lengthBytes) < length {
		return 0, errorf(againHint, "the weights are cut off after %d bytes, inside their header", len(data))
	}
	return lengthBytes + int(length), nil
}

func readHeader(text []byte) (map[string]entry, error) {
	var raw map[string]json.RawMessage
	if err := strictly(text, &raw); err != nil {
		return nil, errorf(damagedHint, "the weights' header cannot be read: %v", err)
	}
	delete(raw, metadataKey)
	if len(raw) > MaxTensors {
		return nil, errorf(safetensorsLimit, "the weights hold %d tensors, expected at most %d", len(raw), MaxTensors)
	}
	entries := make(map[string]entry, len(raw))
	for name, text := range raw {
		var one entry
		if err := strictly(text, &one); err != nil {
			return nil, errorf(damagedHint, "the weights' header cannot be read: tensor `%s`: %v", name, err)
		}
		if len(one.Offsets) != 2 {
			return nil, errorf(damagedHint, "tensor `%s`: got %d data offsets, expected 2", name, len(one.Offsets))
		}
		entries[name] = one
	}
	return entries, nil
}

// strictly decodes JSON: unknown fields, fields named twice and fields that differ in case are errors.
func strictly(text []byte, into any) error {
	problems, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// checkRanges refuses types and shapes that are not ours, and byte ranges that do not cover the data exactly once. It
// returns the names in the order of the data.
func checkRanges(entries map[string]entry, numBytes int64) ([]string, error) {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if order := slices.Compare(entries[a].Offsets, entries[b].Offsets); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	position := int64(0)
	for _, name := range names {
		one := entries[name]
		size, err := sizeOf(name, one)
		if err != nil {
			return nil, err
		}
		if one.Offsets[0] != position || one.Offsets[1]-one.Offsets[0] != size {
			return nil, errorf(damagedHint, "tensor `%s`: got the bytes %d to %d for the shape %v, which does not fit",
				name, one.Offsets[0], one.Offsets[1], one.Shape)
		}
		position = one.Offsets[1]
		if position > numBytes {
			break
		}
	}
	if position != numBytes {
		what := "cut off"
		if numBytes > position {
			what = "longer than its header says"
		}
		return nil, errorf(againHint, "the weights are %s: got %d bytes of numbers, expected %d", what, numBytes, position)
	}
	return names, nil
}

// sizeOf returns the bytes of a tensor, or an error where its type or shape is not one of ours.
func sizeOf(name string, one entry) (int64, error) {
	size := int64(4)
	switch one.DType {
	case float32Type, int32Type:
	case int64Type:
		size = 8
	default:
		return 0, errorf("convert the tensors to float32",
			"tensor `%s`: got the type `%s`, expected one of: %s", name, one.DType, expectedTypes)
	}
	if len(one.Shape) > MaxDimensions {
		return 0, errorf(damagedHint, "tensor `%s`: got the shape %v, expected at most %d dimensions", name, one.Shape, MaxDimensions)
	}
	for _, length := range one.Shape {
		// Every factor is kept within the file's limit, so that the product cannot wrap.
		if length < 0 || length > MaxWeightsBytes {
			return 0, errorf(damagedHint, "tensor `%s`: got the shape %v", name, one.Shape)
		}
		if size *= length; size > MaxWeightsBytes {
			return 0, errorf(safetensorsLimit, "tensor `%s`: the shape %v takes more than %d bytes", name, one.Shape, MaxWeightsBytes)
		}
	}
	return size, nil
}

func decode(one entry, data []byte) Tensor {
	tensor := Tensor{Shape: make([]int, len(one.Shape))}
	for i, length := range one.Shape {
		tensor.Shape[i] = int(length)
	}
	switch one.DType {
	case float32Type:
		tensor.Floats = make([]float32, len(data)/4)
		for i := range tensor.Floats {
			tensor.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case int32Type:
		tensor.Whole = make([]int64, len(data)/4)
		for i := range tensor.Whole {
			tensor.Whole[i] = int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
	default:
		tensor.Whole = make([]int64, len(data)/8)
		for i := range tensor.Whole {
			tensor.Whole[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
	}
	return tensor
}
