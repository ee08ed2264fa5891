package longshore

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"longshore.dev/scheduler/bundle"
	"longshore.dev/scheduler/inference"
)

func TestABundleIsFetchedAndFollowed(t *testing.T) {
	for _, hasTags := range []bool{true, false} {
		s := newShelf(t, httptest.NewServer)
		s.hasTags = hasTags
		s.put("first", 1)
		f := follow(t, s.URL, t.TempDir())
		f.update(context.Background())
		if !f.uses("first") || f.problem.Load() != nil || f.polls(t, resultUpdated) != 1 {
			t.Fatalf("got %q and %v, expected the first bundle", f.sha256(), f.problem.Load())
		}
		before := s.requests.Load()
		f.next()
		if asked := s.requests.Load() - before; asked != 1 || f.polls(t, resultUnchanged) != 1 || (s.unread.Load() == 1) != hasTags {
			t.Errorf("tags %v: got %d requests, %d answered with 304", hasTags, asked, s.unread.Load())
		}
		s.put("second", 2)
		f.next()
		if !f.uses("second") || f.inUse(t, sha256Of("first")) != 0 || f.inUse(t, sha256Of("second")) != 1 {
			t.Errorf("got %q, expected the second bundle alone in use", f.sha256())
		}
		s.put("first", 1)
		f.next()
		if !f.uses("first") {
			t.Errorf("got %q, expected the first bundle, promoted again", f.sha256())
		}
	}
}

func TestTheRegistryIsAskedOnceInAnInterval(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	s.put("first", 1)
	f := follow(t, s.URL, t.TempDir())
	f.update(context.Background())
	before := s.requests.Load()
	f.clock.Step(47 * time.Second)
	f.update(context.Background())
	if got := s.requests.Load(); got != before {
		t.Errorf("got %d requests after 47 s, expected none", got-before)
	}
	f.clock.Step(26 * time.Second)
	f.update(context.Background())
	if got := s.requests.Load(); got != before+1 {
		t.Errorf("got %d requests after 73 s, expected 1", got-before)
	}
}

func TestARegistryThatIsWellAgainIsBelieved(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	s.put("first", 1)
	f := follow(t, s.URL, t.TempDir())
	f.update(context.Background())
	s.spoil = func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusInternalServerError) }
	f.next()
	s.spoil = nil
	f.next()
	if f.problem.Load() != nil {
		t.Errorf("got the problem %v, expected none", f.problem.Load())
	}
	s.put("bad", 2)
	f.next()
	s.spoil = func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusInternalServerError) }
	f.next()
	s.spoil = nil
	f.next()
	if problem := f.problem.Load(); problem == nil || problem.reason != inference.BadBundle {
		t.Errorf("got the problem %v, expected that version 2 is bad, as before", problem)
	}
}

// TestARefusedBundleIsFetchedAgainWithOtherWeights: its policy.json may be right, and beside another bundle's weights.
func TestARefusedBundleIsFetchedAgainWithOtherWeights(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	f := follow(t, s.URL, t.TempDir())
	inner := f.load
	f.load = func(folder string) (*policy, error) {
		if weights, _ := os.ReadFile(filepath.Join(folder, bundleFiles[1])); string(weights) == "mixed" {
			return nil, errors.New("their SHA-256 differ")
		}
		return inner(folder)
	}
	s.put("second", 2)
	s.files[bundleFiles[1]] = "mixed"
	s.change(func(m *bundle.Manifest) {
		m.Files[bundleFiles[1]] = bundle.FileFact{SHA256: sha256Of("mixed"), Size: 5}
	})
	f.next()
	f.next()
	if f.current.Load() != nil || f.polls(t, resultRejected) != 1 || f.polls(t, resultUnchanged) != 1 {
		t.Fatalf("got %q and %v, expected a bundle that is refused, and fetched once", f.sha256(), f.problem.Load())
	}
	s.put("second", 2)
	f.next()
	if !f.uses("second") || f.problem.Load() != nil {
		t.Errorf("got %q and %v, expected the mended bundle", f.sha256(), f.problem.Load())
	}
}

