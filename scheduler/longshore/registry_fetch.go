package longshore

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"longshore.dev/scheduler/bundle"
)

const (
	manifestFile       = "manifest.json"
	manifestSchema     = 1
	mostManifestBytes  = 64 << 10
	mostTokenBytes     = 4 << 10
	mostAuthorityBytes = 1 << 20
	// answerTimeout is how long a server may take to begin an answer, fetchTimeout to give a whole bundle.
	answerTimeout = 10 * time.Second
	fetchTimeout  = 2 * time.Minute
)

var sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// manifest is what a registry says about a version; store/models.py writes it. Other fields may come later.
type manifest struct {
	Schema  int                     `json:"schema"`
	Name    string                  `json:"name"`
	Version int                     `json:"version"`
	Files   map[string]manifestFact `json:"files"`
}

type manifestFact struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// fetched is what a registry has: without files where it is what was there before.
type fetched struct {
	tag      string
	manifest manifest
	files    map[string][]byte
}

// fetchError is why nothing could be had.
type fetchError struct{ result, text string }

func (e *fetchError) Error() string { return e.text }

func failf(result, format string, values ...any) error {
	return &fetchError{result, fmt.Sprintf(format, values...)}
}

// fetcher reads a bundle from an address, within limits of size and time.
type fetcher struct {
	address           string // with a slash at its end
	tokenFile, caFile string
	timeout, answers  time.Duration
}

func newFetcher(arguments RegistryArguments) *fetcher {
	return &fetcher{
		address: strings.TrimSuffix(arguments.URL, "/") + "/", tokenFile: arguments.TokenFile, caFile: arguments.CAFile,
		timeout: fetchTimeout, answers: answerTimeout,
	}
}

// bundleLimits are the files that are fetched; the model card is for people.
var bundleLimits = map[string]int64{bundle.PolicyFile: bundle.MaxPolicyBytes, bundle.WeightsFile: bundle.MaxWeightsBytes}

// fetch returns what is at the address, unless it is what was there before: the manifest with this tag, or one that
// names the policy.json with this SHA-256.
func (f *fetcher) fetch(ctx context.Context, tag, seen string) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client, token, err := f.connect()
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

func fetchOnce(get getFile, tag, seen string) (*fetched, error) {
	text, err := get(manifestFile, tag, mostManifestBytes)
	if err != nil {
		return nil, err
	}
	if text.data == nil {
		return &fetched{tag: tag}, nil
	}
	found := &fetched{tag: text.tag}
	if err := json.Unmarshal(text.data, &found.manifest); err != nil {
		return nil, failf(resultDamaged, "%s: got %d bytes that are no manifest: %v", manifestFile, len(text.data), err)
	}
	if err := found.manifest.check(); err != nil {
		return nil, err
	}
	if found.manifest.Files[bundle.PolicyFile].SHA256 == seen {
		return found, nil
	}
	files := map[string][]byte{}
	for file := range bundleLimits {
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

// check refuses what is no manifest of a bundle, before anything that it names is fetched.
func (m manifest) check() error {
	if m.Schema != manifestSchema {
		return failf(resultDamaged, "%s: got the schema %d, expected %d", manifestFile, m.Schema, manifestSchema)
	}
	for file, most := range bundleLimits {
		fact, isThere := m.Files[file]
		switch {
		case !isThere:
			return failf(resultDamaged, "%s names no `%s`", manifestFile, file)
		case !sha256Pattern.MatchString(fact.SHA256):
			return failf(resultDamaged, "%s: `%s`: got the SHA-256 %.80q, expected 64 hexadecimal digits", manifestFile, file, fact.SHA256)
		case fact.Size < 1 || fact.Size > most:
			return failf(resultDamaged, "%s: `%s`: got a size of %d bytes, expected 1 to %d", manifestFile, file, fact.Size, most)
		}
	}
	return nil
}

// connect reads token and authorities, which are changed now and then, and makes a client for one fetch.
func (f *fetcher) connect() (*http.Client, string, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.caFile != "" {
		text, err := readSmall(f.caFile, mostAuthorityBytes)
		if err != nil {
			return nil, "", failf(resultUnreachable, "registry.caFile: %v", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return nil, "", failf(resultUnreachable, "registry.caFile: %s has no certificate in it", f.caFile)
		}
	}
	token := ""
	if f.tokenFile != "" {
		text, err := readSmall(f.tokenFile, mostTokenBytes)
		if err != nil {
			return nil, "", failf(resultUnreachable, "registry.tokenFile: %v", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" || strings.ContainsAny(token, " \t\r\n") {
			return nil, "", failf(resultUnreachable, "registry.tokenFile: %s does not hold one word", f.tokenFile)
		}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: settings, TLSHandshakeTimeout: f.answers,
		DialContext: (&net.Dialer{Timeout: f.answers}).DialContext, ResponseHeaderTimeout: f.answers,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}
	// A redirect could lead a token, or a scheduler inside of a cluster, to somebody else.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, token, nil
}

func readSmall(path string, most int64) ([]byte, error) {
	status, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !status.Mode().IsRegular() {
		return nil, notRegular(path, status)
	}
	if status.Size() > most {
		return nil, fmt.Errorf("%s: got %d bytes, expected at most %d", path, status.Size(), most)
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
	case response.StatusCode/100 == 3:
		return nil, failf(resultRefused, "GET %s: got %s, expected 200: redirects are not followed", request.URL, response.Status)
	case response.StatusCode != http.StatusOK:
		return nil, failf(resultRefused, "GET %s: got %s, expected 200", request.URL, response.Status)
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
