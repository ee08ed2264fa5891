package longshore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"longshore.dev/scheduler/inference"
)

// scorer is what the plugin asks for scores: inference.Scorer, or a test's.
type scorer interface {
	Score(ctx context.Context, pod *v1.Pod, all, feasible []fwk.NodeInfo, readings inference.Readings, out []float32) error
	// Distrust says that a node may have changed without a new generation.
	Distrust(node string)
}

// policy is a model that can score, and what the plugin has to know about it.
type policy struct {
	// newScorer makes a scorer with empty caches, for the start and after a panic, which may have left anything behind.
	newScorer     func() scorer
	scorer        scorer
	name          string
	version       string
	sha256        string
	needsReadings bool
	ignoresLimits bool // hard latency limits do not count
	tieTolerance  float32
	// checkSize returns why it cannot rank so many nodes; nil = it can.
	checkSize func(numNodes int) *inference.Problem
	// isProven says that it has scored a pod.
	isProven atomic.Bool
}

// loadPolicy reads and checks the bundle in a folder.
type loadPolicy func(folder string) (*policy, error)

// modelProblem is why the bundle on the disk is not the one that scores; nil = it is.
type modelProblem struct {
	reason inference.Reason
	text   string
}

// models keeps the policy that scores up to date with the folder of its bundle, or with a registry's. A new bundle is
// read and checked in the background and put in place by one write of a pointer. One that is gone or bad changes
// nothing: the last good policy goes on. One whose first scores are not finite is taken back in favour of the one before.
type models struct {
	folder   string
	registry *registry // nil = the folder is somebody else's to write
	load     loadPolicy
	metrics  *pluginMetrics
	logger   klog.Logger

	current atomic.Pointer[policy]
	problem atomic.Pointer[modelProblem]

	seen fingerprint // of the poll alone

	// mutex is for a poll and a take-back that meet. It is never held while a disk is waited for: a take-back happens
	// while a pod is scored.
	mutex    sync.Mutex
	previous *policy
}

// fingerprint tells one state of the bundle's files from the next.
type fingerprint [2]struct {
	modified time.Time
	size     int64
	file     os.FileInfo
}

var bundleFiles = [2]string{"policy.json", "weights.safetensors"}

func newModels(
	arguments Arguments, load loadPolicy, metrics *pluginMetrics, logger klog.Logger, clock clock.PassiveClock,
) *models {
	m := &models{folder: arguments.ModelPath, load: load, metrics: metrics, logger: logger}
	if address := arguments.Registry.URL; address != "" {
		m.registry = newRegistry(arguments.Registry, metrics, logger, clock)
		m.folder = m.registry.cache.current()
		m.problem.Store(&modelProblem{modelMissing, "no bundle has come from " + address + " yet"})
	}
	return m
}

// update looks for a new bundle, in the folder or in the registry. It is called in the background, by one goroutine.
func (m *models) update(ctx context.Context) {
	if m.registry == nil {
		m.poll()
		return
	}
	m.registry.poll(ctx, m)
}

// poll looks at the folder and takes up what is new there.
func (m *models) poll() {
	found, err := m.look()
	if err != nil {
		// The next bundle is new even if it is the old one put back: it must be read to know.
		m.seen = fingerprint{}
		reason := inference.BadBundle
		if errors.Is(err, fs.ErrNotExist) {
			reason = modelMissing
		}
		m.fail(reason, err)
		return
	}
	if found.equals(m.seen) {
		return
	}
	loaded, err := m.load(m.folder)
	if err != nil {
		// Read again at the next poll: a disk that could not be read may be well again, with the same files.
		m.seen = fingerprint{}
		m.fail(refusalReason(err), err)
		return
	}
	m.seen = found
	m.take(loaded)
}

// take puts a policy in place, unless it is there already; it returns the one that then is.
func (m *models) take(loaded *policy) *policy {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.problem.Store(nil)
	if now := m.current.Load(); now != nil && now.sha256 == loaded.sha256 {
		return now
	}
	m.replace(loaded)
	return loaded
}

// refusalReason returns why a bundle was refused.
func refusalReason(err error) inference.Reason {
	var problem *inference.Problem
	if errors.As(err, &problem) {
		return problem.Reason
	}
	return inference.BadBundle
}

// takeBack gives up a policy, one whose first scores are no numbers or over which kube-scheduler died, in favour of the
// one before it.
func (m *models) takeBack(bad *policy, reason inference.Reason, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.current.Load() != bad {
		return
	}
	m.replace(m.previous)
	m.previous = nil
	m.fail(reason, err)
}

