package longshore

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// registryFault is what can go wrong at the server's side, with how it is counted and what is said.
type registryFault struct {
	spoil        func(s *shelf)
	result, text string
}

func onStatus(code int) func(*shelf) {
	return onFile("", func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(code) })
}

// onFile answers requests for a file in another way, "" = all requests.
func onFile(file string, answer http.HandlerFunc) func(*shelf) {
	return func(s *shelf) {
		s.spoil = func(out http.ResponseWriter, request *http.Request) {
			if strings.HasSuffix(request.URL.Path, file) {
				answer(out, request)
			} else {
				s.serve(out, request)
			}
		}
	}
}

// onFact changes what the manifest says about the weights.
func onFact(change func(*manifestFact)) func(*shelf) {
	return func(s *shelf) {
		s.change(func(m *manifest) {
			fact := m.Files[bundleFiles[1]]
			change(&fact)
			m.Files[bundleFiles[1]] = fact
		})
	}
}

func answerHalf(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Length", "6")
	_, _ = out.Write([]byte("sec"))
}

func answerSlowly(out http.ResponseWriter, request *http.Request) {
	_, _ = out.Write([]byte("s"))
	out.(http.Flusher).Flush()
	<-request.Context().Done()
}

func answerForEver(out http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := out.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

func answerNothing(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }

func answerPage(out http.ResponseWriter, _ *http.Request) {
	_, _ = out.Write([]byte("<html>log in</html>"))
}

func answerElsewhere(out http.ResponseWriter, request *http.Request) {
	http.Redirect(out, request, "https://elsewhere.example/", http.StatusFound)
}

func registryFaults() map[string]registryFault {
	policy, weights := bundleFiles[0], bundleFiles[1]
	unchanged := func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusNotModified) }
	return map[string]registryFault{
		"down":                   {func(s *shelf) { s.Close() }, resultUnreachable, "connection refused"},
		"never answers":          {onFile("", answerNothing), resultUnreachable, ""},
		"stops in the middle":    {onFile(weights, answerSlowly), resultUnreachable, "no answer in time"},
		"401":                    {onStatus(http.StatusUnauthorized), resultRefused, "got 401 Unauthorized, expected 200"},
		"404":                    {onStatus(http.StatusNotFound), resultRefused, "got 404"},
		"500":                    {onStatus(http.StatusInternalServerError), resultRefused, "got 500"},
		"204":                    {onStatus(http.StatusNoContent), resultRefused, "got 204"},
		"304 for a file":         {onFile(policy, unchanged), resultRefused, "got 304"},
		"sent elsewhere":         {onFile("", answerElsewhere), resultRefused, "redirects are not followed"},
		"a file sent elsewhere":  {onFile(weights, answerElsewhere), resultRefused, "redirects are not followed"},
		"a page":                 {onFile("", answerPage), resultDamaged, "no manifest"},
		"a page for a file":      {onFile(policy, answerPage), resultDamaged, ""},
		"half a file":            {onFile(weights, answerHalf), resultDamaged, "the answer was cut off"},
		"half a manifest":        {onFile(manifestFile, answerHalf), resultDamaged, "the answer was cut off"},
		"an endless manifest":    {onFile(manifestFile, answerForEver), resultDamaged, "got more than 65536 bytes"},
		"an endless file":        {onFile(weights, answerForEver), resultDamaged, "got more than 6 bytes"},
		"another checksum":       {onFact(func(f *manifestFact) { f.SHA256 = sha256Of("third") }), resultDamaged, "as the manifest says"},
		"no checksum":            {onFact(func(f *manifestFact) { f.SHA256 = "../../x" }), resultDamaged, "expected 64 hexadecimal digits"},
		"a size above the limit": {onFact(func(f *manifestFact) { f.Size = 1 << 40 }), resultDamaged, "got a size of 1099511627776 bytes"},
		"a size of nothing":      {onFact(func(f *manifestFact) { f.Size = 0 }), resultDamaged, "got a size of 0 bytes"},
		"a file is not named":    {func(s *shelf) { s.change(func(m *manifest) { delete(m.Files, policy) }) }, resultDamaged, "names no `policy.json`"},
		"a newer manifest":       {func(s *shelf) { s.change(func(m *manifest) { m.Schema = 2 }) }, resultDamaged, "got the schema 2"},
		"a bundle of another":    {func(s *shelf) { s.put("bad", 2) }, resultRejected, "version 2: it is bad"},
	}
}

func TestWhateverTheRegistryDoesTheOldPolicyStays(t *testing.T) {
	for name, fault := range registryFaults() {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, httptest.NewServer)
			s.put("first", 1)
			f := follow(t, s.URL, t.TempDir())
			f.update(context.Background())
			s.put("second", 2)
			fault.spoil(s)
			f.next()
			f.next()
			if !f.uses("first") {
				t.Fatalf("got %q, expected the first bundle", f.sha256())
			}
			if problem := f.problem.Load(); problem == nil || !strings.Contains(problem.text, fault.text) {
				t.Errorf("got the problem %v, expected %q", problem, fault.text)
			}
			counted := f.polls(t, fault.result)
			if fault.result == resultRejected {
				counted += f.polls(t, resultUnchanged) // it is not fetched again
			}
			if counted != 2 || f.failures(t) != 1 {
				t.Errorf("got %v polls counted as %s and %v failures, expected 2 and 1: it is the same problem", counted, fault.result, f.failures(t))
			}
		})
	}
}
