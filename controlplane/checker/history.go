package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// root is where the API server keeps its objects.
const root = "/registry/"

// marker is a key of our own outside of root: its event says that all events before it have been seen.
const marker = "/longshore-checker"

// folders are what schedulers read, by the name of the folder below root.
var folders = map[string]bool{
	"pods": true, "minions": true, "namespaces": true, "events": true, "services": true, "controllers": true,
	"replicasets": true, "statefulsets": true, "persistentvolumes": true, "persistentvolumeclaims": true,
	"storageclasses": true, "csinodes": true, "csidrivers": true, "csistoragecapacities": true,
	"volumeattachments": true, "poddisruptionbudgets": true,
}

// patience is how long etcd may take to write the marker: a fault may be on.
const patience = 60 * time.Second

// errCompacted says that the beginning of the history is no longer there.
var errCompacted = errors.New("etcd has thrown away the beginning of its history\n" +
	"hint: start the API server with --etcd-compaction-interval=0")

// follow hands every write since the beginning to the checker, in the order in which etcd made them. A line asks for a
// report of all that has been written until then.
func follow(
	ctx context.Context, client *clientv3.Client, checker *checker, lines <-chan struct{}, reports *json.Encoder,
) error {
	history := client.Watch(ctx, "/", clientv3.WithPrefix(), clientv3.WithRev(1))
	for {
		select {
		case _, isMore := <-lines:
			if !isMore {
				return nil
			}
			if err := checker.mark(ctx, client); err != nil {
				return err
			}
		case answer, isMore := <-history:
			if !isMore {
				return fmt.Errorf("etcd ended its history: %w", context.Cause(ctx))
			}
			if answer.CompactRevision != 0 {
				return errCompacted
			}
			if err := answer.Err(); err != nil {
				return fmt.Errorf("etcd's history: %w", err)
			}
			for _, event := range answer.Events {
				if err := checker.read(event, reports); err != nil {
					return err
				}
			}
		}
	}
}

// mark writes the marker, with a name of our own: the history has those of other checkers, too.
func (k *checker) mark(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := client.Put(ctx, marker, k.name); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// read takes one write; the marker has a report printed, and the next one begins.
func (k *checker) read(event *clientv3.Event, reports *json.Encoder) error {
	if string(event.Kv.Key) == marker {
		if string(event.Kv.Value) != k.name {
			return nil
		}
		if err := k.finish(); err != nil {
			return err
		}
		defer func() { k.report = newReport() }()
		return reports.Encode(k.report)
	}
	written, err := decode(event)
	if err != nil || written == nil {
		return err
	}
	return k.take(*written)
}

// decode reads one write; nil for what no scheduler reads.
func decode(event *clientv3.Event) (*change, error) {
	key := string(event.Kv.Key)
	folder, _, _ := strings.Cut(strings.TrimPrefix(key, root), "/")
	if !strings.HasPrefix(key, root) || !folders[folder] || isEndpoint(key) {
		return nil, nil
	}
	written := &change{revision: event.Kv.ModRevision, key: key}
	if event.Type == clientv3.EventTypeDelete {
		return written, nil
	}
	read, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Kv.Value, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("revision %d: %s cannot be read: %w", written.revision, key, err)
	}
	found, ok := read.(object)
	if !ok {
		return nil, fmt.Errorf("revision %d: %s holds a %T", written.revision, key, read)
	}
	if event, isEvent := read.(*corev1.Event); isEvent && event.Reason != preempted {
		return nil, nil
	}
	written.object, written.time = found, newestTime(found)
	found.SetManagedFields(nil) // half of an object, and nobody's concern
	return written, nil
}

// isEndpoint says whether a key below services/ is no Service: endpoints have a folder there.
func isEndpoint(key string) bool {
	return strings.HasPrefix(key, root+"services/") && !strings.HasPrefix(key, root+"services/specs/")
}
