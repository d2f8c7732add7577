package replicated

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// control implements server.Control for one attempt of a run. Events are collected and
// stored together, so that a reply that streams does not wait for the database.
type control struct {
	cancelled
	backend *Backend
	run     server.Run
	flushed chan struct{} // closed when the flusher has ended
	steered int64         // the number of the last message that this attempt or one before took
	stop    context.CancelFunc

	mu    sync.Mutex
	begun bool // the first event has come
	over  bool
	queue []logEvent
	bytes int // of the queue
	last  int64
	size  int64 // of all events of the log ever

	storing   sync.Mutex // held by the one who stores events
	untrimmed int        // events stored since old ones were removed; guarded by storing
}

// logEvent is a row of the table of events.
type logEvent struct {
	number, size int64
	kind         string
	data         []byte
}

// eventSize is about what an event takes beside its data, in bytes.
const eventSize = 96

// newControl begins or continues the log of the run's session.
func (b *Backend) newControl(ctx context.Context, tx pgx.Tx, r server.Run) (*control, error) {
	name, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	c := &control{backend: b, run: r, flushed: make(chan struct{})}
	if err = tx.QueryRow(
		ctx, "SELECT coalesce(max(number), 0) FROM meerkat.steering WHERE run = $1 AND status = 'applied'",
		string(r.ID),
	).Scan(&c.steered); err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO meerkat.logs (session, name) VALUES ($1, $2)
		ON CONFLICT (session) DO UPDATE SET name = logs.name RETURNING last, size`, string(r.Session),
		name.String()).Scan(&c.last, &c.size)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Append implements server.Control. The first event is stored before anything else happens,
// so that an attempt is seen whatever becomes of its replica.
func (c *control) Append(kind string, data json.RawMessage) {
	if isFirst := c.collect(kind, data); isFirst {
		_ = c.flush(false) // tried again at the next tick
	}
}

// collect adds an event to the queue and reports whether it is the first one.
func (c *control) collect(kind string, data json.RawMessage) (isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	grown := eventSize + len(data)
	c.last++
	c.size += int64(grown)
	c.bytes += grown
	c.queue = append(c.queue, logEvent{c.last, c.size, kind, data})
	limits := c.backend.options.BackendLimits
	for len(c.queue) > limits.Events || c.bytes > limits.EventBytes && len(c.queue) > 0 {
		c.bytes -= eventSize + len(c.queue[0].data)
		c.queue = c.queue[1:]
	}
	isFirst, c.begun = !c.begun, true
	return isFirst
}

// flushRegularly stores what is collected until ctx ends.
func (c *control) flushRegularly(ctx context.Context) {
	defer close(c.flushed)
	ticks := time.NewTicker(flushTime)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_ = c.flush(false) // tried again at the next tick
		}
	}
}

// close stores what is left. It may be called again when it has failed.
func (c *control) close() error {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.stop()
	<-c.flushed
	return c.flush(true)
}

// flush stores the events that are collected, and removes old ones from time to time,
// and at the end.
func (c *control) flush(end bool) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	c.mu.Lock()
	events, last, size := c.queue, c.last, c.size
	c.mu.Unlock()
	if len(events) == 0 && !(end && c.untrimmed > 0) {
		return nil
	}
	c.untrimmed += len(events)
	trim := end || c.untrimmed > c.backend.options.Events/8
	if err := c.storeEvents(events, last, size, trim); err != nil {
		return err
	}
	if trim {
		c.untrimmed = 0
	}
	// Remove the events up to a number from the queue.
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 && c.queue[0].number <= last {
		c.bytes -= eventSize + len(c.queue[0].data)
		c.queue = c.queue[1:]
	}
	return nil
}

// storeEvents stores events, unless another replica has taken the run over. Events that
// are stored already are left as they are.
func (c *control) storeEvents(events []logEvent, last, size int64, trim bool) error {
	return c.backend.inTransaction(context.Background(), func(ctx context.Context, tx pgx.Tx) error {
		id := string(c.run.Session)
		var mine bool
		err := tx.QueryRow(
			ctx, "SELECT true FROM meerkat.runs WHERE id = $1 AND attempt = $2 AND ended IS NULL FOR SHARE",
			string(c.run.ID), c.run.Attempt,
		).Scan(&mine)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		numbers, sizes, kinds, data := columnsOf(events)
		batch.Queue(`INSERT INTO meerkat.events (session, number, size, kind, data)
			SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[]) ON CONFLICT DO NOTHING`, id,
			numbers, sizes, kinds, data)
		batch.Queue("UPDATE meerkat.logs SET last = $2, size = $3 WHERE session = $1", id, last, size)
		if trim {
			limits := c.backend.options.BackendLimits
			batch.Queue(
				"DELETE FROM meerkat.events WHERE session = $1 AND (number <= $2 OR size <= $3)", id,
				last-int64(limits.Events), size-int64(limits.EventBytes),
			)
		}
		batch.Queue("SELECT pg_notify($1, $2)", channel, eventTopic(c.run.Session))
		return tx.SendBatch(ctx, batch).Close()
	})
}

func columnsOf(events []logEvent) (numbers, sizes []int64, kinds []string, data [][]byte) {
	for _, e := range events {
		numbers, sizes = append(numbers, e.number), append(sizes, e.size)
		kinds, data = append(kinds, e.kind), append(data, e.data)
	}
	return numbers, sizes, kinds, data
}

// storedLog is a log and the first of its events after a number.
type storedLog struct {
	name   string // "" if there is no log
	last   int64
	events []server.LogEvent
}

// Events implements server.EventLog.
func (b *Backend) Events(ctx context.Context, id session.ID, after server.Position,
	limit int) (server.EventPage, error) {
	changed, unsubscribe := b.wakeups.subscribeTo(eventTopic(id))
	defer unsubscribe()
	for {
		log, err := b.readLog(context.WithoutCancel(ctx), id, after, limit)
		if err != nil {
			return server.EventPage{Next: after}, err
		}
		if page, found := pageOf(log, after); found {
			return page, nil
		}
		if ctx.Err() != nil {
			return server.EventPage{Next: after}, nil
		}
		waitForChange(ctx, changed)
	}
}

// readLog reads the log of a session: the events after a position, or from the beginning
// if the position is of another log.
func (b *Backend) readLog(ctx context.Context, id session.ID, after server.Position, limit int) (log storedLog,
	err error) {
	number := int64(min(after.Number, math.MaxInt64)) //nolint:gosec // bounded
	err = b.inTransaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		log = storedLog{}
		err := tx.QueryRow(
			ctx, "SELECT name, last FROM meerkat.logs WHERE session = $1", string(id),
		).Scan(&log.name, &log.last)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if after.Log != log.name || number > log.last {
			number = 0
		}
		found, err := tx.Query(
			ctx,
			"SELECT number, kind, data FROM meerkat.events WHERE session = $1 AND number > $2 ORDER BY number LIMIT $3",
			string(id), number, limit,
		)
		if err != nil {
			return err
		}
		log.events, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (e server.LogEvent, err error) {
			var number int64
			err = row.Scan(&number, &e.Kind, (*[]byte)(&e.Data))
			e.Position = server.Position{Log: log.name, Number: uint64(number)} //nolint:gosec // from 1
			return e, err
		})
		return err
	})
	return log, err
}

// pageOf returns the page of a log after a position. found is false if a reader has to
// wait.
func pageOf(log storedLog, after server.Position) (page server.EventPage, found bool) {
	from := after.Number
	if after.Log != log.name || after.Number > uint64(log.last) { //nolint:gosec // from 0
		page.Gap = after != (server.Position{})
		from = 0
	}
	page.Next = server.Position{Log: log.name, Number: uint64(log.last)} //nolint:gosec // from 0
	if len(log.events) == 0 {
		if log.name == "" {
			page.Next = server.Position{}
		}
		page.Gap = page.Gap || from < page.Next.Number // the rest was removed
		return page, page.Gap
	}
	page.Gap = page.Gap || log.events[0].Position.Number != from+1
	for i, e := range log.events {
		if i > 0 && e.Position.Number != page.Next.Number+1 {
			break // the next page says the gap
		}
		page.Events, page.Next = append(page.Events, e), e.Position
	}
	return page, true
}
