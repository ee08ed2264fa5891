package longshore

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSendToAFile(t *testing.T) {
	path := t.TempDir() + "/decisions.jsonl"
	arguments := defaultArguments()
	arguments.DecisionLog = path
	send := newSend(arguments)
	for _, line := range []string{"{}\n", "[]\n"} {
		if err := send(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "{}\n[]\n" {
		t.Errorf("got %q (%v), expected both lines", got, err)
	}
}

func TestAFileStaysWithinItsSize(t *testing.T) {
	path := t.TempDir() + "/decisions.jsonl"
	send := newSend(Arguments{DecisionLog: path, DecisionLogMaxSize: resource.MustParse("8")})
	for _, line := range []string{"[1]\n", "[2]\n", "[3]\n", "[4]\n", "[5]\n"} {
		if err := send(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{path: "[5]\n", path + ".1": "[3]\n[4]\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), expected %q", name, got, err, want)
		}
	}
}

func TestSendToAnAddress(t *testing.T) {
	var got []string
	status := http.StatusAccepted
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		got = append(got, request.Header.Get("Content-Type")+" "+string(body))
		writer.WriteHeader(status)
	}))
	defer server.Close()
	send := newSend(Arguments{DecisionLog: server.URL})
	if err := send(t.Context(), []byte("{}\n")); err != nil || len(got) != 1 || got[0] != "application/x-ndjson {}\n" {
		t.Errorf("got %q (%v)", got, err)
	}
	status = http.StatusBadGateway
	if err := send(t.Context(), []byte("{}\n")); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v, expected the status", err)
	}
}

func TestSendSaysWhoItIsAndAsksWhoTheServerIs(t *testing.T) {
	var tokens []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		tokens = append(tokens, request.Header.Get("Authorization"))
	}))
	defer server.Close()
	folder := t.TempDir()
	token, authorities := folder+"/token", folder+"/ca.crt"
	send := newSend(Arguments{DecisionLog: server.URL, DecisionLogTokenFile: token, DecisionLogCAFile: authorities})
	said := func(want string) {
		t.Helper()
		err := send(t.Context(), []byte("{}\n"))
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	said("decisionLogCAFile: ")
	stranger := httptest.NewUnstartedServer(nil)
	stranger.TLS = newCertificate(t)
	stranger.StartTLS()
	defer stranger.Close()
	writeFile(t, authorities, inPEM(stranger))
	said("decisionLogTokenFile: ")
	writeFile(t, token, "first\n")
	said("certificate signed by unknown authority")
	writeFile(t, authorities, inPEM(server)) // renewed, and read after the failure
	said("")
	writeFile(t, token, "second")
	said("")
	if want := []string{"Bearer first", "Bearer second"}; !slices.Equal(tokens, want) {
		t.Errorf("got %q, expected %q", tokens, want)
	}
}

func TestSendDoesNotFollowOthersElsewhere(t *testing.T) {
	isAsked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { isAsked = true }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	err := newSend(Arguments{DecisionLog: server.URL})(t.Context(), []byte("{}\n"))
	if err == nil || !strings.Contains(err.Error(), "307") || isAsked {
		t.Errorf("got %v, asked %v; expected the status", err, isAsked)
	}
}

func inPEM(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// newCertificate returns one that is not httptest's own, signed by itself.
func newCertificate(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	facts := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, facts, facts, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{signed}, PrivateKey: key}}}
}

func TestSendToASocket(t *testing.T) {
	path := t.TempDir() + "/log.sock"
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	lines := make(chan string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(connection).ReadString('\n')
		lines <- line
	}()
	if err := newSend(Arguments{DecisionLog: "unix:" + path})(t.Context(), []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-lines; got != "{}\n" {
		t.Errorf("got %q", got)
	}
}

func TestLogIsTriedAgain(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	sent := make(chan string, 100)
	isReachable := make(chan bool, 100)
	made, err := newPluginMetrics(metrics.NewKubeRegistry().Register, "longshore")
	if err != nil {
		t.Fatal(err)
	}
	log := &decisionLog{ring: newRing(10), metrics: made, clock: clock, logger: klog.Background()}
	log.send = func(_ context.Context, lines []byte) error {
		if !<-isReachable {
			return errors.New("connection refused")
		}
		sent <- string(lines)
		return nil
	}
	log.ring.add(decision{PodName: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { log.run(ctx); close(done) }()

	isReachable <- false
	stepUntil(t, clock, func() bool { return log.ring.trouble.Load() != nil })
	if got := *log.ring.trouble.Load(); got != "connection refused" {
		t.Errorf("got the trouble %q, expected what was wrong", got)
	}
	isReachable <- true
	stepUntil(t, clock, func() bool { return len(sent) == 1 })
	if got := <-sent; !strings.Contains(got, `"pod_name":"a"`) {
		t.Errorf("got %s", got)
	}
	stepUntil(t, clock, func() bool { return log.ring.trouble.Load() == nil })
	if got, err := testutil.GetCounterMetricValue(made.logFailures); got != 1 || err != nil {
		t.Errorf("got %v failures (%v), expected 1", got, err)
	}
	log.ring.add(decision{PodName: "b"})
	isReachable <- true
	cancel()
	<-done
	if got := <-sent; !strings.Contains(got, `"pod_name":"b"`) || strings.Contains(got, `"pod_name":"a"`) {
		t.Errorf("at the end: got %s, expected what was left", got)
	}
}

// stepUntil moves the clock on whenever somebody waits for it.
func stepUntil(t *testing.T, clock *clocktesting.FakeClock, isOver func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !isOver(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not happen within 10 s")
		}
		if clock.HasWaiters() {
			clock.Step(flushInterval)
		}
	}
}
