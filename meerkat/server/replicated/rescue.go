package replicated

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// deadRuns are the runs whose replica holds its lock no more.
const deadRuns = `status = 'running' AND NOT EXISTS (
	SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (l.classid::bigint << 32) | l.objid::bigint = replica)`

// runAttempt is one attempt of a run.
type runAttempt struct {
	run     server.RunID
	attempt int
}

// rescueDead puts the runs of dead replicas into the queue again, until ctx ends.
func (b *Backend) rescueDead(ctx context.Context) {
	ticks := time.NewTicker(min(lookTime, b.options.DeadAfter))
	defer ticks.Stop()
	since := map[runAttempt]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			dead, err := b.queryRuns(ctx, deadRuns)
			if err != nil { // nobody knows who is dead
				clear(since)
				continue
			}
			var due []server.Run
			since, due = findDue(since, dead, now, b.options.DeadAfter)
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

// findDue returns the runs of dead that have been dead for so long, and since when each
// of dead has been. A replica that lost its connection takes its lock again, so that one
// look is not enough.
func findDue(since map[runAttempt]time.Time, dead []server.Run, now time.Time, deadAfter time.Duration) (still map[runAttempt]time.Time, due []server.Run) {
	still = map[runAttempt]time.Time{}
	for _, r := range dead {
		key := runAttempt{r.ID, r.Attempt}
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
