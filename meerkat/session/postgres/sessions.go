package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/internal/rows"
)

// Create implements session.Store.
func (s *Store) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	header, w, err := rows.NewSession(h)
	if err != nil {
		return nil, err
	}
	exists := fmt.Errorf("session %s: %w", h.ID, session.ErrExists)
	taken, err := s.takeLock(ctx, h.ID)
	if err != nil {
		return nil, err
	}
	if !taken { // somebody creates or writes it
		return nil, exists
	}
	created, err := s.insertSession(ctx, h.ID, header)
	if err == nil && !created {
		err = exists
	}
	if err != nil {
		s.locks.giveBack(lockKey(h.ID))
		return nil, s.about.wrapError(ctx, err)
	}
	return s.bindWriter(w, 1), nil
}

// insertSession stores a session with its header, and reports false if its id is taken.
func (s *Store) insertSession(ctx context.Context, id session.ID, header rows.Row) (created bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	tag, err := s.pool.Exec(ctx, `WITH fresh AS (
			INSERT INTO meerkat.sessions (id, header, created, updated, writers, writer) VALUES ($1, $2, $3, $3, 1, $4)
			ON CONFLICT DO NOTHING RETURNING id)
		INSERT INTO meerkat.records (session, number, lines) SELECT id, 0, $2 FROM fresh`,
		string(id), header.Lines, header.Updated, s.name)
	return tag.RowsAffected() == 1, err
}

// Open implements session.Store. A transaction is stored whole or not at all, so there
// is nothing to repair.
func (s *Store) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	writers, err := s.takeOver(ctx, id)
	if err != nil {
		return session.Session{}, nil, err
	}
	p, next, err := s.loadSession(ctx, id)
	if err != nil {
		s.locks.giveBack(lockKey(id))
		return p.Session, nil, err
	}
	return p.Session, s.bindWriter(&rows.Writer{ID: id, Next: next, Chain: p.Chain}, writers), nil
}

// takeOver takes the lock of a session that exists and returns the number of its writer:
// those before it store nothing more.
func (s *Store) takeOver(ctx context.Context, id session.ID) (writers int64, err error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return 0, session.NotFound(id)
	}
	taken, err := s.takeLock(ctx, id)
	if err != nil {
		return 0, err
	}
	if !taken {
		return 0, s.lockedError(ctx, id)
	}
	if writers, err = s.countWriter(ctx, id); err != nil {
		s.locks.giveBack(lockKey(id))
		return 0, s.about.wrapError(ctx, err)
	}
	return writers, nil
}

// takeLock takes the lock of a session and reports whether it was free. It refuses a
// schema that a newer program has changed since Open.
func (s *Store) takeLock(ctx context.Context, id session.ID) (taken bool, err error) {
	bound, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := s.checkSchema(bound); err != nil {
		return false, s.about.wrapError(ctx, err)
	}
	taken, err = s.locks.take(bound, lockKey(id))
	return taken, s.about.wrapError(ctx, err)
}

// checkSchema returns a *session.VersionError if the tables are newer than this program.
func (s *Store) checkSchema(ctx context.Context) error {
	have, err := readVersion(ctx, s.pool, sessionsPart().Name)
	if err == nil && have > s.newest {
		err = sessionsPart().newerError(have, s.newest)
	}
	return err
}

// countWriter makes this process the session's writer.
func (s *Store) countWriter(ctx context.Context, id session.ID) (writers int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = s.pool.QueryRow(ctx, "UPDATE meerkat.sessions SET writers = writers + 1, writer = $2 WHERE id = $1 RETURNING writers", string(id), s.name).Scan(&writers)
	if errors.Is(err, pgx.ErrNoRows) {
		err = session.NotFound(id)
	}
	return writers, err
}

// lockedError returns the *session.LockedError of a session that another process writes.
func (s *Store) lockedError(ctx context.Context, id session.ID) error {
	bound, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	e := &session.LockedError{ID: id}
	err := s.pool.QueryRow(bound, "SELECT writer FROM meerkat.sessions WHERE id = $1", string(id)).Scan(&e.Holder)
	if errors.Is(err, pgx.ErrNoRows) {
		return session.NotFound(id) // it is being created or deleted
	}
	if err != nil {
		return s.about.wrapError(ctx, err)
	}
	return e
}