func TestAPromotionBetweenManifestAndFilesIsFollowed(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	s.put("first", 1)
	s.spoil = func(out http.ResponseWriter, request *http.Request) {
		s.serve(out, request)
		if strings.HasSuffix(request.URL.Path, bundle.ManifestFile) {
			s.put("second", 2)
		}
	}
	f := follow(t, s.URL, t.TempDir())
	f.update(context.Background())
	if !f.uses("second") || f.failures(t) != 0 {
		t.Errorf("got %q and %v, expected the second bundle without a failure", f.sha256(), f.problem.Load())
	}
}

func TestTheLastGoodBundleOutlivesTheProcess(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), t.TempDir()
	s.put("first", 1)
	follow(t, s.URL, cache).update(context.Background())
	s.put("bad", 2)
	before := follow(t, s.URL, cache)
	before.update(context.Background())
	before.next()
	s.Close()
	f := follow(t, s.URL, cache)
	f.update(context.Background())
	if !f.uses("first") || f.failures(t) != 0 {
		t.Fatalf("got %q and %v, expected the first bundle, and the registry not yet asked", f.sha256(), f.problem.Load())
	}
	f.update(context.Background())
	if !f.uses("first") || f.polls(t, resultUnreachable) != 1 {
		t.Errorf("got %q and %v, expected the first bundle and an unreachable registry", f.sha256(), f.problem.Load())
	}
}

func TestACacheOfAnotherAddressIsNotTaken(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), t.TempDir()
	s.put("first", 1)
	follow(t, s.URL, cache).update(context.Background())
	f := follow(t, s.URL, cache, func(r *RegistryArguments) { r.URL += "-other" })
	f.update(context.Background())
	if f.current.Load() != nil || !strings.Contains(f.problem.Load().text, "got 404") {
		t.Errorf("got %q and %v, expected none", f.sha256(), f.problem.Load())
	}
}

func TestADamagedCacheIsFetchedAgain(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), t.TempDir()
	s.put("first", 1)
	before := follow(t, s.URL, cache)
	before.update(context.Background())
	writeFile(t, filepath.Join(before.folder, bundleFiles[0]), "other")
	f := follow(t, s.URL, cache)
	f.update(context.Background())
	if !f.uses("first") || f.failures(t) != 1 || f.polls(t, resultUpdated) != 1 {
		t.Errorf("got %q and %v, expected the first bundle, fetched again", f.sha256(), f.problem.Load())
	}
}

func TestAFetchedBundleIsTakenBack(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), t.TempDir()
	s.put("good", 1)
	f := follow(t, s.URL, cache)
	f.update(context.Background())
	f.current.Load().isProven.Store(true)
	s.put("NaN weights", 2)
	s.hasTags = false // only the checksum tells then that it is the same
	f.next()
	f.takeBack(f.current.Load(), inference.NotFinite, noNumbers(f.current.Load(), errors.New("node-1: NaN")))
	f.next()
	f.next()
	if !f.uses("good") || f.problem.Load().reason != inference.NotFinite || f.polls(t, resultUpdated) != 2 || f.failures(t) != 1 {
		t.Errorf("got %q and %v, expected the bundle before, and no other fetched", f.sha256(), f.problem.Load())
	}
	restarted := follow(t, s.URL, cache)
	restarted.update(context.Background())
	if !restarted.uses("good") {
		t.Errorf("after a restart: got %q, expected the bundle before", restarted.sha256())
	}
	s.put("mended", 3)
	f.next()
	if !f.uses("mended") || f.problem.Load() != nil {
		t.Errorf("got %q and %v, expected the next one", f.sha256(), f.problem.Load())
	}
}

func TestWithoutAWritableCacheTheOldPolicyStays(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), filepath.Join(t.TempDir(), "file")
	writeFile(t, cache, "in the way")
	s.put("first", 1)
	f := follow(t, s.URL, cache)
	f.update(context.Background())
	if f.current.Load() != nil || f.polls(t, resultNotKept) != 1 {
		t.Errorf("got %q and %v, expected none and the reason", f.sha256(), f.problem.Load())
	}
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	f.next()
	if !f.uses("first") {
		t.Errorf("got %v, expected the first bundle as soon as it can be kept", f.problem.Load())
	}
}

