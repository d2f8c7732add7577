package sqlstore

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
)

// sqliteVersion is what this package writes into the database; a newer one is
// refused.
const sqliteVersion = 1

const (
	busyTimeout = 10 * time.Second      // how long a locked database is waited for
	busyRetry   = 20 * time.Millisecond // between two tries to open a new one
)

const sqliteSchema = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, header BLOB NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sessions_updated ON sessions (updated, id);
CREATE TABLE records (session TEXT NOT NULL, seq INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID;
PRAGMA user_version = 1;`

// countSchema counts the rows of each session beside them: a damaged byte may hide the last
// ones from SQLite. Older programs do not know the table, so that a session may have more.
const countSchema = `
CREATE TABLE IF NOT EXISTS counts (session TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;`

// SQLite is a session.Store over <dir>/sessions.db. Several processes may use
// one folder at once. The database has mode 0600. Close it when it is no longer needed.
type SQLite struct {
	store
	dir, path string
	file      fs.FileInfo // of the database when it was opened
}

// OpenSQLite opens the database in dir, and creates both if there are none. A
// database of a newer program is a *session.VersionError.
func OpenSQLite(dir string) (*SQLite, error) {
	if err := os.MkdirAll(filepath.Join(dir, "locks"), 0o700); err != nil {
		return nil, fmt.Errorf("session folder %s: %w", dir, fileutil.Reason(err))
	}
	s := &SQLite{dir: dir, path: filepath.Join(dir, "sessions.db")}
	s.dialect = s
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
		return nil, s.wrapError(context.Background(), err)
	}
	s.db.SetMaxOpenConns(4) // one writes at a time; the others read
	if err := s.prepareDatabase(); err != nil {
		return nil, errors.Join(s.wrapError(context.Background(), err), s.db.Close())
	}
	return s, nil
}

// prepareDatabase opens the first connection and creates the tables. The first
// connection turns a new database to write-ahead logging; when two do so at the
// same time, SQLite answers SQLITE_BUSY at once, whatever busy_timeout says, so
// that it is tried again here.
func (s *SQLite) prepareDatabase() error {
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
	return errors.As(err, &failed) && (failed.Code()&0xff == sqlite3.SQLITE_FULL ||
		failed.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// dataSource is the data source name: a commit is on disk before it returns, and
// a locked database is waited for, busyTimeout at most.
func (s *SQLite) dataSource() string {
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)",
		},
	}
	return "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + q.Encode()
}

// createSchema creates the tables of a new database, and refuses one that a newer
// program wrote.
func (s *SQLite) createSchema(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case version > sqliteVersion:
			return &session.VersionError{Path: s.path, Have: version, Newest: sqliteVersion}
		case version == sqliteVersion:
			_, err := tx.ExecContext(ctx, countSchema)
			return err
		}
		_, err := tx.ExecContext(ctx, sqliteSchema+countSchema)
		return err
	})
}

// Close closes the database. Writers must be closed before.
func (s *SQLite) Close() error { return s.wrapError(context.Background(), s.db.Close()) }

// inTransaction runs do in a transaction, which is durable when it returns nil.
func (s *SQLite) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	// SQLite would keep writing into a file that was removed.
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(now, s.file) {
		return errors.New("somebody removed or replaced it while it was open; what was written since then is lost")
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // err says what happened
		return err
	}
	return tx.Commit()
}

// execAll runs statements with the same arguments.
func execAll(ctx context.Context, tx *sql.Tx, args []any, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// wrapError names the database in err, unless err already says which session it
// concerns or the context ended. It returns nil for nil.
func (s *SQLite) wrapError(_ context.Context, err error) error {
	switch {
	case err == nil, errors.As(
		err, new(*session.VersionError),
	), errors.As(
		err, new(*session.CorruptError),
	), errors.As(err, new(*session.LockedError)), errors.As(err, new(*sqliteLockError)),
		errors.Is(err, session.ErrExists), errors.Is(err, session.ErrNotFound), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return err
	}
	text := err.Error()
	if isBusy(err) {
		return fmt.Errorf(
			"session database %s: another program keeps it locked; try again when that has ended: %w", s.path, err,
		)
	}
	if isFull(err) {
		return fmt.Errorf("session database %s: no space left for it: %w", s.path, err)
	}
	if strings.Contains(text, "malformed") || strings.Contains(text, "not a database") {
		return &session.CorruptError{Path: s.path, Err: err}
	}
	return fmt.Errorf("session database %s: %w", s.path, err)
}

func (s *SQLite) writeStatement(text string) string {
	return nameTables("sessions", "records", "seq")(text)
}

func (s *SQLite) recordsPath(id session.ID) string { return s.path + "#" + string(id) }

// withTimeout bounds nothing: busyTimeout does.
func (s *SQLite) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

// fileLock is a locked file, so that the lock ends with the process.
type fileLock struct{ *os.File }

func (l fileLock) giveBack() error { return fileutil.CloseLocked(l.File) }

func (l fileLock) removeLock() error {
	if err := fileutil.RemoveLocked(l.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return newLockError(l.Name(), err)
	}
	return nil
}

// sqliteLockError says that the lock file of a session cannot be used.
type sqliteLockError struct{ error }

func newLockError(path string, err error) error {
	return &sqliteLockError{fmt.Errorf("session lock %s: %w", path, fileutil.Reason(err))}
}

// takeLock creates no lock file for a session that does not exist.
func (s *SQLite) takeLock(ctx context.Context, id session.ID, isNew bool) (lock, error) {
	if _, err := s.countWriter(ctx, id); err != nil && !isNew {
		return nil, err
	}
	path := filepath.Join(s.dir, "locks", string(id)+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, newLockError(path, err)
	}
	if err := fileutil.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, fileutil.ErrLocked) {
			return nil, &session.LockedError{ID: id}
		}
		return nil, newLockError(path, err)
	}
	return fileLock{f}, nil
}

func (s *SQLite) insertSession(ctx context.Context, id session.ID, header row) (created bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(
			ctx, "INSERT OR IGNORE INTO sessions VALUES ($1,$2,$3,$3)", string(id), header.lines, header.updated,
		)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		created = true
		return insertCounted(ctx, tx, id, header)
	})
	return created, err
}

// insertCounted stores a row of a session and counts it.
func insertCounted(ctx context.Context, tx *sql.Tx, id session.ID, r row) error {
	return execAll(ctx, tx, []any{string(id), r.number, r.lines},
		"INSERT INTO records VALUES ($1,$2,$3)", "INSERT OR REPLACE INTO counts VALUES ($1,$2+1)")
}

// countWriter only looks whether the session exists: the lock keeps other writers out.
func (s *SQLite) countWriter(ctx context.Context, id session.ID) (writer int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT 1 FROM sessions WHERE id = $1", string(id)).Scan(&writer)
	if errors.Is(err, sql.ErrNoRows) {
		err = session.NotFound(id)
	}
	return writer, err
}

func (s *SQLite) insertRow(ctx context.Context, id session.ID, _ int64, r row) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := insertCounted(ctx, tx, id, r); err != nil {
			return err
		}
		_, err := tx.ExecContext(
			ctx, "UPDATE sessions SET updated = max(updated, $1) WHERE id = $2", r.updated, string(id),
		)
		return err
	})
}

func (s *SQLite) leastRows(ctx context.Context, id session.ID) (least int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT rows FROM counts WHERE session = $1", string(id)).Scan(&least)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return least, err
}

func (s *SQLite) deleteSession(ctx context.Context, id session.ID) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		return execAll(ctx, tx, []any{string(id)},
			"DELETE FROM records WHERE session = $1", "DELETE FROM counts WHERE session = $1",
			"DELETE FROM sessions WHERE id = $1")
	})
}
