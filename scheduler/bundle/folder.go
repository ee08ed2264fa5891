package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a bundle; the model card beside them is for people.
const (
	PolicyFile  = "policy.json"
	WeightsFile = "weights.safetensors"
)

// Bundle is a policy that has passed all checks.
type Bundle struct {
	Policy  *Policy
	Tensors map[string]Tensor
	// Shapes of all values of the network, by name.
	Shapes map[string]Shape
	// SHA256 is that of policy.json, which itself names the SHA-256 of the weights.
	SHA256 string
}

// Read reads a bundle's folder.
func Read(folder string) (*Bundle, error) {
	policy, err := readLimited(folder, PolicyFile, MaxPolicyBytes)
	if err != nil {
		return nil, err
	}
	weights, err := readLimited(folder, WeightsFile, MaxWeightsBytes)
	if err != nil {
		return nil, err
	}
	return Parse(policy, weights)
}

// Parse checks the bytes of a bundle's files.
func Parse(policyText, weights []byte) (*Bundle, error) {
	policy, err := ReadPolicy(policyText)
	if err != nil {
		return nil, err
	}
	tensors, err := ReadTensors(weights)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(weights); hex.EncodeToString(sum[:]) != *policy.WeightsSHA256 {
		return nil, errorf("copy the whole bundle again from where it was made; do not mix files of several bundles",
			"`%s` is not the file that `%s` was written with: their SHA-256 differ", WeightsFile, PolicyFile)
	}
	shapes, err := checkNetwork(policy, tensors)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(policyText)
	return &Bundle{Policy: policy, Tensors: tensors, Shapes: shapes, SHA256: hex.EncodeToString(sum[:])}, nil
}

// readLimited reads a file, and one byte beyond the limit at most: what is larger is refused by its reader.
func readLimited(folder, name string, most int64) ([]byte, error) {
	path := filepath.Join(folder, name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errorf("a bundle is a folder with `"+PolicyFile+"` and `"+WeightsFile+"`", "`%s` is not there", path)
	}
	if err != nil {
		return nil, errorf("", "`%s` cannot be opened: %v", path, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, errorf("", "`%s` cannot be read: %v", path, err)
	}
	return data, nil
}
