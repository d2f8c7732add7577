// Package jsonl stores each session in one append-only file of JSON lines,
// <dir>/<id>.jsonl.
//
// [New] returns a [Store], which is a session.Store:
//
//	store := jsonl.New(dir, nil)
//	w, err := store.Create(ctx, session.Header{Version: session.Version, ID: id, Created: time.Now()})
//	err = w.Append(ctx, records...)
//	err = w.Close()
//	s, err := store.Load(ctx, id)
//
// The package promises: a record is on disk before Append returns, unless
// [Store.SyncEvery] says otherwise. A process that is killed at any byte leaves
// a file that opens again: [Store.Open] cuts an incomplete last line off and
// records that it did. Damage anywhere else is a *session.CorruptError. One
// writer at a time has a session, across processes. Folders have mode 0700,
// files 0600.
package jsonl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/meerkat/session"
)

const suffix = ".jsonl"

// Store is a session.Store over one folder. The first Create creates the
// folder. It is safe for concurrent use.
type Store struct {
	dir       string
	now       func() time.Time
	sync      func(*os.File) error
	syncEvery int // see SyncEvery
}

// New returns a Store over dir. The clock gives repairs their time; nil means
// time.Now.
func New(dir string, clock func() time.Time) *Store {
	if clock == nil {
		clock = time.Now
	}
	return &Store{dir: dir, now: clock, sync: (*os.File).Sync}
}

// SyncEvery makes appended records durable after every so many turns, at the
// end of a run and when the session is closed. 0, the default, makes every
// Append durable before it returns. A negative number never syncs. Any value
// but 0 can lose appended records when the machine loses power; a killed
// process loses nothing either way. Call it before the Store is used.
func (s *Store) SyncEvery(turns int) *Store {
	s.syncEvery = turns
	return s
}

// Path returns the file of a session, whether or not it exists.
func (s *Store) Path(id session.ID) string { return filepath.Join(s.dir, string(id)+suffix) }

// Create implements session.Store.
func (s *Store) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	if _, err := session.ParseID(string(h.ID)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("session folder %s: %w", s.dir, fileutil.Reason(err))
	}
	f, err := os.OpenFile(s.Path(h.ID), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("session %s: %w", h.ID, session.ErrExists)
	}
	if err != nil {
		return nil, fmt.Errorf("session folder %s: %w", s.dir, fileutil.Reason(err))
	}
	w := &writer{file: f, path: s.Path(h.ID), sync: s.sync, syncEvery: s.syncEvery}
	if err = fileutil.TryLock(f); err == nil {
		err = w.Append(ctx, h)
	}
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		_ = fileutil.RemoveLocked(f)
		return nil, err
	}
	return w, nil
}

// Open implements session.Store.
func (s *Store) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	w, err := s.openLocked(ctx, id)
	if err != nil {
		return session.Session{}, nil, err
	}
	out, err := s.readAndRepair(ctx, w)
	if err != nil {
		return session.Session{}, nil, errors.Join(err, w.Close())
	}
	return out, w, nil
}

// openLocked opens the file of a session and takes its lock.
func (s *Store) openLocked(ctx context.Context, id session.ID) (*writer, error) {
	if err := checkID(ctx, id); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.Path(id), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, openError(id, err)
	}
	if err := fileutil.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, &session.LockedError{ID: id}
		}
		return nil, fmt.Errorf("session %s: cannot lock %s: %w", id, f.Name(), err)
	}
	if !stillThere(f) { // deleted between open and lock
		_ = fileutil.CloseLocked(f) // nothing was written
		return nil, session.NotFound(id)
	}
	return &writer{file: f, path: f.Name(), sync: s.sync, syncEvery: s.syncEvery}, nil
}

// readAndRepair reads the session under its lock. It cuts an incomplete last
// line off and records that it did.
func (s *Store) readAndRepair(ctx context.Context, w *writer) (session.Session, error) {
	data, err := io.ReadAll(w.file)
	if err != nil {
		return session.Session{}, fmt.Errorf("session file %s: %w", w.path, fileutil.Reason(err))
	}
	p, err := session.Parse(w.path, data)
	if err != nil {
		return session.Session{}, err
	}
	if err := checkFileName(w.path, p.Session.ID); err != nil {
		return session.Session{}, err
	}
	w.updated, w.chain = p.Session.Updated, p.Chain
	if p.Good == len(data) && !p.Unended {
		return p.Session, nil
	}
	return s.repairTail(ctx, w, p, data[p.Good:])
}

