// Package replicated is a server.Backend that the replicas of one server share: runs,
// steering and events are in the PostgreSQL database of their sessions.
//
//	store, err := sqlstore.OpenPostgres(ctx, sqlstore.Options{URL: url, Name: name})
//	backend, err := replicated.Open(ctx, store, execute, replicated.Options{})
//	defer backend.Close()
//
// A run is a row, and a job of River (riverqueue.com) tells some replica to execute it.
// The row says what is true: a job whose run is no longer as the job says does nothing.
// Notifications of PostgreSQL carry what happens from replica to replica.
//
// A replica holds an advisory lock as long as it lives, on the same connection as the
// write locks of its sessions. When the lock is gone for [Options.DeadAfter], the other
// replicas put its runs into the queue again. The next attempt goes on with the session
// as a resume does: what a tool has begun is not begun again. A run whose job was fetched
// and whose row nobody changed, because the replica died in between, gets another job after
// the same time.
//
// All times in the tables are those of the database's clock, and how long a replica is gone
// is measured by one that looks: the clocks of the machines need not agree.
package replicated

import (
	"cmp"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

// Defaults of Options.
const (
	DefaultDeadAfter  = 5 * time.Second
	DefaultKeptFor    = 7 * 24 * time.Hour
	DefaultEventsKept = 24 * time.Hour
)

const (
	schema      = "meerkat" // of all tables, River's included
	queryTime   = 30 * time.Second
	retryTime   = 200 * time.Millisecond
	pollTime    = 5 * time.Second // after which a wait looks again without a notification
	fetchTime   = 20 * time.Millisecond
	flushTime   = 20 * time.Millisecond
	sweepTime   = time.Hour
	maxAttempts = 10_000 // of a job that finds no database
	lookTime    = time.Second
)

// Options are the parts of a Backend that may be chosen. Zero fields mean the defaults.
type Options struct {
	// BackendLimits bound what all replicas hold together, Runs included.
	server.BackendLimits
	// Workers is how many runs this replica executes at once; 0: Runs.
	Workers int
	// DeadAfter is how long a replica must be gone, or a queued run be without a job,
	// before others take the run.
	DeadAfter time.Duration
	// KeptFor is how long runs and their idempotency keys are kept after their end,
	// EventsKept how long the events of a session are kept after its last run.
	KeptFor, EventsKept time.Duration
	// Note is told, in a sentence for people, when the database goes away and comes
	// back, and when a run of a dead replica goes on; nil: nobody is.
	Note func(format string, args ...any)
}

func (o Options) withDefaults() Options {
	o.BackendLimits = o.WithDefaults()
	o.Workers = cmp.Or(o.Workers, o.Runs)
	o.DeadAfter = cmp.Or(o.DeadAfter, DefaultDeadAfter)
	o.KeptFor = cmp.Or(o.KeptFor, DefaultKeptFor)
	o.EventsKept = cmp.Or(o.EventsKept, DefaultEventsKept)
	if o.Note == nil {
		o.Note = func(string, ...any) {}
	}
	return o
}

// Backend is one replica's part of a server.Backend. Close it after Drain.
type Backend struct {
	execute server.Execute
	options Options
	store   *sqlstore.Postgres
	pool    *pgxpool.Pool
	river   *river.Client[pgx.Tx]
	replica int64 // the number of its lock
	wakeups *wakeups
	// executing has the attempts of runs that are executed here, by server.RunID.
	executing sync.Map

	runs      context.Context //nolint:containedctx // that of the runs, which outlive the requests that submit them
	cancelAll context.CancelCauseFunc

	mu       sync.RWMutex // a Submit holds it for reading
	draining bool

	release func()
}

//go:embed migrations/*.sql
var migrations embed.FS

// Tables are those of this package, for [sqlstore.Examine]; River's are not among them.
func Tables() sqlstore.Part { return sqlstore.Part{Name: "runs", Files: migrations} }

// Open begins to execute runs. It creates or updates its tables; tables of a newer
// program are a *session.VersionError. The store must outlive the Backend.
func Open(ctx context.Context, store *sqlstore.Postgres, execute server.Execute, o Options) (*Backend, error) {
	b := &Backend{
		execute: execute, options: o.withDefaults(), store: store, pool: store.Pool(),
		wakeups: &wakeups{waiting: map[string]map[chan struct{}]bool{}},
	}
	b.runs, b.cancelAll = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := b.prepareDatabase(ctx); err != nil {
		return nil, store.WrapError(ctx, err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("server: no randomness for an id: %w", err)
	}
	b.replica = int64(binary.BigEndian.Uint64(id[8:])) //nolint:gosec // any bits do
	if err := store.HoldLock(ctx, b.replica); err != nil {
		return nil, err
	}
	if b.river, err = b.newClient(id.String()); err != nil {
		return nil, err
	}
	if err := b.river.Start(b.runs); err != nil {
		return nil, store.WrapError(ctx, err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { b.wakeups.listen(background, store.Connect, b.noteAway) })
	wg.Go(func() { b.rescueLost(background) })
	b.release = sync.OnceFunc(func() {
		b.cancelAll(server.ErrDraining)
		_ = b.river.Stop(background) // the runs have been told to end
		stop()
		wg.Wait()
	})
	return b, nil
}

// noteAway says that the database went away, or is back if err is nil.
func (b *Backend) noteAway(err error) {
	if storage := (*session.StorageError)(nil); errors.As(err, &storage) {
		err = storage.Err // without the advice to mend it
	}
	if err != nil {
		b.options.Note("%v; runs under way wait for it", err)
		return
	}
	b.options.Note("the session database is back")
}

// Drain implements server.RunQueue.
func (b *Backend) Drain(ctx context.Context) error {
	b.mu.Lock()
	b.draining = true
	b.mu.Unlock()
	stopped := make(chan error, 1)
	go func() { stopped <- b.river.Stop(context.WithoutCancel(ctx)) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		b.cancelAll(server.ErrDraining)
		return <-stopped
	}
}

// Close ends what is left of the Backend. Runs that it executes are cut off and go on in
// another replica. Closing twice is allowed.
func (b *Backend) Close() { b.release() }

// refusal carries out of a transaction an error that does not come from the database.
type refusal struct{ error }

// refuse ends a transaction with err, which the caller gets as it is.
func refuse(err error) error { return refusal{err} }

// inTransaction runs do in a transaction, which is durable when it returns nil. What is
// not refused is an error of the database.
func (b *Backend) inTransaction(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	bound, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	err := pgx.BeginFunc(bound, b.pool, func(tx pgx.Tx) error { return do(bound, tx) })
	if refused := (refusal{}); errors.As(err, &refused) {
		return refused.error
	}
	return b.store.WrapError(ctx, err)
}
