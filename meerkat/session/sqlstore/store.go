// Package sqlstore stores sessions in an SQL database: those of a folder in SQLite, or those
// that several machines share in PostgreSQL. Both are a session.Store and must be closed:
//
//	store, err := sqlstore.OpenSQLite(dir) // dir/sessions.db
//	store, err := sqlstore.OpenPostgres(ctx, sqlstore.Options{URL: "postgres://rkat@db/rkat", Name: "replica-1"})
//	defer store.Close()
//	w, err := store.Create(ctx, session.Header{Version: session.Version, ID: id, Created: time.Now()})
//
// A session is kept in numbered rows: row 0 is the header, and each Append adds one row with
// the lines of its records, which are those that package jsonl would write. A row is committed
// before Append returns, whole and once or not at all. One writer at a time has a session, over
// all processes and machines that use the database. A listing reads an index and no
// conversation. A session that lacks rows is refused.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// store is a session.Store over one database. The dialect does what SQLite and PostgreSQL do
// in different ways.
type store struct {
	db      *sql.DB
	dialect dialect
}

// dialect is one kind of database. Its errors are those of the database, and of package
// session where they say something about a session.
type dialect interface {
	// writeStatement returns a statement in the names of the dialect's tables and columns: {sessions},
	// {records} and {number}.
	writeStatement(text string) string
	// recordsPath names the records of a session in errors.
	recordsPath(id session.ID) string
	// wrapError names the database in err, unless err is one of package session or the end of ctx.
	wrapError(ctx context.Context, err error) error
	// withTimeout bounds the time of one statement.
	withTimeout(ctx context.Context) (context.Context, context.CancelFunc)

	// takeLock takes the lock of a session, which exists unless it isNew. It fails with a
	// *session.LockedError where another writes the session, and with session.ErrNotFound where
	// another creates or deletes it.
	takeLock(ctx context.Context, id session.ID, isNew bool) (lock, error)
	// insertSession stores a session with the row of its header, and reports false if its id is taken.
	insertSession(ctx context.Context, id session.ID, header row) (created bool, err error)
	// countWriter makes the holder of the lock the writer of an existing session, and returns
	// what insertRow must be given.
	countWriter(ctx context.Context, id session.ID) (writer int64, err error)
	// insertRow stores a row and moves on the time of the session, never back.
	insertRow(ctx context.Context, id session.ID, writer int64, r row) error
	// leastRows returns how many rows of a session the database has noted; 0: it notes none.
	leastRows(ctx context.Context, id session.ID) (int, error)
	deleteSession(ctx context.Context, id session.ID) error
}

// lock is the write lock of a session.
type lock interface {
	giveBack() error
	// removeLock gives back the lock of a session that is deleted.
	removeLock() error
}

// Create implements session.Store.
func (s *store) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	if _, err := session.ParseID(string(h.ID)); err != nil {
		return nil, err
	}
	w := &writer{id: h.ID, next: 1}
	line, err := w.chain.AppendRecord(nil, h)
	if err != nil {
		return nil, err
	}
	header := row{lines: line, updated: unixNano(h.Created)}
	exists := fmt.Errorf("session %s: %w", h.ID, session.ErrExists)
	held, err := s.dialect.takeLock(ctx, h.ID, true)
	// somebody writes or creates it
	if errors.As(err, new(*session.LockedError)) || errors.Is(err, session.ErrNotFound) {
		return nil, exists
	}
	if err != nil {
		return nil, s.dialect.wrapError(ctx, err)
	}
	created, err := s.dialect.insertSession(ctx, h.ID, header)
	if err == nil && !created {
		err = exists
	}
	if err != nil {
		return nil, errors.Join(s.dialect.wrapError(ctx, err), held.giveBack())
	}
	return s.bindWriter(w, held, 1), nil
}

// bindWriter makes w write into s until it is closed, which gives the lock back.
func (s *store) bindWriter(w *writer, held lock, number int64) *writer {
	w.release = held.giveBack
	w.insert = func(ctx context.Context, r row) error {
		return s.dialect.wrapError(ctx, s.dialect.insertRow(ctx, w.id, number, r))
	}
	return w
}

