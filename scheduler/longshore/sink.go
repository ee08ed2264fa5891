package longshore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	batchSize       = 1_000
	flushInterval   = time.Second
	sendTimeout     = 5 * time.Second
	longestInterval = 30 * time.Second
)

// send hands a batch of JSON lines to the decision log.
type send func(ctx context.Context, lines []byte) error

// newSend returns how the decision log is written to: an http(s) address by POST, unix:PATH as a stream, else a file.
func newSend(arguments Arguments) send {
	switch destination := arguments.DecisionLog; {
	case isAddress(destination):
		token := fileArgument{"decisionLogTokenFile", arguments.DecisionLogTokenFile}
		return postTo(destination, token, fileArgument{"decisionLogCAFile", arguments.DecisionLogCAFile})
	case strings.HasPrefix(destination, "unix:"):
		return streamTo(strings.TrimPrefix(destination, "unix:"))
	default:
		return appendTo(destination, arguments.DecisionLogMaxSize.Value())
	}
}

// postTo sends to an address. One client serves for as long as nothing fails, so that its connection is used again; the
// token is read every time.
func postTo(address string, token, authority fileArgument) send {
	var client *http.Client
	return func(ctx context.Context, lines []byte) (err error) {
		if client == nil {
			if client, err = connect(authority, sendTimeout); err != nil {
				return err
			}
			client.Timeout = sendTimeout
		}
		defer func() {
			if err != nil { // the authorities may have been renewed
				client.CloseIdleConnections()
				client = nil
			}
		}()
		word, err := token.word()
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(lines))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/x-ndjson")
		if word != "" {
			request.Header.Set("Authorization", "Bearer "+word)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection can be used again
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("POST %s: got %s, expected 2xx", address, response.Status)
		}
		return nil
	}
}

func streamTo(path string) send {
	return func(ctx context.Context, lines []byte) error {
		dialer := net.Dialer{Timeout: sendTimeout}
		connection, err := dialer.DialContext(ctx, "unix", path)
		if err != nil {
			return err
		}
		defer connection.Close()
		if err := connection.SetDeadline(time.Now().Add(sendTimeout)); err != nil {
			return err
		}
		_, err = connection.Write(lines)
		return err
	}
}

// appendTo writes to a file; one that would become too large is put aside, in the place of the one before.
func appendTo(path string, maxBytes int64) send {
	return func(_ context.Context, lines []byte) error {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 &&
			info.Size()+int64(len(lines)) > maxBytes {
			if err := os.Rename(path, path+".1"); err != nil {
				return err
			}
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return err
		}
		_, err = file.Write(lines)
		if closing := file.Close(); err == nil {
			err = closing
		}
		return err
	}
}

// decisionLog sends what is in the ring, in the background. What the log does not take stays in the ring and is tried
// again, less and less often; when the ring is full its oldest are dropped.
type decisionLog struct {
	ring    *ring
	send    send
	metrics *pluginMetrics
	clock   clock.WithTicker
	logger  klog.Logger
}

// run sends until the context is over, and then what is left, once.
func (l *decisionLog) run(ctx context.Context) {
	pause := flushInterval
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
			defer cancel()
			_ = l.flush(last)
			return
		case <-l.clock.After(pause):
		}
		err := l.flush(ctx)
		switch {
		case err == nil:
			l.ring.trouble.Store(nil)
			pause = flushInterval
		default:
			text := err.Error()
			l.ring.trouble.Store(&text)
			l.metrics.logFailures.Inc()
			if pause == flushInterval {
				l.logger.Error(err, "The decision log cannot be reached; decisions wait, then the oldest are dropped")
			}
			pause = min(2*pause, longestInterval)
		}
	}
}

// flush sends all that waits, in batches.
func (l *decisionLog) flush(ctx context.Context) error {
	for {
		batch, dropped := l.ring.oldest(batchSize)
		if len(batch) == 0 {
			return nil
		}
		var lines bytes.Buffer
		encoder := json.NewEncoder(&lines)
		for _, one := range batch {
			if err := encoder.Encode(one); err != nil {
				// No number among its scores: not worth holding up the others.
				l.logger.Error(err, "A decision cannot be written", "pod", one.PodName)
			}
		}
		if err := l.send(ctx, lines.Bytes()); err != nil {
			return err
		}
		l.ring.done(len(batch), dropped)
	}
}
