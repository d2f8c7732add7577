package replicated

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// channel is where replicas tell one another which topic has changed.
const channel = "meerkat_runs"

// The topics: the runs of a session, and its events.
func runTopic(id session.ID) string   { return "run " + string(id) }
func eventTopic(id session.ID) string { return "events " + string(id) }

// notifyTopic tells all replicas of a change when the transaction is committed.
func notifyTopic(ctx context.Context, tx pgx.Tx, topic string) error {
	_, err := tx.Exec(ctx, "SELECT pg_notify($1, $2)", channel, topic)
	return err
}

// wakeups passes notifications to those in this process that wait. It is safe for
// concurrent use.
type wakeups struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
}

// subscribeTo returns a channel that receives after each change of a topic, until
// unsubscribe is called. Changes that come at once may be received as one.
func (w *wakeups) subscribeTo(topic string) (changed <-chan struct{}, unsubscribe func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[topic] == nil {
		w.waiting[topic] = map[chan struct{}]bool{}
	}
	w.waiting[topic][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting[topic], c)
		if len(w.waiting[topic]) == 0 {
			delete(w.waiting, topic)
		}
	}
}

// wakeTopic wakes those that wait for a topic.
func (w *wakeups) wakeTopic(topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wakeEach(w.waiting[topic])
}

// wakeAll wakes everybody: notifications may have been lost.
func (w *wakeups) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, each := range w.waiting {
		wakeEach(each)
	}
}

func wakeEach(all map[chan struct{}]bool) {
	for c := range all {
		select {
		case c <- struct{}{}:
		default: // it has been woken
		}
	}
}

// listen receives notifications until ctx ends. A connection that is lost is replaced;
// report is called when that fails for the first time, and with nil when it succeeds again.
func (w *wakeups) listen(ctx context.Context, connect func(context.Context) (*pgx.Conn, error), report func(error)) {
	for away := false; ctx.Err() == nil; {
		conn, err := connect(ctx)
		if isAway := err != nil; isAway != away && ctx.Err() == nil {
			away = isAway
			report(err)
		}
		if err == nil {
			w.receive(ctx, conn)
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_ = conn.Close(closing) // it holds nothing
			cancel()
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryTime):
		}
	}
}

// receive passes on what a connection receives, until it fails or is silent: notifications come
// over another connection then.
func (w *wakeups) receive(ctx context.Context, conn *pgx.Conn) {
	answered := func(ask func(context.Context) error) bool {
		bound, cancel := context.WithTimeout(ctx, queryTime)
		defer cancel()
		return ask(bound) == nil
	}
	if !answered(func(ctx context.Context) error { _, err := conn.Exec(ctx, "LISTEN "+channel); return err }) {
		return
	}
	w.wakeAll()
	for {
		bound, cancel := context.WithTimeout(ctx, pollTime)
		n, err := conn.WaitForNotification(bound)
		cancel()
		switch {
		case err == nil:
			w.wakeTopic(n.Payload)
		case ctx.Err() != nil || !pgconn.Timeout(err) || !answered(conn.Ping):
			return
		}
	}
}
