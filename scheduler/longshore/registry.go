package longshore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"longshore.dev/scheduler/bundle"
	"longshore.dev/scheduler/inference"
)

// What came of asking the registry: the label `result`.
const (
	resultUnchanged   = "unchanged"
	resultUpdated     = "updated"
	resultUnreachable = "unreachable" // no answer, or not in time
	resultRefused     = "refused"     // an answer that is no content: 401, 404, 500, a redirect
	resultDamaged     = "damaged"     // cut off, too large, no manifest, or another checksum
	resultRejected    = "rejected"    // a bundle that cannot be used here
	resultNotKept     = "not-kept"    // the cache folder cannot be written
)

// pollJitter is the share of the interval that a poll comes earlier or later, so that many schedulers do not ask at once.
const pollJitter = 0.2

// registry fetches bundles from an address, in the background. A bundle is written to the cache folder, read from there
// as any bundle is, and only one that has passed is made the cache's current one and put in place. Whatever goes wrong
// before, the policy that scores stays; a metric, a log line and an event say why.
type registry struct {
	address  string
	interval time.Duration
	cache    cacheFolder
	fetcher  *fetcher
	metrics  *pluginMetrics
	logger   klog.Logger
	clock    clock.PassiveClock

	// Of the poll alone.
	isStarted bool
	next      time.Time
	tag       string        // of the manifest that was seen last
	seen      sighting      // the bundle that it names
	verdict   *modelProblem // why that one is not in use; nil = it is
	taken     *policy       // what was put in place last
}

func newRegistry(arguments RegistryArguments, metrics *pluginMetrics, logger klog.Logger, clock clock.PassiveClock) *registry {
	return &registry{
		address:  arguments.URL,
		interval: arguments.PollInterval.Duration,
		cache:    newCacheFolder(arguments.CacheFolder, arguments.URL),
		fetcher:  newFetcher(arguments),
		metrics:  metrics,
		logger:   logger,
		clock:    clock,
	}
}

// poll asks the registry where it is time to. The first call takes up what the cache has; then the registry is asked a
// little later, so that one that does not answer does not hold up kube-scheduler's start.
func (r *registry) poll(ctx context.Context, m *models) {
	if !r.isStarted {
		r.isStarted = true
		r.takeCached(m)
		if m.current.Load() != nil {
			return
		}
	}
	r.noteTakeBack(m)
	if r.clock.Now().Before(r.next) {
		return
	}
	result, problem := r.ask(ctx, m)
	if ctx.Err() != nil {
		return // the process ends
	}
	r.metrics.registryPolls(result).Inc()
	r.noteTakeBack(m)
	if problem == nil {
		problem = r.verdict
	}
	if problem == nil {
		m.problem.Store(nil)
	} else {
		m.fail(problem.reason, errors.New(problem.text))
	}
	r.next = r.clock.Now().Add(time.Duration(float64(r.interval) * (1 + pollJitter*(2*rand.Float64()-1))))
}

// takeCached puts the bundle in place that an earlier process has kept.
func (r *registry) takeCached(m *models) {
	kept, err := r.cache.kept()
	if err != nil || kept == "" {
		if err != nil {
			m.fail(inference.BadBundle, err)
		}
		return
	}
	_, err = m.look() // a pipe in its place would be waited for
	var loaded *policy
	if err == nil {
		loaded, err = m.load(r.cache.current())
	}
	if err == nil && loaded.sha256 != kept {
		err = fmt.Errorf("%s: got a policy.json with the SHA-256 %.12s, expected %.12s", r.cache.current(), loaded.sha256, kept)
	}
	if err != nil {
		m.fail(refusalReason(err), err)
		return
	}
	r.taken, r.seen = m.take(loaded), sighting{policy: kept}
}

// ask fetches what is new and puts it in place. The problem is why nothing could be had; why what was had cannot be used
// is the verdict.
func (r *registry) ask(ctx context.Context, m *models) (string, *modelProblem) {
	found, err := r.fetcher.fetch(ctx, r.tag, r.seen)
	if err != nil {
		result := resultUnreachable
		var failure *fetchError
		if errors.As(err, &failure) {
			result = failure.result
		}
		return result, &modelProblem{modelMissing, err.Error()}
	}
	if found.files == nil {
		r.tag = found.tag
		return resultUnchanged, nil
	}
	staged, err := r.cache.stage(found.files)
	if err != nil {
		return resultNotKept, &modelProblem{modelMissing, err.Error()}
	}
	defer staged.remove()
	seen := sighting{policy: found.manifest.Files[bundle.PolicyFile].SHA256}
	loaded, err := m.load(staged.folder)
	if err != nil && !holds(staged.folder, found.files) {
		return resultNotKept, &modelProblem{modelMissing, shortened(err.Error())} // it says nothing of the bundle
	}
	if err != nil {
		seen.weights = found.manifest.Files[bundle.WeightsFile].SHA256 // others may be what it lacks
		r.tag, r.seen, r.verdict = found.tag, seen, &modelProblem{refusalReason(err), shortened(fmt.Sprintf(
			"%s, version %d: %v", r.address, found.manifest.Version, err))}
		return resultRejected, nil
	}
	if err := staged.publish(loaded.sha256); err != nil {
		return resultNotKept, &modelProblem{modelMissing, err.Error()}
	}
	r.tag, r.seen, r.verdict = found.tag, seen, nil
	r.taken = m.take(loaded)
	r.logger.Info("A bundle was fetched", "address", r.address, "name", found.manifest.Name, "version", found.manifest.Version)
	return resultUpdated, nil
}

// noteTakeBack notices that the policy which was put in place was taken back while pods were scored, and has the cache
// do the same.
func (r *registry) noteTakeBack(m *models) {
	now := m.current.Load()
	if r.taken == nil || now == r.taken {
		return
	}
	r.verdict = m.problem.Load() // set by who took it back
	r.taken = now
	if now == nil {
		return
	}
	if err := r.cache.pointTo(now.sha256); err != nil {
		r.logger.Error(err, "The cache keeps a bundle that was taken back", "folder", r.cache.folder)
	}
}
