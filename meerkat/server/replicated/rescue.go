package replicated

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// lostRuns are the runs that nobody will end: those whose replica holds its lock no more,
// those that this replica ($1) has and does not execute ($2), because it never learnt that
// the row is its own, and queued ones whose job was fetched by a replica that has not
// changed the row. Another job for a run that is not lost does nothing.
const lostRuns = `status = 'running' AND (replica = $1 AND id <> ALL($2) OR NOT EXISTS (
		SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.classid::bigint << 32) | l.objid::bigint = replica))
	OR status = 'queued' AND NOT EXISTS (
		SELECT FROM meerkat.river_job j WHERE j.kind = 'meerkat_run' AND j.state = 'available'
			AND j.args @> jsonb_build_object('run', runs.id, 'attempt', runs.attempt))`

// runAttempt is one attempt of a run, or its wait for the next one.
type runAttempt struct {
	run     server.RunID
	attempt int
	status  server.Status
}

// rescueLost puts lost runs into the queue again, until ctx ends.
func (b *Backend) rescueLost(ctx context.Context) {
	ticks := time.NewTicker(min(lookTime, b.options.DeadAfter))
	defer ticks.Stop()
	since := map[runAttempt]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			here := []string{}
			b.executing.Range(func(id, _ any) bool {
				here = append(here, string(id.(server.RunID)))
				return true
			})
			lost, err := b.queryRuns(ctx, lostRuns, b.replica, here)
			if err != nil { // nobody knows what is lost
				clear(since)
				continue
			}
			var due []server.Run
			since, due = findDue(since, lost, now, b.options.DeadAfter)
			for _, r := range due {
				b.rescueRun(ctx, r)
			}
		}
	}
}

// rescueRun puts a run into the queue again, unless another replica was faster. What
// fails is tried again at the next look.
func (b *Backend) rescueRun(ctx context.Context, r server.Run) {
	var queued bool
	err := b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		queued, err = b.requeueRun(ctx, tx, r)
		return err
	})
	if err == nil && queued {
		b.options.Note("run %s: its replica is gone; another one goes on with it", r.ID)
	}
}

// findDue returns the runs of lost that have been so for deadAfter, and since when each of
// lost has been. A replica that lost its connection takes its lock again, and one that has
// fetched a job soon changes the row, so that one look is not enough.
func findDue(since map[runAttempt]time.Time, lost []server.Run, now time.Time,
	deadAfter time.Duration) (still map[runAttempt]time.Time, due []server.Run) {
	still = map[runAttempt]time.Time{}
	for _, r := range lost {
		key := runAttempt{r.ID, r.Attempt, r.Status}
		first, known := since[key]
		if !known {
			first = now
		}
		still[key] = first
		if now.Sub(first) >= deadAfter {
			due = append(due, r)
		}
	}
	return still, due
}