// repairTail cuts torn off the file, ends its last line and appends a Repair.
func (s *Store) repairTail(ctx context.Context, w *writer, p session.Parsed, torn []byte) (session.Session, error) {
	if err := w.file.Truncate(int64(p.Good)); err != nil {
		return p.Session, fmt.Errorf("session file %s: cannot cut its torn tail: %w", w.path, fileutil.Reason(err))
	}
	if p.Unended {
		if _, err := w.file.Write([]byte{'\n'}); err != nil {
			return p.Session, fmt.Errorf("session file %s: %w", w.path, fileutil.Reason(err))
		}
	}
	repair := session.Repair{At: s.now().UTC(), Dropped: torn}
	if err := w.Append(ctx, repair); err != nil {
		return p.Session, err
	}
	return p.Session.With(repair)
}

// Load implements session.Store. It may run beside a writer; a record that is
// being written is not seen yet.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	if err := checkID(ctx, id); err != nil {
		return session.Session{}, err
	}
	data, err := os.ReadFile(s.Path(id))
	if err != nil {
		return session.Session{}, openError(id, err)
	}
	p, err := session.Parse(s.Path(id), data)
	if err == nil {
		err = checkFileName(s.Path(id), p.Session.ID)
	}
	return p.Session, err
}

// List implements session.Store. It reads one line of each file. It skips an
// empty file: its session is still being created, or its creation failed.
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Info, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session folder %s: %w", s.dir, fileutil.Reason(err))
	}
	var infos []session.Info
	for _, e := range entries {
		id, err := session.ParseID(strings.TrimSuffix(e.Name(), suffix))
		if err != nil || !strings.HasSuffix(e.Name(), suffix) {
			continue // not ours
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if info, begun := s.sessionInfo(id); begun {
			infos = append(infos, info)
		}
	}
	return f.Select(infos), nil
}

// sessionInfo returns what a listing says of a session. It reports false when
// the file is empty or gone.
func (s *Store) sessionInfo(id session.ID) (out session.Info, begun bool) {
	stat, err := os.Stat(s.Path(id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && stat.Size() == 0 {
		return out, false // deleted meanwhile, or not begun
	}
	if err == nil {
		out.Updated = stat.ModTime().UTC()
		out.Header, err = readHeader(s.Path(id))
	}
	if err != nil {
		out.Header, out.Problem = session.Header{ID: id, Created: out.Updated}, err
	}
	return out, true
}

// maxHeader bounds the first line of a file in bytes; a listing reads no more.
const maxHeader = 64 << 10

// readHeader parses the first line of a file and nothing more.
func readHeader(path string) (session.Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return session.Header{}, fmt.Errorf("session file %s: %w", path, fileutil.Reason(err))
	}
	defer func() { _ = f.Close() }() // only read
	line, err := bufio.NewReader(io.LimitReader(f, maxHeader)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return session.Header{}, fmt.Errorf("session file %s: %w", path, fileutil.Reason(err))
	}
	p, err := session.Parse(path, line)
	if err == nil {
		err = checkFileName(path, p.Session.ID)
	}
	return p.Session.Header, err
}

// Delete implements session.Store.
func (s *Store) Delete(ctx context.Context, id session.ID) error {
	w, err := s.openLocked(ctx, id)
	if err != nil {
		return err
	}
	if err := fileutil.RemoveLocked(w.file); err != nil {
		return fmt.Errorf("session file %s: %w", w.path, fileutil.Reason(err))
	}
	return syncDir(s.dir)
}

// checkFileName returns an error if the file holds another session than its name
// says, because it was copied.
func checkFileName(path string, id session.ID) error {
	if strings.TrimSuffix(filepath.Base(path), suffix) == string(id) {
		return nil
	}
	return &session.CorruptError{Path: path, Line: 1, Err: fmt.Errorf("it belongs to session %s", id)}
}

// checkID rejects ids that could escape the folder, and a context that has
// ended.
func checkID(ctx context.Context, id session.ID) error {
	if _, err := session.ParseID(string(id)); err != nil {
		return session.NotFound(id)
	}
	return ctx.Err()
}

// openError names the session in an error of opening its file.
func openError(id session.ID, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return session.NotFound(id)
	}
	return fmt.Errorf("session %s: %w", id, err)
}