// bindWriter makes w write into s, as the session's writer of that number, until it is
// closed.
func (s *Store) bindWriter(w *rows.Writer, writers int64) *rows.Writer {
	w.Release = func() error {
		s.locks.giveBack(lockKey(w.ID))
		return nil
	}
	w.Insert = func(ctx context.Context, r rows.Row) error {
		return s.about.wrapError(ctx, s.insertRow(ctx, w.ID, writers, r))
	}
	return w
}

// insertRow stores a row. When the connection breaks, it tries again until the database
// has been away for s.patience: the row has a number that only this writer uses, so
// that it is stored once.
func (s *Store) insertRow(ctx context.Context, id session.ID, writers int64, r rows.Row) error {
	until, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for {
		err := s.tryInsertRow(ctx, id, writers, r)
		if !isAway(err) {
			return err
		}
		select {
		case <-until.Done():
			return &awayError{err}
		case <-time.After(retryTime):
		}
	}
}

// tryInsertRow stores a row, unless it is stored already.
func (s *Store) tryInsertRow(ctx context.Context, id session.ID, writers int64, r rows.Row) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var isWriter bool
	err := s.pool.QueryRow(ctx, `WITH mine AS (
			UPDATE meerkat.sessions SET updated = greatest(updated, $4) WHERE id = $1 AND writers = $5 RETURNING id
		), stored AS (
			INSERT INTO meerkat.records (session, number, lines) SELECT id, $2, $3 FROM mine ON CONFLICT DO NOTHING
		) SELECT EXISTS (SELECT FROM mine)`,
		string(id), r.Number, r.Lines, r.Updated, writers).Scan(&isWriter)
	if err == nil && !isWriter {
		return s.lockedError(ctx, id)
	}
	return err
}

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return session.Session{}, session.NotFound(id)
	}
	p, _, err := s.loadSession(ctx, id)
	return p.Session, err
}

// loadSession returns a session and the number of its next row.
func (s *Store) loadSession(ctx context.Context, id session.ID) (session.Parsed, int, error) {
	bound, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	all := rows.Rows{Name: s.recordsPath(id)}
	found, err := s.pool.Query(bound, "SELECT number, lines FROM meerkat.records WHERE session = $1 ORDER BY number", string(id))
	if err == nil {
		var number int
		var lines pgtype.DriverBytes
		_, err = pgx.ForEachRow(found, []any{&number, &lines}, func() error { return all.Add(number, lines) })
	}
	if err != nil {
		return session.Parsed{}, 0, s.about.wrapError(ctx, err)
	}
	p, err := all.Parse(id)
	return p, all.Next, err
}

// recordsPath names the records of a session in errors.
func (s *Store) recordsPath(id session.ID) string { return s.about.name + "#" + string(id) }

// List implements session.Store. It reads the index and no conversation.
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Info, error) {
	bound, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	found, err := s.pool.Query(bound, `SELECT id, header, updated FROM meerkat.sessions
		WHERE created >= $1 AND updated >= $2 ORDER BY updated DESC, id DESC LIMIT $3 OFFSET $4`,
		rows.UnixNano(f.CreatedAfter), rows.UnixNano(f.UpdatedAfter), limit, max(f.Offset, 0))
	if err != nil {
		return nil, s.about.wrapError(ctx, err)
	}
	infos, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (session.Info, error) {
		var id session.ID
		var header []byte
		var updated int64
		err := row.Scan(&id, &header, &updated)
		return rows.Info(s.recordsPath(id), id, header, time.Unix(0, updated).UTC()), err
	})
	return infos, s.about.wrapError(ctx, err)
}

// Delete implements session.Store.
func (s *Store) Delete(ctx context.Context, id session.ID) error {
	if _, err := s.takeOver(ctx, id); err != nil {
		return err
	}
	defer s.locks.giveBack(lockKey(id))
	bound, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := s.pool.Exec(bound, "DELETE FROM meerkat.sessions WHERE id = $1", string(id))
	return s.about.wrapError(ctx, err)
}
