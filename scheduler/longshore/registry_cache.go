package longshore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	currentLink = "current"
	partPrefix  = ".part-"
	// oldestPart is the age from which on what was not finished is left over from a process that ended.
	oldestPart = time.Hour
)

// cacheFolder keeps the last bundles of one address: each in a folder that is called as the SHA-256 of its policy.json,
// and a link to the current one. Nothing in it is changed once it is named: a process that ends at any time leaves a
// whole bundle behind.
type cacheFolder struct{ folder string }

// newCacheFolder gives every address a folder of its own: another address's bundle is never taken for this one's.
func newCacheFolder(folder, address string) cacheFolder {
	sum := sha256.Sum256([]byte(address))
	return cacheFolder{filepath.Join(folder, hex.EncodeToString(sum[:8]))}
}

func (c cacheFolder) current() string { return filepath.Join(c.folder, currentLink) }

// kept returns which bundle is the current one; "" = there is none.
func (c cacheFolder) kept() (string, error) {
	name, err := os.Readlink(c.current())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}

// staged is a bundle that is written, and not yet the current one.
type staged struct {
	cache  cacheFolder
	folder string
	files  map[string][]byte
}

// stage writes a bundle's files.
func (c cacheFolder) stage(files map[string][]byte) (*staged, error) {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(c.folder, partPrefix)
	if err != nil {
		return nil, err
	}
	made := &staged{c, folder, files}
	for name, data := range files {
		if err := writeSynced(filepath.Join(folder, name), data); err != nil {
			made.remove()
			return nil, err
		}
	}
	return made, nil
}

func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// publish names the bundle and makes it the current one. The one before is kept, for a take-back; older ones go.
func (s *staged) publish(name string) error {
	before, _ := s.cache.kept() // what is no link has no bundle to keep
	if err := s.settle(filepath.Join(s.cache.folder, name)); err != nil {
		return err
	}
	if err := s.cache.pointTo(name); err != nil {
		return err
	}
	s.cache.clear(name, before)
	return nil
}

// settle gives the bundle its name. One that is there and whole stays: without it the link would lead nowhere for a
// moment, in which the process may end.
func (s *staged) settle(target string) error {
	if holds(target, s.files) {
		return nil
	}
	if err := os.Rename(target, s.folder+"-old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(s.folder, target)
}

// holds tells whether a folder has these files, as they are.
func holds(folder string, files map[string][]byte) bool {
	for name, data := range files {
		path := filepath.Join(folder, name)
		status, err := os.Stat(path)
		if err != nil || !status.Mode().IsRegular() || status.Size() != int64(len(data)) {
			return false
		}
		if found, err := os.ReadFile(path); err != nil || !bytes.Equal(found, data) {
			return false
		}
	}
	return true
}

// remove takes away what has not been published.
func (s *staged) remove() {
	_ = os.RemoveAll(s.folder)
	_ = os.RemoveAll(s.folder + "-old")
}

// pointTo makes a bundle that is there the current one.
func (c cacheFolder) pointTo(name string) error {
	if _, err := os.Stat(filepath.Join(c.folder, name)); err != nil {
		return err
	}
	link := filepath.Join(c.folder, fmt.Sprintf("%s%d", partPrefix, time.Now().UnixNano()))
	if err := os.Symlink(name, link); err != nil {
		return err
	}
	if status, err := os.Lstat(c.current()); err == nil && status.Mode().Type() != fs.ModeSymlink {
		_ = os.RemoveAll(c.current()) // such as of a copy without links: it would be in the way for ever
	}
	if err := os.Rename(link, c.current()); err != nil {
		return errors.Join(err, os.Remove(link))
	}
	folder, err := os.Open(c.folder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// clear removes bundles other than these, and what processes that ended have left.
func (c cacheFolder) clear(keep ...string) {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	kept := map[string]bool{currentLink: true}
	for _, name := range keep {
		kept[name] = true
	}
	for _, entry := range entries {
		status, err := entry.Info()
		isYoung := err == nil && strings.HasPrefix(entry.Name(), partPrefix) && time.Since(status.ModTime()) < oldestPart
		if !kept[entry.Name()] && !isYoung {
			_ = os.RemoveAll(filepath.Join(c.folder, entry.Name()))
		}
	}
}