// noNumbers says what is wrong with a policy whose scores are not finite.
func noNumbers(bad *policy, reason error) error {
	return fmt.Errorf("the first scores of %s (%.12s) are no numbers: %w", bad.name, bad.sha256, reason)
}

// replace makes a policy the current one, none where it is nil.
func (m *models) replace(next *policy) {
	before := m.current.Swap(next)
	if before != nil {
		m.metrics.models(before.name, before.version, before.sha256).Dec()
		if before.isProven.Load() {
			m.previous = before
		}
	}
	if next != nil {
		m.metrics.models(next.name, next.version, next.sha256).Inc()
		m.logger.Info("A policy is in use", "name", next.name, "version", next.version, "sha256", next.sha256)
	}
}

// fail notes why the bundle cannot be used; the same problem counts once.
func (m *models) fail(reason inference.Reason, err error) {
	before := m.problem.Load()
	if before != nil && before.reason == reason && before.text == err.Error() {
		return
	}
	m.problem.Store(&modelProblem{reason, err.Error()})
	m.metrics.updateFailures.Inc()
	m.logger.Error(err, "The bundle cannot be used", "source", m.source(), "lastGoodKept", m.current.Load() != nil)
}

// source says where the bundle comes from.
func (m *models) source() string {
	if m.registry != nil {
		return m.registry.address
	}
	return m.folder
}

// look returns the state of the bundle's files.
func (m *models) look() (fingerprint, error) {
	var found fingerprint
	for i, name := range bundleFiles {
		status, err := os.Stat(filepath.Join(m.folder, name))
		if err != nil {
			return fingerprint{}, err
		}
		if !status.Mode().IsRegular() {
			return fingerprint{}, notRegular(status.Name(), status)
		}
		found[i].modified, found[i].size, found[i].file = status.ModTime(), status.Size(), status
	}
	return found, nil
}

// notRegular refuses what could hold up its reader for ever, such as a pipe that nobody writes to.
func notRegular(path string, status os.FileInfo) error {
	return fmt.Errorf("%s: got %v, expected a regular file", path, status.Mode().Type())
}

func (f fingerprint) equals(other fingerprint) bool {
	for i := range f {
		if f[i].file == nil || other[i].file == nil || !os.SameFile(f[i].file, other[i].file) ||
			f[i].size != other[i].size || !f[i].modified.Equal(other[i].modified) {
			return false
		}
	}
	return true
}

// loadBundle returns what reads a bundle and makes its scorer, for one profile.
func loadBundle(handle fwk.Handle, arguments Arguments, options ...inference.Option) (loadPolicy, error) {
	contextObjects, err := inference.NewContextObjects(handle.SharedInformerFactory())
	if err != nil {
		return nil, err
	}
	parallelizer := recoveringParallelizer{handle.Parallelizer()}
	nodes := handle.SharedInformerFactory().Core().V1().Nodes().Lister() // empty at the start: then the first ranking looks
	return func(folder string) (*policy, error) {
		model, err := inference.LoadPreferring(folder, arguments.Preference)
		if err != nil {
			return nil, err
		}
		made := &policy{needsReadings: model.NeedsReadings(), tieTolerance: model.TieTolerance()}
		made.name, made.version, made.sha256 = model.Info()
		if digests := arguments.ModelDigests; len(digests) > 0 && !slices.Contains(digests, "sha256:"+made.sha256) {
			return nil, fmt.Errorf("%s: got a policy.json with the SHA-256 %s, expected one of args.modelDigests", folder, made.sha256)
		}
		mostNodes := model.MostNodes(arguments.Deadline.Duration, arguments.MemoryLimit.Value())
		known, err := nodes.List(labels.Everything())
		if err != nil {
			return nil, err
		}
		if problem := model.CheckSize(len(known), mostNodes); problem != nil {
			return nil, problem
		}
		made.checkSize = func(numNodes int) *inference.Problem { return model.CheckSize(numNodes, mostNodes) }
		made.ignoresLimits = !model.LimitsLatency()
		made.newScorer = func() scorer {
			within, outside := inference.Within(contextObjects), inference.MaxOutside(float32(arguments.EnvelopeTolerance))
			return inference.NewScorer(model, parallelizer, append(options, within, outside)...)
		}
		made.scorer = made.newScorer()
		return made, nil
	}, nil
}
