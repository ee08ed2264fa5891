package bundle

import (
	"encoding/json"
	"regexp"
)

const (
	// ManifestFile says what a version in a registry is made of.
	ManifestFile = "manifest.json"
	// MaxManifestBytes is far above what a registry writes.
	MaxManifestBytes = 64 << 10
	manifestSchema   = 1
)

var sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Manifest is what a registry says about a version; store/models.py writes it. Other fields may come later.
type Manifest struct {
	Schema  int                 `json:"schema"`
	Name    string              `json:"name"`
	Version int                 `json:"version"`
	Files   map[string]FileFact `json:"files"`
}

// FileFact is what a manifest says about a file.
type FileFact struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// ReadManifest refuses what is no manifest of a bundle, before anything that it names is fetched.
func ReadManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, errorf("", "got %d bytes that are no manifest: %v", len(data), err)
	}
	if m.Schema != manifestSchema {
		return Manifest{}, errorf("", "got the schema %d, expected %d", m.Schema, manifestSchema)
	}
	for _, one := range []struct {
		file string
		most int64
	}{{PolicyFile, MaxPolicyBytes}, {WeightsFile, MaxWeightsBytes}} {
		fact, isThere := m.Files[one.file]
		switch {
		case !isThere:
			return Manifest{}, errorf("", "it names no `%s`", one.file)
		case !sha256Pattern.MatchString(fact.SHA256):
			return Manifest{}, errorf("", "`%s`: got the SHA-256 %.80q, expected 64 hexadecimal digits", one.file, fact.SHA256)
		case fact.Size < 1 || fact.Size > one.most:
			return Manifest{}, errorf("", "`%s`: got a size of %d bytes, expected 1 to %d", one.file, fact.Size, one.most)
		}
	}
	return m, nil
}