func TestTheTokenIsSentAndReadAnew(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	s.put("first", 1)
	s.spoil = func(out http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Authorization") != "Bearer geheim" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.serve(out, request)
	}
	token := filepath.Join(t.TempDir(), "token")
	f := follow(t, s.URL, t.TempDir(), func(r *RegistryArguments) { r.TokenFile = token })
	for _, step := range []struct{ text, result, says string }{
		{"", resultUnreachable, "registry.tokenFile: "},
		{"two words", resultUnreachable, "does not hold one word"},
		{"outdated", resultRefused, "got 401"},
		{"geheim\n", resultUpdated, ""},
	} {
		if step.text != "" {
			writeFile(t, token, step.text)
		}
		before := f.polls(t, step.result)
		f.next()
		if got := f.polls(t, step.result) - before; got != 1 {
			t.Errorf("token %q: got %v, expected %s", step.text, f.problem.Load(), step.result)
		}
		if problem := f.problem.Load(); problem != nil && (strings.Contains(problem.text, "outdated") || !strings.Contains(problem.text, step.says)) {
			t.Errorf("token %q: got %q, expected %q and not the token", step.text, problem.text, step.says)
		}
	}
	if !f.uses("first") {
		t.Errorf("got %q, expected the first bundle", f.sha256())
	}
}

func TestOnlyTrustedServersAreBelieved(t *testing.T) {
	s := newShelf(t, httptest.NewTLSServer)
	s.put("first", 1)
	authorities := filepath.Join(t.TempDir(), "ca.crt")
	f := follow(t, s.URL, t.TempDir())
	f.update(context.Background())
	if f.current.Load() != nil || f.polls(t, resultUnreachable) != 1 {
		t.Fatalf("got %q and %v, expected that the system's authorities do not know it", f.sha256(), f.problem.Load())
	}
	f = follow(t, s.URL, t.TempDir(), func(r *RegistryArguments) { r.CAFile = authorities })
	writeFile(t, authorities, "no certificate")
	f.next()
	if problem := f.problem.Load(); problem == nil || !strings.Contains(problem.text, "has no certificate in it") {
		t.Errorf("got %v, expected a sentence about the file", problem)
	}
	block := &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}
	writeFile(t, authorities, string(pem.EncodeToMemory(block)))
	f.next()
	if !f.uses("first") {
		t.Errorf("got %v, expected the first bundle", f.problem.Load())
	}
}

func TestOldBundlesLeaveTheCache(t *testing.T) {
	s, cache := newShelf(t, httptest.NewServer), t.TempDir()
	f := follow(t, s.URL, cache)
	for version, text := range []string{"a", "b", "c", "d"} {
		s.put(text, version+1)
		f.next()
	}
	names, err := filepath.Glob(filepath.Join(f.registry.cache.folder, "*"))
	parts, _ := filepath.Glob(filepath.Join(f.registry.cache.folder, ".*"))
	if err != nil || len(names) != 3 || len(parts) != 0 {
		t.Errorf("got %v and %v, expected the last two and the link", names, parts)
	}
}

// TestPodsAreRankedWhileTheRegistryIsAway asks a registry that never had a bundle for one, and schedules meanwhile.
func TestPodsAreRankedWhileTheRegistryIsAway(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	f := newFixture(t, func(a *Arguments) {
		a.ModelPath = ""
		a.Registry = RegistryArguments{
			URL: s.URL + "/models/el-rl/live/", CacheFolder: t.TempDir(), PollInterval: metav1.Duration{Duration: time.Minute},
		}
	})
	f.plugin.models.replace(nil)
	// Time passes again and again: several loops wait for the clock, and a step before the registry's own does is lost on it.
	eventually(t, func() bool {
		f.clock.Step(2 * time.Minute)
		return f.plugin.models.problem.Load() != nil
	})
	if got := f.place(t); got != "node-0" {
		t.Errorf("got %s, expected node-0, stock's best", got)
	}
	if said := f.said(); f.fallbacks(t, modelMissing) != 1 || !strings.Contains(said, "got 404") {
		t.Errorf("got %q, expected model-missing with the registry's answer", said)
	}
}

// eventually waits for what the background does.
func eventually(t *testing.T, isTrue func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !isTrue(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("not within 10 s")
		}
	}
}
