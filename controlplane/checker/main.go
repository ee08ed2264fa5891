// Command checker reads what a cluster's etcd was written, in the order of its revisions, and judges every binding and
// every preemption by upstream's own filters and dry run, on the state at that revision. It shares no code with
// longshore's schedulers.
//
// It follows the history from its beginning. For every line on stdin it prints, as one line of JSON, what it found since
// the last one; it ends with stdin.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"longshore.dev/controlplane/upstream"
)

func main() {
	endpoint := flag.String("endpoint", "https://127.0.0.1:2379", "of etcd")
	authority := flag.String("ca", "", "file with the authority of etcd's certificate; empty = without TLS")
	certificate := flag.String("cert", "", "file with our certificate")
	key := flag.String("key", "", "file with its key")
	namespace := flag.String("namespace", "", "judge what befell its pods alone; empty = all")
	flag.Parse()
	if err := run(*endpoint, *authority, *certificate, *key, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(endpoint, authority, certificate, key, namespace string) error {
	upstream.SilenceLogs()
	security, err := tlsOf(authority, certificate, key)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: security, DialTimeout: 10 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("etcd at %s: %w", endpoint, err)
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	checker, err := newChecker()
	if err != nil {
		return err
	}
	checker.namespace = namespace
	return follow(ctx, client, checker, linesOf(os.Stdin), json.NewEncoder(os.Stdout))
}

// linesOf says when a line has been read; it is closed when there are no more.
func linesOf(input io.Reader) <-chan struct{} {
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(input); scanner.Scan(); {
			lines <- struct{}{}
		}
	}()
	return lines
}

func tlsOf(authority, certificate, key string) (*tls.Config, error) {
	if authority == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("our certificate: %w", err)
	}
	text, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("etcd's authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", authority)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
