// Package sqlite stores the sessions of a folder in one SQLite database.
//
// Use it instead of package jsonl when a folder holds many sessions: a listing
// reads an index instead of one file a session. [Open] returns a [Store], which
// is a session.Store and must be closed:
//
//	store, err := sqlite.Open(dir) // dir/sessions.db
//	defer store.Close()
//	w, err := store.Create(ctx, session.Header{Version: session.Version, ID: id, Created: time.Now()})
//
// The package promises: a record is on disk before Append returns. An Append is
// one transaction, so a crash leaves all of it or nothing. Several processes may
// use one folder, and one writer at a time has a session. The database has mode
// 0600. The records in it are the lines that package jsonl would write, and a session that
// lacks its last rows is refused.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/internal/rows"
)

// schemaVersion is what this package writes into the database; a newer one is
// refused.
const schemaVersion = 1

const (
	busyTimeout = 10 * time.Second      // how long a locked database is waited for
	busyRetry   = 20 * time.Millisecond // between two tries to open a new one
)

const schema = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, header BLOB NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sessions_updated ON sessions (updated, id);
CREATE TABLE records (session TEXT NOT NULL, seq INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID;
PRAGMA user_version = 1;`

// countSchema counts the rows of each session beside them: a damaged byte may hide the last
// ones from SQLite. Older programs do not know the table, so that a session may have more.
const countSchema = `
CREATE TABLE IF NOT EXISTS counts (session TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;`

// Store is a session.Store over <dir>/sessions.db. Several processes may use
// one folder at once. Close it when it is no longer needed.
type Store struct {
	dir, path string
	db        *sql.DB
	file      fs.FileInfo // of the database when it was opened
}

// Open opens the database in dir, and creates both if there are none. A
// database of a newer program is a *session.VersionError.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "locks"), 0o700); err != nil {
		return nil, fmt.Errorf("session folder %s: %w", dir, fileutil.Reason(err))
	}
	s := &Store{dir: dir, path: filepath.Join(dir, "sessions.db")}
	// SQLite would make the file readable for others.
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("session database %s: %w", s.path, fileutil.Reason(err))
	}
	s.file, err = f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("session database %s: %w", s.path, fileutil.Reason(err))
	}
	if s.db, err = sql.Open("sqlite", s.dataSource()); err != nil {
		return nil, s.wrapError(err)
	}
	s.db.SetMaxOpenConns(4) // one writes at a time; the others read
	if err := s.prepareDatabase(); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// prepareDatabase opens the first connection and creates the tables. The first
// connection turns a new database to write-ahead logging; when two do so at the
// same time, SQLite answers SQLITE_BUSY at once, whatever busy_timeout says, so
// that it is tried again here.
func (s *Store) prepareDatabase() error {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	for {
		err := s.createSchema(ctx)
		if !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(busyRetry):
		}
	}
}

func isBusy(err error) bool { return err != nil && strings.Contains(err.Error(), "SQLITE_BUSY") }

// isFull reports whether SQLite found no space, for the database or for the index of its
// write-ahead log, which readers need, too.
func isFull(err error) bool {
	var failed *driver.Error
	return errors.As(err, &failed) && (failed.Code()&0xff == sqlite3.SQLITE_FULL || failed.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// dataSource is the data source name: a commit is on disk before it returns, and
// a locked database is waited for, busyTimeout at most.
func (s *Store) dataSource() string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)"}}
	return "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
}

// createSchema creates the tables of a new database, and refuses one that a newer
// program wrote.
func (s *Store) createSchema(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case version > schemaVersion:
			return &session.VersionError{Path: s.path, Have: version, Newest: schemaVersion}
		case version == schemaVersion:
			_, err := tx.ExecContext(ctx, countSchema)
			return err
		}
		_, err := tx.ExecContext(ctx, schema+countSchema)
		return err
	})
}

// Close closes the database. Writers must be closed before.
func (s *Store) Close() error { return s.wrapError(s.db.Close()) }

// inTransaction runs do in a transaction, which is durable when it returns nil.
func (s *Store) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	// SQLite would keep writing into a file that was removed.
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(now, s.file) {
		return fmt.Errorf("session database %s: somebody removed or replaced it while it was open; what was written since then is lost", s.path)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrapError(err)
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // err says what happened
		return s.wrapError(err)
	}
	return s.wrapError(tx.Commit())
}

// wrapError names the database in err, unless err already says which session it
// concerns or the context ended. It returns nil for nil.
func (s *Store) wrapError(err error) error {
	var version *session.VersionError
	var corrupt *session.CorruptError
	switch {
	case err == nil, errors.As(err, &version), errors.As(err, &corrupt), errors.Is(err, session.ErrExists),
		errors.Is(err, session.ErrNotFound), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	text := err.Error()
	if isBusy(err) {
		return fmt.Errorf("session database %s: another program keeps it locked; try again when that has ended: %w", s.path, err)
	}
	if isFull(err) {
		return fmt.Errorf("session database %s: no space left for it: %w", s.path, err)
	}
	if strings.Contains(text, "malformed") || strings.Contains(text, "not a database") {
		return &session.CorruptError{Path: s.path, Err: err}
	}
	return fmt.Errorf("session database %s: %w", s.path, err)
}

// Create implements session.Store.
func (s *Store) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	header, w, err := rows.NewSession(h)
	if err != nil {
		return nil, err
	}
	switch err := s.checkExists(ctx, h.ID); {
	case err == nil:
		return nil, fmt.Errorf("session %s: %w", h.ID, session.ErrExists)
	case !errors.Is(err, session.ErrNotFound):
		return nil, err
	}
	lock, err := s.takeLock(h.ID)
	if err != nil {
		return nil, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?,?,?,?)", string(h.ID), header.Lines, header.Updated, header.Updated); err != nil {
			return err
		}
		return insertRow(ctx, tx, h.ID, header)
	})
	if err != nil {
		return nil, errors.Join(err, fileutil.CloseLocked(lock))
	}
	return s.bindWriter(w, lock), nil
}

// insertRow stores a row of a session and counts it.
func insertRow(ctx context.Context, tx *sql.Tx, id session.ID, r rows.Row) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO records VALUES (?,?,?)", string(id), r.Number, r.Lines); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO counts VALUES (?,?)", string(id), r.Number+1)
	return err
}

// bindWriter makes w write into s until it is closed, which drops the lock.
func (s *Store) bindWriter(w *rows.Writer, lock *os.File) *rows.Writer {
	w.Release = func() error { return fileutil.CloseLocked(lock) }
	w.Insert = func(ctx context.Context, r rows.Row) error {
		return s.inTransaction(ctx, func(tx *sql.Tx) error {
			if err := insertRow(ctx, tx, w.ID, r); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE sessions SET updated = max(updated, ?) WHERE id = ?", r.Updated, string(w.ID))
			return err
		})
	}
	return w
}

// checkExists returns nil if there is a session of that id, else ErrNotFound.
func (s *Store) checkExists(ctx context.Context, id session.ID) error {
	var one int
	err := s.db.QueryRowContext(ctx, "SELECT 1 FROM sessions WHERE id = ?", string(id)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return session.NotFound(id)
	}
	return s.wrapError(err)
}

// takeLock takes the lock of a session: a file, so that it ends with the process.
func (s *Store) takeLock(id session.ID) (*os.File, error) {
	path := filepath.Join(s.dir, "locks", string(id)+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("session lock %s: %w", path, fileutil.Reason(err))
	}
	if err := fileutil.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, &session.LockedError{ID: id}
		}
		return nil, fmt.Errorf("session lock %s: %w", path, err)
	}
	return f, nil
}

// Open implements session.Store. SQLite itself rolls an incomplete transaction
// back before Open reads.
func (s *Store) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	lock, err := s.lockExisting(ctx, id)
	if err != nil {
		return session.Session{}, nil, err
	}
	p, next, err := s.loadSession(ctx, id)
	if err != nil {
		return p.Session, nil, errors.Join(err, fileutil.CloseLocked(lock))
	}
	return p.Session, s.bindWriter(&rows.Writer{ID: id, Next: next, Chain: p.Chain}, lock), nil
}

// lockExisting takes the lock of a session that exists. It creates no lock file
// for one that does not.
func (s *Store) lockExisting(ctx context.Context, id session.ID) (*os.File, error) {
	if err := s.checkExists(ctx, id); err != nil {
		return nil, err
	}
	lock, err := s.takeLock(id)
	if err != nil {
		return nil, err
	}
	if err := s.checkExists(ctx, id); err != nil { // deleted meanwhile
		return nil, errors.Join(err, fileutil.CloseLocked(lock))
	}
	return lock, nil
}

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	p, _, err := s.loadSession(ctx, id)
	return p.Session, err
}

// loadSession returns a session and the number of its next row.
func (s *Store) loadSession(ctx context.Context, id session.ID) (session.Parsed, int, error) {
	all := rows.Rows{Name: s.recordsPath(id)}
	// Before the rows: a writer may add some meanwhile.
	err := s.db.QueryRowContext(ctx, "SELECT rows FROM counts WHERE session = ?", string(id)).Scan(&all.Least)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return session.Parsed{}, 0, s.wrapError(err)
	}
	found, err := s.db.QueryContext(ctx, "SELECT seq, lines FROM records WHERE session = ? ORDER BY seq", string(id))
	if err != nil {
		return session.Parsed{}, 0, s.wrapError(err)
	}
	defer func() { _ = found.Close() }() // found.Err reports
	for found.Next() {
		var number int
		var lines sql.RawBytes
		err := found.Scan(&number, &lines)
		if err == nil {
			err = all.Add(number, lines)
		}
		if err != nil {
			return session.Parsed{}, 0, s.wrapError(err)
		}
	}
	if err := found.Err(); err != nil {
		return session.Parsed{}, 0, s.wrapError(err)
	}
	if all.Next == 0 && s.checkExists(ctx, id) != nil { // deleted meanwhile, or by an older program
		all.Least = 0
	}
	p, err := all.Parse(id)
	return p, all.Next, err
}

// recordsPath names the records of a session in errors.
func (s *Store) recordsPath(id session.ID) string { return s.path + "#" + string(id) }

// List implements session.Store. It reads the index and no conversation.
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Info, error) {
	limit := f.Limit
	if limit == 0 {
		limit = -1
	}
	found, err := s.db.QueryContext(ctx, `SELECT id, header, updated FROM sessions
		WHERE created >= ? AND updated >= ? ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?`,
		rows.UnixNano(f.CreatedAfter), rows.UnixNano(f.UpdatedAfter), limit, max(f.Offset, 0))
	if err != nil {
		return nil, s.wrapError(err)
	}
	defer func() { _ = found.Close() }() // found.Err reports
	var infos []session.Info
	for found.Next() {
		var id session.ID
		var header sql.RawBytes
		var updated int64
		if err := found.Scan(&id, &header, &updated); err != nil {
			return nil, s.wrapError(err)
		}
		infos = append(infos, rows.Info(s.recordsPath(id), id, header, time.Unix(0, updated).UTC()))
	}
	return infos, s.wrapError(found.Err())
}

// Delete implements session.Store.
func (s *Store) Delete(ctx context.Context, id session.ID) error {
	lock, err := s.lockExisting(ctx, id)
	if err != nil {
		return err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		for _, query := range []string{"DELETE FROM records WHERE session = ?", "DELETE FROM counts WHERE session = ?", "DELETE FROM sessions WHERE id = ?"} {
			if _, err := tx.ExecContext(ctx, query, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, fileutil.CloseLocked(lock))
	}
	if err := fileutil.RemoveLocked(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session lock %s: %w", lock.Name(), fileutil.Reason(err))
	}
	return nil
}
