package replicated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

const runColumns = "id, session, new_session, status, task, attempt, created, started, ended, outcome"

// scanRun reads runColumns.
func scanRun(row pgx.Row) (r server.Run, err error) {
	var task string
	var outcome *string
	var started, ended *time.Time
	if err := row.Scan(
		&r.ID, &r.Session, &r.New, &r.Status, &task, &r.Attempt, &r.Created, &started, &ended, &outcome,
	); err != nil {
		return r, err
	}
	r.Created, r.Started, r.Ended = r.Created.UTC(), timeOrZero(started), timeOrZero(ended)
	err = json.Unmarshal([]byte(task), &r.Task)
	if outcome != nil {
		err = errors.Join(err, json.Unmarshal([]byte(*outcome), &r.Outcome))
	}
	if err != nil {
		err = fmt.Errorf("run %s: its row is damaged: %w", r.ID, err)
	}
	return r, err
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// queryRun returns the run that a query finds, pgx.ErrNoRows if there is none.
func queryRun(ctx context.Context, from interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, where string, args ...any) (server.Run, error) {
	return scanRun(from.QueryRow(ctx, "SELECT "+runColumns+" FROM meerkat.runs WHERE "+where, args...))
}

// queryRuns returns all runs that a query finds.
func (b *Backend) queryRuns(ctx context.Context, where string, args ...any) ([]server.Run, error) {
	bound, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	found, err := b.pool.Query(bound, "SELECT "+runColumns+" FROM meerkat.runs WHERE "+where, args...)
	if err != nil {
		return nil, b.store.WrapError(ctx, err)
	}
	all, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (server.Run, error) { return scanRun(row) })
	return all, b.store.WrapError(ctx, err)
}

// Submit implements server.RunQueue. Requests that come at once may exceed the limit of
// runs a little.
func (b *Backend) Submit(ctx context.Context, s server.Submission) (r server.Run, repeated bool, err error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	fingerprint, err := s.Fingerprint()
	if err != nil {
		return r, false, err
	}
	if r, err = b.newRun(s); err != nil {
		return r, false, err
	}
	for range 3 { // what is in the way may end meanwhile
		err = b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
			earlier, err := findByKey(ctx, tx, s.Key, fingerprint)
			if repeated = err == nil; repeated {
				r = earlier
			}
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			r.Created, err = b.acceptRun(ctx, tx, r, s.Key, fingerprint)
			return err
		})
		if !errors.Is(err, errConflict) {
			break
		}
	}
	return r, repeated, err
}

// errConflict says that another request was faster. It is not returned to callers of
// the Backend unless that happens again and again.
var errConflict = errors.New("server: too many requests for the same session or key at once; try again")

// newRun returns the run of a submission.
func (b *Backend) newRun(s server.Submission) (server.Run, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return server.Run{}, fmt.Errorf("server: no randomness for an id: %w", err)
	}
	r := server.Run{
		ID: server.RunID(id.String()), Session: s.Session, New: s.New || s.Session == "", Status: server.StatusQueued,
		Task: s.Task,
	}
	if r.Session == "" {
		if id, err = uuid.NewV7(); err != nil {
			return r, fmt.Errorf("server: no randomness for an id: %w", err)
		}
		r.Session = session.ID(id.String())
	}
	return r, nil
}

// findByKey returns the run that came with a key before, pgx.ErrNoRows if there is
// none.
func findByKey(ctx context.Context, tx pgx.Tx, key, fingerprint string) (server.Run, error) {
	if key == "" {
		return server.Run{}, pgx.ErrNoRows
	}
	var before string
	if err := tx.QueryRow(ctx, "SELECT fingerprint FROM meerkat.runs WHERE key = $1", key).Scan(&before); err != nil {
		return server.Run{}, err
	}
	if before != fingerprint {
		return server.Run{}, refuse(&server.KeyReusedError{Key: key})
	}
	return queryRun(ctx, tx, "key = $1", key)
}

// acceptRun stores a run and its job, and returns when.
func (b *Backend) acceptRun(ctx context.Context, tx pgx.Tx, r server.Run, key, fingerprint string) (created time.Time,
	err error) {
	if b.draining {
		return created, refuse(server.ErrDraining)
	}
	task, err := json.Marshal(r.Task)
	if err != nil {
		return created, err
	}
	var optionalKey *string
	if key != "" {
		optionalKey = &key
	}
	err = tx.QueryRow(ctx, `INSERT INTO meerkat.runs (id, session, new_session, status, task, key, fingerprint, created)
		VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp()) ON CONFLICT DO NOTHING RETURNING created`,
		string(r.ID), string(r.Session), r.New, string(r.Status), string(task), optionalKey, fingerprint).Scan(&created)
	if errors.Is(err, pgx.ErrNoRows) {
		return created, conflictError(ctx, tx, r.Session)
	}
	if err != nil {
		return created, err
	}
	var active int
	if err := tx.QueryRow(ctx, "SELECT count(*) FROM meerkat.runs WHERE ended IS NULL").Scan(&active); err != nil {
		return created, err
	}
	if active > b.options.Runs {
		return created, refuse(&server.FullError{Limit: b.options.Runs})
	}
	_, err = b.river.InsertTx(ctx, tx, runJob{Run: r.ID}, nil)
	return created.UTC(), err
}

