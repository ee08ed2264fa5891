package longshore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"longshore.dev/scheduler/inference"
)

const (
	// onTrial: it could not be written down yet that a new bundle ranks.
	onTrial inference.Reason = "trial"
	// quarantined: kube-scheduler died more than once while the bundle was new.
	quarantined inference.Reason = "quarantined"
)

const (
	// trialRankings are how many a bundle has to survive.
	trialRankings = 1_000
	// mostDeaths is how often the process may die meanwhile; then the bundle is left alone.
	mostDeaths = 2
	// markTime is how long the marks may take to be written; then the bundle ranks without them.
	markTime = 2 * time.Second
)

// mark says that a bundle is on trial. It outlives the process: who finds an open one knows that somebody died over it.
type mark struct {
	SHA256 string `json:"sha256"`
	Deaths int    `json:"deaths"`
	IsOpen bool   `json:"isOpen"`
	// Holder is the process that opened it.
	Holder string `json:"holder"`
}

// markStore is where marks are kept: a folder that outlives the container, and the lease, which outlives the pod.
type markStore interface {
	// read returns the mark; the zero value = there is none.
	read(ctx context.Context) (mark, error)
	write(ctx context.Context, what mark) error
}

// trials keeps a bundle that kills kube-scheduler from doing so for ever. Before a new bundle first ranks, an open mark is
// written; after its first rankings, or at an orderly end, it is closed. A bundle whose mark was found open twice is not
// used any more. Marks that cannot be read or written are a line in the log, and no reason not to rank.
type trials struct {
	holder string
	logger klog.Logger

	mutex  sync.Mutex
	stores []markStore
	// current is the bundle that is on trial, or was last.
	current *trial
	isOver  bool // the process is about to end
}

// trial is that of one bundle in this process.
type trial struct {
	sha256   string
	opened   chan struct{} // closed when the marks are written, as far as they can be
	deaths   int           // known once opened
	rankings int           // survived so far
	isClosed bool
}

func newTrials(folder, profile string, logger klog.Logger) *trials {
	made := &trials{holder: string(uuid.NewUUID()), logger: logger}
	if folder != "" {
		made.stores = append(made.stores, markFile{filepath.Join(folder, "trial-"+profile+".json")})
	}
	return made
}

// keepAlso adds a store. It is called before the first ranking.
func (t *trials) keepAlso(store markStore) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.stores = append(t.stores, store)
}

// admit says whether a bundle may rank; a problem is why not. The first time it waits for the marks, for as long as a
// first ranking may take.
func (t *trials) admit(sha256 string, patience time.Duration) *inference.Problem {
	one := t.begin(sha256)
	if one == nil {
		return nil
	}
	select {
	case <-one.opened:
	default:
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-one.opened:
		case <-timer.C:
			return &inference.Problem{Reason: onTrial, Message: "the bundle is new, and that could not be written down yet"}
		}
	}
	if one.deaths >= mostDeaths {
		return &inference.Problem{Reason: quarantined, Message: quarantine(sha256, one.deaths)}
	}
	return nil
}

func quarantine(sha256 string, deaths int) string {
	return fmt.Sprintf("kube-scheduler died %d times while the bundle %.12s ranked its first %d pods "+
		"(hint: another bundle is tried as any other; to try this one again, remove the mark)", deaths, sha256, trialRankings)
}

// begin returns the trial of a bundle, a new one on first use; nil = there is nothing to be tried, or nowhere to write.
func (t *trials) begin(sha256 string) *trial {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.stores) == 0 || t.isOver {
		return nil
	}
	if t.current == nil || t.current.sha256 != sha256 {
		one := &trial{sha256: sha256, opened: make(chan struct{})}
		t.current = one
		go guarded(t.logger, func() { t.open(one) })
	} else if t.current.isClosed {
		return nil
	}
	return t.current
}

// open finds out how often somebody died over the bundle, and marks it as being on trial.
func (t *trials) open(one *trial) {
	defer close(one.opened)
	ctx, cancel := context.WithTimeout(context.Background(), markTime)
	defer cancel()
	for _, store := range t.all() {
		found, err := store.read(ctx)
		if err != nil {
			t.logger.Error(err, "The mark of a bundle on trial cannot be read")
			continue
		}
		one.deaths = max(one.deaths, t.deathsIn(found, one.sha256))
	}
	now := mark{SHA256: one.sha256, Deaths: one.deaths, IsOpen: one.deaths < mostDeaths, Holder: t.holder}
	t.writeAll(ctx, now)
}

// deathsIn counts a mark that another process left open as one more.
func (t *trials) deathsIn(found mark, sha256 string) int {
	switch {
	case found.SHA256 != sha256:
		return 0
	case found.IsOpen && found.Holder != t.holder:
		return found.Deaths + 1
	default:
		return found.Deaths
	}
}

// survived counts a ranking, and ends the trial after the last.
func (t *trials) survived() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.current == nil || t.current.isClosed {
		return
	}
	if t.current.rankings++; t.current.rankings >= trialRankings {
		t.current.isClosed = true
		over := mark{SHA256: t.current.sha256, Holder: t.holder}
		go guarded(t.logger, func() {
			ctx, cancel := context.WithTimeout(context.Background(), markTime)
			defer cancel()
			t.writeAll(ctx, over)
		})
	}
}

// end closes an open mark: the process ends, but not by the bundle. What came before still counts.
func (t *trials) end(longest time.Duration) {
	t.mutex.Lock()
	one := t.current
	isOpen := one != nil && !one.isClosed && !t.isOver
	t.isOver = true
	t.mutex.Unlock()
	if !isOpen {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	select {
	case <-one.opened:
		t.writeAll(ctx, mark{SHA256: one.sha256, Deaths: one.deaths, Holder: t.holder})
	case <-ctx.Done():
	}
}

func (t *trials) all() []markStore {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return append([]markStore{}, t.stores...)
}

func (t *trials) writeAll(ctx context.Context, what mark) {
	for _, store := range t.all() {
		if err := store.write(ctx, what); err != nil {
			t.logger.Error(err, "The mark of a bundle on trial cannot be written")
		}
	}
}

// markFile keeps the mark in a folder.
type markFile struct{ path string }

func (f markFile) read(context.Context) (mark, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, nil
	}
	var found mark
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	return found, err
}

// write replaces the file in one step: who dies meanwhile leaves the old one or the new.
func (f markFile) write(_ context.Context, what mark) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	part := f.path + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	return os.Rename(part, f.path)
}
