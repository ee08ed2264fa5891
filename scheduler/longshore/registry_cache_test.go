package longshore

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestWhateverIsInTheWayInTheCacheIsReplaced spoils what an earlier process has kept: the next one has the bundle again.
func TestWhateverIsInTheWayInTheCacheIsReplaced(t *testing.T) {
	spoilers := map[string]func(current string) error{
		"a folder in the place of the link": func(current string) error {
			return errors.Join(os.Remove(current), os.MkdirAll(filepath.Join(current, "copied"), 0o700))
		},
		"a file in the place of the link": func(current string) error {
			return errors.Join(os.Remove(current), os.WriteFile(current, nil, 0o600))
		},
		"a link that leads nowhere": func(current string) error {
			return errors.Join(os.Remove(current), os.Symlink("gone", current))
		},
		"a pipe that nobody writes to": func(current string) error {
			path := filepath.Join(current, bundleFiles[0])
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
		},
		"half a bundle": func(current string) error { return os.Remove(filepath.Join(current, bundleFiles[1])) },
	}
	for name, spoil := range spoilers {
		t.Run(name, func(t *testing.T) {
			s, cache := newShelf(t, httptest.NewServer), t.TempDir()
			s.put("first", 1)
			before := follow(t, s.URL, cache)
			before.update(context.Background())
			if err := spoil(before.folder); err != nil {
				t.Fatal(err)
			}
			f, isDone := follow(t, s.URL, cache), make(chan struct{})
			go func() {
				f.update(context.Background())
				close(isDone)
			}()
			select {
			case <-isDone:
			case <-time.After(10 * time.Second):
				t.Fatal("the cache holds up its reader")
			}
			if !f.uses("first") || f.problem.Load() != nil || f.failures(t) != 1 {
				t.Fatalf("got %q and %v, expected the first bundle, fetched again", f.sha256(), f.problem.Load())
			}
			s.Close()
			restarted := follow(t, s.URL, cache)
			restarted.update(context.Background())
			if !restarted.uses("first") || restarted.failures(t) != 0 {
				t.Errorf("after a restart: got %q and %v, expected the first bundle", restarted.sha256(), restarted.problem.Load())
			}
		})
	}
}

// TestAWholeBundleIsNotMovedAway: the link to the current bundle must lead somewhere at all times.
func TestAWholeBundleIsNotMovedAway(t *testing.T) {
	cache := newCacheFolder(t.TempDir(), "address")
	var folders [2]os.FileInfo
	for i := range folders {
		part, err := cache.stage(map[string][]byte{bundleFiles[0]: []byte("same")})
		if err != nil {
			t.Fatal(err)
		}
		err = part.publish("name")
		part.remove()
		if err != nil {
			t.Fatal(err)
		}
		if folders[i], err = os.Stat(cache.current()); err != nil {
			t.Fatal(err)
		}
	}
	if !os.SameFile(folders[0], folders[1]) {
		t.Error("got another folder, expected the one that was there and whole")
	}
	if parts, _ := filepath.Glob(filepath.Join(cache.folder, partPrefix+"*")); len(parts) != 0 {
		t.Errorf("got %v, expected nothing left over", parts)
	}
}

// TestABundleThatIsLostOnTheWayIsFetchedAgain: what became of its files here is no fault of the bundle.
func TestABundleThatIsLostOnTheWayIsFetchedAgain(t *testing.T) {
	s := newShelf(t, httptest.NewServer)
	s.put("first", 1)
	f := follow(t, s.URL, t.TempDir())
	inner := f.load
	f.load = func(folder string) (*policy, error) {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
		return inner(folder)
	}
	f.update(context.Background())
	if f.current.Load() != nil || f.polls(t, resultNotKept) != 1 {
		t.Fatalf("got %q and %v, expected none, and the reason", f.sha256(), f.problem.Load())
	}
	f.load = inner
	f.next()
	if !f.uses("first") || f.problem.Load() != nil {
		t.Errorf("got %q and %v, expected the first bundle", f.sha256(), f.problem.Load())
	}
}