// conflictError says what is in the way of a run: another of its session, or one with
// its key.
func conflictError(ctx context.Context, tx pgx.Tx, id session.ID) error {
	busy, err := queryRun(ctx, tx, "session = $1 AND ended IS NULL", string(id))
	switch {
	case err == nil:
		return refuse(&server.BusyError{Session: id, Run: busy.ID})
	case errors.Is(err, pgx.ErrNoRows):
		return refuse(errConflict)
	}
	return err
}

// Run implements server.RunQueue.
func (b *Backend) Run(ctx context.Context, id server.RunID) (server.Run, error) {
	bound, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	r, err := queryRun(bound, b.pool, "id = $1", string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return r, &server.RunNotFoundError{Run: id}
	}
	return r, b.store.WrapError(ctx, err)
}

// Wait implements server.RunQueue.
func (b *Backend) Wait(ctx context.Context, id server.RunID) (server.Run, error) {
	r, err := b.Run(context.WithoutCancel(ctx), id)
	if err != nil || r.Status.Ended() {
		return r, err
	}
	changed, unsubscribe := b.wakeups.subscribeTo(runTopic(r.Session))
	defer unsubscribe()
	for {
		r, err = b.Run(context.WithoutCancel(ctx), id)
		if err != nil || r.Status.Ended() || ctx.Err() != nil {
			return r, err
		}
		waitForChange(ctx, changed)
	}
}

// waitForChange returns when there may be something new, or when ctx ends.
func waitForChange(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-time.After(pollTime):
	case <-ctx.Done():
	}
}

// Runs implements server.RunQueue. Of a run that is forgotten, the id alone says when it
// was.
func (b *Backend) Runs(ctx context.Context, id session.ID, before server.RunID, limit int) ([]server.Run, error) {
	return b.queryRuns(ctx, `session = $1 AND CASE
			WHEN $2 = '' THEN true
			WHEN EXISTS (SELECT FROM meerkat.runs WHERE id = $2) THEN (created, id) < (SELECT created, id FROM meerkat.runs WHERE id = $2)
			ELSE id < $2 END
		ORDER BY created DESC, id DESC LIMIT $3`, string(id), string(before), limit)
}

// Active implements server.RunQueue.
func (b *Backend) Active(ctx context.Context) ([]server.Run, error) {
	return b.queryRuns(ctx, "ended IS NULL ORDER BY created, id")
}

// Interrupt implements server.RunQueue. A run that no replica has begun ends here; the
// replica of any other is told.
func (b *Backend) Interrupt(ctx context.Context, id session.ID) (before server.Run, err error) {
	err = b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		before, err = queryRun(ctx, tx, "session = $1 AND ended IS NULL FOR UPDATE", string(id))
		if errors.Is(err, pgx.ErrNoRows) {
			return refuse(&server.NotRunningError{Session: id})
		}
		if err != nil {
			return err
		}
		if before.Status == server.StatusQueued {
			return b.endRun(ctx, tx, before, server.Outcome{
				Status: server.StatusInterrupted, ErrorKind: "interrupted",
				Error: "the run was interrupted before it began; start another",
			})
		}
		if _, err := tx.Exec(
			ctx, "UPDATE meerkat.runs SET interrupted = true WHERE id = $1", string(before.ID),
		); err != nil {
			return err
		}
		return notifyTopic(ctx, tx, runTopic(id))
	})
	return before, err
}

// Forget implements server.RunQueue.
func (b *Backend) Forget(ctx context.Context, id session.ID) error {
	return b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		switch busy, err := queryRun(ctx, tx, "session = $1 AND ended IS NULL", string(id)); {
		case err == nil:
			return refuse(&server.BusyError{Session: id, Run: busy.ID})
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if _, err := tx.Exec(
			ctx, "DELETE FROM meerkat.runs WHERE session = $1 AND ended IS NOT NULL", string(id),
		); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM meerkat.logs WHERE session = $1", string(id))
		return errors.Join(err, notifyTopic(ctx, tx, eventTopic(id)))
	})
}
