package longshore

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSendToAFile(t *testing.T) {
	path := t.TempDir() + "/decisions.jsonl"
	send := newSend(path)
	for _, line := range []string{"{}\n", "[]\n"} {
		if err := send(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "{}\n[]\n" {
		t.Errorf("got %q (%v), expected both lines", got, err)
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
	send := newSend(server.URL)
	if err := send(t.Context(), []byte("{}\n")); err != nil || len(got) != 1 || got[0] != "application/x-ndjson {}\n" {
		t.Errorf("got %q (%v)", got, err)
	}
	status = http.StatusBadGateway
	if err := send(t.Context(), []byte("{}\n")); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v, expected the status", err)
	}
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
	if err := newSend("unix:"+path)(t.Context(), []byte("{}\n")); err != nil {
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
	made, err := newPluginMetrics(metrics.NewKubeRegistry().Register)
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
