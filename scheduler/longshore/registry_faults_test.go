package longshore

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"longshore.dev/scheduler/bundle"
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
func onFact(change func(*bundle.FileFact)) func(*shelf) {
	return func(s *shelf) {
		s.change(func(m *bundle.Manifest) {
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

// answerInOtherWords gives a reason beside the status that is long, another each time, and has the token in it.
func answerInOtherWords(out http.ResponseWriter, request *http.Request) {
	connection, _, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	defer connection.Close()
	words := strings.Repeat("no ", 3000)
	_, _ = fmt.Fprintf(connection, "HTTP/1.1 500 %s %s%s\r\nContent-Length: 0\r\n\r\n", request.RemoteAddr, words, request.Header.Get("Authorization"))
}

// answerPacked gives what was asked for in a form that was not: who unpacks it can be given few bytes that become many.
func answerPacked(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(out)
	_, _ = packed.Write([]byte("second"))
	_ = packed.Close()
}

func answerLongNumber(out http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(out, `{"schema": 1%s}`, strings.Repeat("0", 60000))
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
		"500 in other words":     {onFile("", answerInOtherWords), resultRefused, "got 500 Internal Server Error, expected 200"},
		"a very long number":     {onFile(bundle.ManifestFile, answerLongNumber), resultDamaged, "no manifest"},
		"204":                    {onStatus(http.StatusNoContent), resultRefused, "got 204"},
		"304 for a file":         {onFile(policy, unchanged), resultRefused, "got 304 Not Modified, expected 200"},
		"a packed file":          {onFile(weights, answerPacked), resultDamaged, "got more than 6 bytes"},
		"sent elsewhere":         {onFile("", answerElsewhere), resultRefused, "redirects are not followed"},
		"a file sent elsewhere":  {onFile(weights, answerElsewhere), resultRefused, "redirects are not followed"},
		"a page":                 {onFile("", answerPage), resultDamaged, "no manifest"},
		"a page for a file":      {onFile(policy, answerPage), resultDamaged, ""},
		"half a file":            {onFile(weights, answerHalf), resultDamaged, "the answer was cut off"},
		"half a manifest":        {onFile(bundle.ManifestFile, answerHalf), resultDamaged, "the answer was cut off"},
		"an endless manifest":    {onFile(bundle.ManifestFile, answerForEver), resultDamaged, "got more than 65536 bytes"},
		"an endless file":        {onFile(weights, answerForEver), resultDamaged, "got more than 6 bytes"},
		"another checksum":       {onFact(func(f *bundle.FileFact) { f.SHA256 = sha256Of("third") }), resultDamaged, "as the manifest says"},
		"no checksum":            {onFact(func(f *bundle.FileFact) { f.SHA256 = "../../x" }), resultDamaged, "expected 64 hexadecimal digits"},
		"a size above the limit": {onFact(func(f *bundle.FileFact) { f.Size = 1 << 40 }), resultDamaged, "got a size of 1099511627776 bytes"},
		"a size of nothing":      {onFact(func(f *bundle.FileFact) { f.Size = 0 }), resultDamaged, "got a size of 0 bytes"},
		"a file is not named":    {func(s *shelf) { s.change(func(m *bundle.Manifest) { delete(m.Files, policy) }) }, resultDamaged, "names no `policy.json`"},
		"a newer manifest":       {func(s *shelf) { s.change(func(m *bundle.Manifest) { m.Schema = 2 }) }, resultDamaged, "got the schema 2"},
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
			if problem := f.problem.Load(); problem == nil || !strings.Contains(problem.text, fault.text) || len(problem.text) > longestNote {
				t.Errorf("got the problem %v, expected %q, and no more than an event takes", problem, fault.text)
			}
			if saysRedirect := strings.Contains(f.problem.Load().text, "redirect"); saysRedirect != strings.Contains(fault.text, "redirect") {
				t.Errorf("got the problem %v, expected redirects in it only where there is one", f.problem.Load())
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
