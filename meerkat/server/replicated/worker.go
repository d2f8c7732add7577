package replicated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

// runJob tells a replica to execute a run that was begun Attempt times.
type runJob struct {
	Run     server.RunID `json:"run"`
	Attempt int          `json:"attempt"`
}

// Kind implements river.JobArgs.
func (runJob) Kind() string { return "meerkat_run" }

// sweepJob removes what is kept no longer.
type sweepJob struct{}

// Kind implements river.JobArgs.
func (sweepJob) Kind() string { return "meerkat_sweep" }

// prepareDatabase creates or updates the tables of runs and of River.
func (b *Backend) prepareDatabase(ctx context.Context) error {
	if _, err := sqlstore.Migrate(ctx, b.pool, Tables()); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(
		riverpgxv5.New(b.pool), &rivermigrate.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)},
	)
	if err != nil {
		return err
	}
	// River's migrations are not safe against one another.
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('meerkat river'))"); err != nil {
			return err
		}
		_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// newClient returns River's client, which calls back for each job. It logs nothing: it
// would repeat each second that there is no database.
func (b *Backend) newClient(id string) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(b.workRun))
	river.AddWorker(workers, river.WorkFunc(b.sweepOld))
	return river.NewClient(riverpgxv5.New(b.pool), &river.Config{
		ID: id, Schema: schema, Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: b.options.Workers}},
		FetchCooldown: fetchTime, JobTimeout: -1, MaxAttempts: maxAttempts, RetryPolicy: soon{},
		CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour,
		DiscardedJobRetentionPeriod: time.Hour,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(sweepTime),
			func() (river.JobArgs, *river.InsertOpts) { return sweepJob{}, nil }, nil)},
	})
}

// soon is when River tries a job again that found no database.
type soon struct{}

// NextRetry implements river.ClientRetryPolicy.
func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Second) }

// workRun executes a run, unless the run is no longer as the job says. It waits for a
// database that is away: River would give up before long to note that a job has failed.
func (b *Backend) workRun(_ context.Context, job *river.Job[runJob]) error {
	r, c, err := b.claimRun(job.Args)
	for errors.As(err, new(*session.StorageError)) && b.runs.Err() == nil {
		time.Sleep(retryTime)
		r, c, err = b.claimRun(job.Args)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	b.executing.Store(r.ID, r.Attempt)
	defer b.executing.CompareAndDelete(r.ID, r.Attempt)
	outcome, cause := b.executeRun(r, c)
	b.storeOutcome(r, c, outcome, cause)
	return nil
}

// claimRun makes this replica the one that executes the run, pgx.ErrNoRows if it must
// not be.
func (b *Backend) claimRun(job runJob) (r server.Run, c *control, err error) {
	err = b.inTransaction(context.Background(), func(ctx context.Context, tx pgx.Tx) error {
		r, err = scanRun(tx.QueryRow(ctx,
			`UPDATE meerkat.runs SET status = 'running', attempt = attempt + 1, replica = $3, started = coalesce(started, clock_timestamp())
			WHERE id = $1 AND attempt = $2 AND status = 'queued' RETURNING `+runColumns, string(job.Run), job.Attempt,
			b.replica))
		if errors.Is(err, pgx.ErrNoRows) {
			return refuse(err)
		}
		if err != nil {
			return err
		}
		if c, err = b.newControl(ctx, tx, r); err != nil {
			return err
		}
		return notifyTopic(ctx, tx, runTopic(r.Session))
	})
	if err == nil {
		// Begin to store events, once the run is this replica's.
		flushing, stop := context.WithCancel(context.Background())
		c.stop = stop
		go c.flushRegularly(flushing)
	}
	return r, c, err
}

// executeRun executes a run, and returns why its context ended before, nil if it did
// not.
func (b *Backend) executeRun(r server.Run, c *control) (out server.Outcome, cause error) {
	ctx, cancel := context.WithCancelCause(b.runs)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watchRun(ctx, r, c, cancel)
	}()
	defer func() {
		if p := recover(); p != nil {
			out = server.Outcome{
				Status: server.StatusFailed, ErrorKind: "internal",
				Error: fmt.Sprintf("run %s: the program failed: %v; resume the session", r.ID, p),
			}
		}
		cause = context.Cause(ctx)
		cancel(nil)
		<-watched
	}()
	if out = b.execute(ctx, r, c); !out.Status.Ended() {
		out.Status = server.StatusFailed
	}
	return out, nil
}

