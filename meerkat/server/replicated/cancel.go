package replicated

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// CancelOperation implements server.RunQueue. The row of the run keeps the operation, so
// that the attempt after this one learns of it, too.
func (b *Backend) CancelOperation(ctx context.Context, id, operation session.ID) (r server.Run, err error) {
	err = b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		r, err = scanRun(tx.QueryRow(ctx,
			`UPDATE meerkat.runs SET cancelled = CASE WHEN $2 = ANY(cancelled) THEN cancelled ELSE cancelled || $2 END
			WHERE session = $1 AND ended IS NULL RETURNING `+runColumns, string(id), string(operation)))
		if errors.Is(err, pgx.ErrNoRows) {
			return refuse(&server.NotRunningError{Session: id})
		}
		if err != nil {
			return err
		}
		return notifyTopic(ctx, tx, runTopic(id))
	})
	return r, err
}

// cancelled are the operations of a run that this replica was told to cancel. It is safe
// for concurrent use.
type cancelled struct {
	mu       sync.Mutex
	all      []session.ID
	onCancel func(operation session.ID)
}

// update takes the operations that the row of the run has, of which earlier ones stay.
func (c *cancelled) update(all []session.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, operation := range all[min(len(c.all), len(all)):] {
		if c.onCancel != nil {
			c.onCancel(operation)
		}
	}
	c.all = all
}

// OnCancel implements server.Control.
func (c *cancelled) OnCancel(cancel func(operation session.ID)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, operation := range c.all {
		cancel(operation)
	}
	c.onCancel = cancel
}
