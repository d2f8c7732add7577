package replicated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

const steeringColumns = "number, id, session, run, message, status, created"

// numberedSteering is a row of the table of steering.
type numberedSteering struct {
	server.Steering
	number int64
}

func scanSteering(row pgx.CollectableRow) (s numberedSteering, err error) {
	var message string
	if err := row.Scan(&s.number, &s.ID, &s.Session, &s.Run, &message, &s.Status, &s.Created); err != nil {
		return s, err
	}
	s.Created = s.Created.UTC()
	return s, json.Unmarshal([]byte(message), &s.Text)
}

// Steer implements server.SteeringQueue.
func (b *Backend) Steer(ctx context.Context, id session.ID, text string) (server.Steering, error) {
	name, err := uuid.NewV7()
	if err != nil {
		return server.Steering{}, fmt.Errorf("server: no randomness for an id: %w", err)
	}
	message, err := json.Marshal(text)
	if err != nil {
		return server.Steering{}, err
	}
	s := server.Steering{ID: name.String(), Session: id, Text: text, Status: server.SteeringQueued}
	err = b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		// The row is held, so that the run does not end and nobody else counts.
		r, err := queryRun(ctx, tx, "session = $1 AND ended IS NULL FOR UPDATE", string(id))
		if errors.Is(err, pgx.ErrNoRows) {
			return refuse(&server.NotRunningError{Session: id})
		}
		if err != nil {
			return err
		}
		s.Run = r.ID
		var queued int
		if err := tx.QueryRow(
			ctx, "SELECT count(*) FROM meerkat.steering WHERE run = $1 AND status = 'queued'", string(r.ID),
		).Scan(&queued); err != nil {
			return err
		}
		if queued >= b.options.Steering {
			return refuse(&server.SteeringFullError{Session: id, Limit: b.options.Steering})
		}
		return tx.QueryRow(ctx,
			"INSERT INTO meerkat.steering (id, run, session, message, status, created) VALUES ($1, $2, $3, $4, $5, clock_timestamp()) RETURNING created",
			s.ID, string(s.Run), string(s.Session), string(message), string(s.Status)).Scan(&s.Created)
	})
	s.Created = s.Created.UTC()
	return s, err
}

// Steerings implements server.SteeringQueue.
func (b *Backend) Steerings(ctx context.Context, id session.ID) ([]server.Steering, error) {
	all, _, err := b.querySteering(
		ctx,
		"SELECT "+steeringColumns+
			" FROM meerkat.steering WHERE run = (SELECT id FROM meerkat.runs WHERE session = $1 ORDER BY created DESC, id DESC LIMIT 1)",
		string(id),
	)
	return all, err
}

// querySteering returns the rows of a query, the oldest first, and the number of the last one.
func (b *Backend) querySteering(ctx context.Context, query string, args ...any) (all []server.Steering, last int64,
	err error) {
	bound, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	found, err := b.pool.Query(bound, query, args...)
	if err != nil {
		return nil, 0, b.store.WrapError(ctx, err)
	}
	rows, err := pgx.CollectRows(found, scanSteering)
	slices.SortFunc(rows, func(x, y numberedSteering) int { return int(x.number - y.number) })
	for _, r := range rows {
		all, last = append(all, r.Steering), r.number
	}
	return all, last, b.store.WrapError(ctx, err)
}

// TakeSteering implements server.Control. A database that is away has nothing to say. It may have
// marked messages whose answer was lost; the next call returns those.
func (c *control) TakeSteering() []server.Steering {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	taken, last, err := c.backend.querySteering(ctx, `UPDATE meerkat.steering SET status = 'applied'
		WHERE run = $1 AND (status = 'queued' OR status = 'applied' AND number > $3)
			AND EXISTS (SELECT FROM meerkat.runs WHERE id = $1 AND attempt = $2 AND ended IS NULL)
		RETURNING `+steeringColumns, string(c.run.ID), c.run.Attempt, c.steered)
	if err != nil {
		return nil
	}
	c.steered = max(c.steered, last)
	return taken
}