// Open implements session.Store. A row is stored whole or not at all, so there is nothing to
// repair.
func (s *store) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	held, number, err := s.takeOver(ctx, id)
	if err != nil {
		return session.Session{}, nil, err
	}
	p, next, err := s.loadSession(ctx, id)
	if err != nil {
		return p.Session, nil, errors.Join(err, held.giveBack())
	}
	return p.Session, s.bindWriter(&writer{id: id, next: next, chain: p.Chain}, held, number), nil
}

// takeOver takes the lock of a session that exists, and becomes its writer.
func (s *store) takeOver(ctx context.Context, id session.ID) (held lock, number int64, err error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return nil, 0, session.NotFound(id)
	}
	if held, err = s.dialect.takeLock(ctx, id, false); err != nil {
		return nil, 0, s.dialect.wrapError(ctx, err)
	}
	if number, err = s.dialect.countWriter(ctx, id); err != nil { // session.ErrNotFound: deleted meanwhile
		return nil, 0, errors.Join(s.dialect.wrapError(ctx, err), held.giveBack())
	}
	return held, number, nil
}

// Load implements session.Store.
func (s *store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return session.Session{}, session.NotFound(id)
	}
	p, _, err := s.loadSession(ctx, id)
	return p.Session, err
}

// loadSession returns a session and the number of its next row.
func (s *store) loadSession(ctx context.Context, id session.ID) (session.Parsed, int, error) {
	bound, cancel := s.dialect.withTimeout(ctx)
	defer cancel()
	all := rows{name: s.dialect.recordsPath(id)}
	least, err := s.dialect.leastRows(bound, id) // before the rows: a writer may add some meanwhile
	if err == nil {
		var number int
		var lines sql.RawBytes
		err = s.eachRow(bound, func() error { return all.addRow(number, lines) }, []any{&number, &lines},
			"SELECT {number}, lines FROM {records} WHERE session = $1 ORDER BY {number}", string(id))
	}
	if err == nil && all.next < least && (all.next > 0 || s.hasSession(bound, id)) { // not deleted meanwhile
		err = all.missingError()
	}
	if err != nil {
		return session.Parsed{}, 0, s.dialect.wrapError(ctx, err)
	}
	p, err := all.parseRows(id)
	return p, all.next, err
}

// eachRow scans each row of a statement into columns and calls do.
func (s *store) eachRow(ctx context.Context, do func() error, columns []any, statement string, args ...any) error {
	found, err := s.db.QueryContext(ctx, s.dialect.writeStatement(statement), args...)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // found.Err reports
	for found.Next() {
		if err := found.Scan(columns...); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
	}
	return found.Err()
}

// hasSession reports whether there is a session of that id, false also where that is unknown.
func (s *store) hasSession(ctx context.Context, id session.ID) bool {
	var one int
	return s.db.QueryRowContext(
		ctx, s.dialect.writeStatement("SELECT 1 FROM {sessions} WHERE id = $1"), string(id),
	).Scan(&one) == nil
}

// List implements session.Store.
func (s *store) List(ctx context.Context, f session.Filter) (infos []session.Info, err error) {
	bound, cancel := s.dialect.withTimeout(ctx)
	defer cancel()
	limit := f.Limit
	if limit <= 0 {
		limit = math.MaxInt64
	}
	var id session.ID
	var header sql.RawBytes
	var updated int64
	err = s.eachRow(bound, func() error {
		infos = append(infos, infoOf(s.dialect.recordsPath(id), id, header, time.Unix(0, updated).UTC()))
		return nil
	}, []any{&id, &header, &updated}, `SELECT id, header, updated FROM {sessions}
		WHERE created >= $1 AND updated >= $2 ORDER BY updated DESC, id DESC LIMIT $3 OFFSET $4`,
		unixNano(f.CreatedAfter), unixNano(f.UpdatedAfter), limit, max(f.Offset, 0))
	return infos, s.dialect.wrapError(ctx, err)
}

// Delete implements session.Store.
func (s *store) Delete(ctx context.Context, id session.ID) error {
	held, _, err := s.takeOver(ctx, id)
	if err != nil {
		return err
	}
	if err := s.dialect.deleteSession(ctx, id); err != nil {
		return errors.Join(s.dialect.wrapError(ctx, err), held.giveBack())
	}
	return held.removeLock()
}

// nameTables returns a function for dialect.statement.
func nameTables(sessions, records, number string) func(string) string {
	return strings.NewReplacer("{sessions}", sessions, "{records}", records, "{number}", number).Replace
}
