package longshore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"longshore.dev/scheduler/bundle"
)

// shelf is a registry's server that a test puts bundles on, and that can be told to misbehave.
type shelf struct {
	*httptest.Server
	files    map[string]string
	hasTags  bool
	spoil    http.HandlerFunc // nil = answer
	requests atomic.Int32
	unread   atomic.Int32 // answered with 304
}

func newShelf(t *testing.T, start func(http.Handler) *httptest.Server) *shelf {
	t.Helper()
	s := &shelf{files: map[string]string{}, hasTags: true}
	s.Server = start(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) answer(out http.ResponseWriter, request *http.Request) {
	s.requests.Add(1)
	if s.spoil != nil {
		s.spoil(out, request)
		return
	}
	s.serve(out, request)
}

func (s *shelf) serve(out http.ResponseWriter, request *http.Request) {
	text, isThere := s.files[strings.TrimPrefix(request.URL.Path, "/models/el-rl/live/")]
	if !isThere {
		http.NotFound(out, request)
		return
	}
	tag := `"` + sha256Of(text) + `"`
	if s.hasTags {
		out.Header().Set("ETag", tag)
		if request.Header.Get("If-None-Match") == tag {
			s.unread.Add(1)
			out.WriteHeader(http.StatusNotModified)
			return
		}
	}
	_, _ = out.Write([]byte(text))
}

// put makes a bundle the live one; makeModels' loader takes the text for its SHA-256, and `bad` cannot be read.
func (s *shelf) put(text string, version int) {
	facts := map[string]bundle.FileFact{}
	for _, file := range bundleFiles {
		s.files[file] = text
		facts[file] = bundle.FileFact{SHA256: sha256Of(text), Size: int64(len(text))}
	}
	data, _ := json.Marshal(bundle.Manifest{Schema: 1, Name: "el-rl", Version: version, Files: facts})
	s.files[bundle.ManifestFile] = string(data)
}

func (s *shelf) change(change func(*bundle.Manifest)) {
	var said bundle.Manifest
	_ = json.Unmarshal([]byte(s.files[bundle.ManifestFile]), &said)
	change(&said)
	data, _ := json.Marshal(said)
	s.files[bundle.ManifestFile] = string(data)
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// follower is models that follow a shelf, polled by the test.
type follower struct {
	*models
	clock *clocktesting.FakeClock
}

func follow(t *testing.T, address, cache string, changes ...func(*RegistryArguments)) *follower {
	t.Helper()
	made := makeModels(t)
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	arguments := Arguments{Registry: RegistryArguments{
		URL: address + "/models/el-rl/live", CacheFolder: cache, PollInterval: metav1.Duration{Duration: time.Minute},
	}}
	for _, change := range changes {
		change(&arguments.Registry)
	}
	inner := made.load
	load := func(folder string) (*policy, error) {
		loaded, err := inner(folder)
		if err == nil {
			loaded.sha256 = sha256Of(loaded.sha256)
		}
		return loaded, err
	}
	f := &follower{newModels(arguments, load, made.metrics, made.logger, clock), clock}
	f.registry.fetcher.timeout, f.registry.fetcher.answers = 300*time.Millisecond, 200*time.Millisecond
	return f
}

// next polls when it is time again.
func (f *follower) next() {
	f.clock.Step(2 * time.Minute)
	f.update(context.Background())
}

func (f *follower) polls(t *testing.T, result string) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(f.metrics.registryPolls(result))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func (f *follower) uses(text string) bool { return f.sha256() == sha256Of(text) }