// errTakenOver is why a run ends here that another replica goes on with.
var errTakenOver = errors.New("another replica has taken the run over")

// watchRun ends a run that a client has interrupted or another replica has taken over, and
// tells it which operations to cancel, until ctx ends.
func (b *Backend) watchRun(ctx context.Context, r server.Run, c *control, cancel context.CancelCauseFunc) {
	changed, unsubscribe := b.wakeups.subscribeTo(runTopic(r.Session))
	defer unsubscribe()
	for ctx.Err() == nil {
		interrupted, operations, err := b.readOrders(ctx, r)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			cancel(errTakenOver)
		case interrupted:
			cancel(server.ErrInterrupted)
		case err == nil:
			c.update(operations)
		}
		waitForChange(ctx, changed)
	}
}

// readOrders reads what a run is told, pgx.ErrNoRows if the run is this replica's no more. A
// database that does not answer is away: without a limit the run would be told nothing from then on.
func (b *Backend) readOrders(ctx context.Context, r server.Run) (interrupted bool, operations []session.ID, err error) {
	bound, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	err = b.pool.QueryRow(
		bound, "SELECT interrupted, cancelled FROM meerkat.runs WHERE id = $1 AND attempt = $2 AND ended IS NULL",
		string(r.ID), r.Attempt,
	).Scan(&interrupted, &operations)
	return interrupted, operations, err
}

// storeOutcome keeps what came of a run. It waits for a database that is away: a run that
// ended nowhere would block its session. A replica that stops does not wait; the others
// take its runs when it is gone. A run that was cut off because this replica stops goes
// back into the queue.
func (b *Backend) storeOutcome(r server.Run, c *control, out server.Outcome, cause error) {
	for {
		err := c.close()
		if err == nil {
			err = b.inTransaction(context.Background(), func(ctx context.Context, tx pgx.Tx) error {
				if errors.Is(cause, server.ErrDraining) && out.Status == server.StatusInterrupted {
					_, err := b.requeueRun(ctx, tx, r)
					return err
				}
				return b.endRun(ctx, tx, r, out)
			})
		}
		if err == nil || b.runs.Err() != nil {
			return
		}
		time.Sleep(retryTime)
	}
}

// endRun stores an outcome, unless another replica has taken the run over.
func (b *Backend) endRun(ctx context.Context, tx pgx.Tx, r server.Run, out server.Outcome) error {
	r.Task.Attached = nil // the session holds it
	task, err := json.Marshal(r.Task)
	if err != nil {
		return err
	}
	outcome, err := json.Marshal(out)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx,
		"UPDATE meerkat.runs SET status = $3, ended = clock_timestamp(), task = $4, outcome = $5 WHERE id = $1 AND attempt = $2 AND ended IS NULL",
		string(r.ID), r.Attempt, string(out.Status), string(task), string(outcome))
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE meerkat.steering SET status = $2 WHERE run = $1 AND status = 'queued'",
		string(r.ID), string(server.SteeringQueued.AfterRun(out.Status))); err != nil {
		return err
	}
	return notifyTopic(ctx, tx, runTopic(r.Session))
}

// requeueRun lets another replica go on with a run, and reports false if the run is no
// longer as r says.
func (b *Backend) requeueRun(ctx context.Context, tx pgx.Tx, r server.Run) (queued bool, err error) {
	tag, err := tx.Exec(ctx,
		"UPDATE meerkat.runs SET status = 'queued', replica = NULL WHERE id = $1 AND attempt = $2 AND status = $3",
		string(r.ID), r.Attempt, string(r.Status))
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	if _, err := b.river.InsertTx(ctx, tx, runJob{Run: r.ID, Attempt: r.Attempt}, nil); err != nil {
		return false, err
	}
	return true, notifyTopic(ctx, tx, runTopic(r.Session))
}

// sweepOld removes what is kept no longer. One replica does so each hour.
func (b *Backend) sweepOld(ctx context.Context, _ *river.Job[sweepJob]) error {
	return b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx, "DELETE FROM meerkat.runs WHERE ended < now() - $1::interval", b.options.KeptFor,
		); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM meerkat.logs l WHERE NOT EXISTS (
			SELECT FROM meerkat.runs r WHERE r.session = l.session AND (r.ended IS NULL OR r.ended >= now() - $1::interval))`, b.options.EventsKept)
		return err
	})
}
