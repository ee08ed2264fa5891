package longshore

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"longshore.dev/scheduler/bundle"
)

const (
	mostTokenBytes     = 4 << 10
	mostAuthorityBytes = 1 << 20
	// answerTimeout is how long a server may take to begin an answer, fetchTimeout to give a whole bundle.
	answerTimeout = 10 * time.Second
	fetchTimeout  = 2 * time.Minute
)

// sighting is a bundle that was seen before. Without weights: whatever a manifest says of them, as the policy.json of a
// good bundle names them, too.
type sighting struct{ policy, weights string } // SHA-256

func (s sighting) isOf(m bundle.Manifest) bool {
	return m.Files[bundle.PolicyFile].SHA256 == s.policy && (s.weights == "" || m.Files[bundle.WeightsFile].SHA256 == s.weights)
}

// fetched is what a registry has: without files where it is what was there before.
type fetched struct {
	tag      string
	manifest bundle.Manifest
	files    map[string][]byte
}

// fetchError is why nothing could be had.
type fetchError struct{ result, text string }

func (e *fetchError) Error() string { return e.text }

// failf words a failure, and not at such length as a server may have chosen.
func failf(result, format string, values ...any) error {
	return &fetchError{result, shortened(fmt.Sprintf(format, values...))}
}

// fetcher reads a bundle from an address, within limits of size and time.
type fetcher struct {
	address          string // with a slash at its end
	token, authority fileArgument
	timeout, answers time.Duration
}

func newFetcher(arguments RegistryArguments) *fetcher {
	return &fetcher{
		address: strings.TrimSuffix(arguments.URL, "/") + "/",
		token:   fileArgument{"registry.tokenFile", arguments.TokenFile}, authority: fileArgument{"registry.caFile", arguments.CAFile},
		timeout: fetchTimeout, answers: answerTimeout,
	}
}

// fetch returns what is at the address, unless it is what was there before: the manifest with this tag, or one of the
// bundle that was seen.
func (f *fetcher) fetch(ctx context.Context, tag string, seen sighting) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client, err := connect(f.authority, f.answers)
	if err != nil {
		return nil, err
	}
	token, err := f.token.word()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	get := func(file, tag string, most int64) (*answer, error) { return f.get(ctx, client, token, file, tag, most) }
	found, err := fetchOnce(get, tag, seen)
	if failure := new(fetchError); errors.As(err, &failure) && failure.result == resultDamaged {
		// Another version may have been promoted in between: a manifest and its files belong together.
		found, err = fetchOnce(get, "", seen)
	}
	return found, err
}

// answer is a whole content; data is nil where it is what is there already.
type answer struct {
	tag  string
	data []byte
}

type getFile func(file, tag string, most int64) (*answer, error)

func fetchOnce(get getFile, tag string, seen sighting) (*fetched, error) {
	text, err := get(bundle.ManifestFile, tag, bundle.MaxManifestBytes)
	if err != nil {
		return nil, err
	}
	if text.data == nil {
		return &fetched{tag: tag}, nil
	}
	read, err := bundle.ReadManifest(text.data)
	if err != nil {
		return nil, failf(resultDamaged, "%s: %v", bundle.ManifestFile, err)
	}
	found := &fetched{tag: text.tag, manifest: read}
	if seen.isOf(read) {
		return found, nil
	}
	files := map[string][]byte{}
	for _, file := range bundleFiles {
		fact := found.manifest.Files[file]
		content, err := get(file, "", fact.Size)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content.data)
		if got := hex.EncodeToString(sum[:]); got != fact.SHA256 {
			return nil, failf(resultDamaged, "%s: got %d bytes with the SHA-256 %.12s, expected %d with %.12s, as the manifest says",
				file, len(content.data), got, fact.Size, fact.SHA256)
		}
		files[file] = content.data
	}
	found.files = files
	return found, nil
}

// fileArgument is a file that an argument names; it is read anew every time, as such files are changed now and then.
type fileArgument struct{ name, path string }

// word returns what the file holds, a token; "" where no file is named.
func (a fileArgument) word() (string, error) {
	if a.path == "" {
		return "", nil
	}
	text, err := readSmall(a.path, mostTokenBytes)
	if err != nil {
		return "", failf(resultUnreachable, "%s: %v", a.name, err)
	}
	word := strings.TrimSpace(string(text))
	if word == "" || strings.ContainsAny(word, " \t\r\n") {
		return "", failf(resultUnreachable, "%s: %s does not hold one word", a.name, a.path)
	}
	return word, nil
}

// connect makes a client that trusts the authorities in a file, or the system's where none is named.
func connect(authority fileArgument, answers time.Duration) (*http.Client, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority.path != "" {
		text, err := readSmall(authority.path, mostAuthorityBytes)
		if err != nil {
			return nil, failf(resultUnreachable, "%s: %v", authority.name, err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return nil, failf(resultUnreachable, "%s: %s has no certificate in it", authority.name, authority.path)
		}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: settings, TLSHandshakeTimeout: answers,
		DialContext: (&net.Dialer{Timeout: answers}).DialContext, ResponseHeaderTimeout: answers,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}
	// A redirect could lead a token, or a scheduler inside of a cluster, to somebody else.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

func readSmall(path string, most int64) ([]byte, error) {
	found, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !found.Mode().IsRegular() {
		return nil, notRegular(path, found)
	}
	if found.Size() > most {
		return nil, fmt.Errorf("%s: got %d bytes, expected at most %d", path, found.Size(), most)
	}
	return os.ReadFile(path)
}

func (f *fetcher) get(ctx context.Context, client *http.Client, token, file, tag string, most int64) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address+file, nil)
	if err != nil {
		return nil, failf(resultUnreachable, "%v", err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, failf(resultUnreachable, "GET %s: %s", request.URL, plainly(err))
	}
	defer response.Body.Close()
	switch {
	case tag != "" && response.StatusCode == http.StatusNotModified:
		return &answer{tag: tag}, nil
	case response.StatusCode/100 == 3 && response.StatusCode != http.StatusNotModified:
		return nil, failf(resultRefused, "GET %s: got %s, expected 200: redirects are not followed", request.URL, status(response))
	case response.StatusCode != http.StatusOK:
		return nil, failf(resultRefused, "GET %s: got %s, expected 200", request.URL, status(response))
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		result := resultDamaged
		if ctx.Err() != nil {
			result = resultUnreachable
		}
		return nil, failf(result, "GET %s: the answer was cut off: %s", request.URL, plainly(err))
	}
	if int64(len(data)) > most {
		return nil, failf(resultDamaged, "GET %s: got more than %d bytes, expected at most these", request.URL, most)
	}
	return &answer{response.Header.Get("ETag"), data}, nil
}

// status words an answer's status without the server's own words, which may be others each time, or repeat our token.
func status(response *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode)))
}

// plainly words an error without what differs each time, such as our own port: the same trouble is said once.
func plainly(err error) string {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Addr != nil {
		return fmt.Sprintf("%s %v: %v", operation.Op, operation.Addr, operation.Err)
	}
	return err.Error()
}
