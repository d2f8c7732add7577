package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// NewFiles returns a Store over a folder, which the first Put creates: one folder for
// each session, with mode 0700, and one file for each artifact, with mode 0600. Several
// processes may use it at once.
func NewFiles(dir string, o Options) Store {
	return &fileStore{dir, o.withDefaults(), fileutil.CreateFile}
}

type fileStore struct {
	dir     string
	options Options
	create  func(path string, data []byte, perm fs.FileMode) error // tests fill the disk
}

const (
	suffix   = ".artifact"
	lockName = ".lock"
)

func (s *fileStore) folderOf(owner session.ID) string { return filepath.Join(s.dir, string(owner)) }

func (s *fileStore) pathOf(id ID) string {
	return filepath.Join(s.folderOf(id.Session()), id.fileName()+suffix)
}

// Put implements Store.
func (s *fileStore) Put(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return Ref{}, err
	}
	ref, err := s.options.makeRef(owner, len(data), ttl)
	if err != nil {
		return Ref{}, err
	}
	h := header{Ref: ref}
	bare, err := h.encodeLine()
	if err != nil {
		return Ref{}, err
	}
	h.Checksum = sumFile(bare, data)
	line, err := h.encodeLine()
	if err != nil {
		return Ref{}, err
	}
	file := append(line, data...)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return Ref{}, storageError(s.dir, err)
	}
	if err := s.underLock(func() error {
		if err := s.makeRoom(ref); err != nil {
			return err
		}
		folder := s.folderOf(ref.Session)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return storageError(folder, err)
		}
		if err := s.create(s.pathOf(ref.ID), file, 0o600); err != nil {
			return storageError(folder, err)
		}
		return nil
	}); err != nil {
		return Ref{}, err
	}
	return ref, nil
}

// makeRoom checks the limits. Artifacts whose time is up do not count, and are removed
// when there is no room otherwise.
func (s *fileStore) makeRoom(ref Ref) error {
	have, err := s.countUsage(ref.Session)
	if err != nil {
		return err
	}
	if s.options.Limits.checkRoom(have, ref.Size) == nil {
		return nil
	}
	if _, err := s.removeExpired(ref.Created); err != nil {
		return err
	}
	if have, err = s.countUsage(ref.Session); err != nil {
		return err
	}
	return s.options.Limits.checkRoom(have, ref.Size)
}

func (s *fileStore) countUsage(owner session.ID) (have usage, err error) {
	err = s.eachFile(func(id ID) error {
		info, err := os.Stat(s.pathOf(id))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return storageError(s.pathOf(id), err)
		}
		if id.Session() == owner {
			have.ofSession++
		}
		have.total += max(0, info.Size()-headerSize)
		return nil
	})
	return have, err
}

// eachFile calls f with every artifact in the folder. Other files are not ours.
func (s *fileStore) eachFile(f func(ID) error) error {
	folders, err := readFolder(s.dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if owner, err := session.ParseID(folder.Name()); err == nil && folder.IsDir() {
			if err := s.eachOf(owner, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOf calls f with every artifact of a session.
func (s *fileStore) eachOf(owner session.ID, f func(ID) error) error {
	files, err := readFolder(s.folderOf(owner))
	if err != nil {
		return err
	}
	for _, file := range files {
		name, isOurs := strings.CutSuffix(file.Name(), suffix)
		if id, err := ParseID(string(owner) + "." + name); isOurs && err == nil {
			if err := f(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// Get implements Store.
func (s *fileStore) Get(ctx context.Context, reader session.ID, id ID) ([]byte, Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, Ref{}, err
	}
	if err := s.options.checkReader(ctx, reader, id); err != nil {
		return nil, Ref{}, err
	}
	data, ref, err := readFile(s.pathOf(id), id)
	if err == nil && ref.ExpiredAt(s.options.Now()) {
		err = notFound(id)
	}
	if err != nil {
		return nil, Ref{}, err
	}
	return data, ref, nil
}

// List implements Store. A damaged artifact does not hide the others: it is left out.
func (s *fileStore) List(ctx context.Context, owner session.ID) ([]Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := session.ParseID(string(owner)); err != nil {
		return nil, err
	}
	var refs []Ref
	err := s.eachOf(owner, func(id ID) error {
		if ref, err := readRef(s.pathOf(id), id); err == nil && !ref.ExpiredAt(s.options.Now()) {
			refs = append(refs, ref)
		}
		return ctx.Err()
	})
	sortRefs(refs)
	return refs, err
}

// Delete implements Store. It also removes what is damaged.
func (s *fileStore) Delete(ctx context.Context, owner session.ID, id ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkOwner(owner, id); err != nil {
		return err
	}
	if ref, err := readRef(s.pathOf(id), id); err == nil && ref.ExpiredAt(s.options.Now()) ||
		errors.Is(err, ErrNotFound) {
		return notFound(id)
	}
	return s.underLock(func() error { return s.removeFile(id) })
}

// removeFile removes a file, and the folder of the session with its last one.
func (s *fileStore) removeFile(id ID) error {
	err := os.Remove(s.pathOf(id))
	if errors.Is(err, fs.ErrNotExist) {
		return notFound(id)
	}
	if err != nil {
		return storageError(s.pathOf(id), err)
	}
	if os.Remove(s.folderOf(id.Session())) == nil { // empty
		return storageError(s.dir, fileutil.SyncDir(s.dir))
	}
	return storageError(s.folderOf(id.Session()), fileutil.SyncDir(s.folderOf(id.Session())))
}

// Sweep implements Store. It also removes what a Put left that was killed.
func (s *fileStore) Sweep(ctx context.Context, now time.Time) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	err = s.underLock(func() error {
		removed, err = s.removeExpired(now)

		// Nobody writes a temporary file while the lock is held.
		torn, globErr := filepath.Glob(filepath.Join(s.dir, "*", ".*"+suffix+"-*"))
		err = errors.Join(err, globErr)
		for _, path := range torn {
			if _, perr := session.ParseID(filepath.Base(filepath.Dir(path))); perr == nil {
				err = errors.Join(err, storageError(path, os.Remove(path)))
			}
		}
		return err
	})
	return removed, err
}

func (s *fileStore) removeExpired(now time.Time) (removed int, err error) {
	err = s.eachFile(func(id ID) error {
		ref, err := readRef(s.pathOf(id), id)
		if err != nil || !ref.ExpiredAt(now) {
			return nil //nolint:nilerr // what is damaged says so when it is read
		}
		removed++
		return s.removeFile(id)
	})
	return removed, err
}

// underLock does something that no other process does at the same time.
func (s *fileStore) underLock(do func() error) error {
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return storageError(s.dir, err)
	}
	defer func() { _ = fileutil.CloseLocked(f) }() // it holds nothing
	if err := fileutil.Lock(f); err != nil {
		return storageError(s.dir, err)
	}
	return do()
}
