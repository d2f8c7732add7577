package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// lockTable holds the write locks of a process: advisory locks of PostgreSQL, all on
// one connection. They end with it, and so with the process.
//
// When the connection is lost, the locks are taken again on another one, unless another
// process was faster. Its writer is then the only one that can store records, see
// Postgres.insertRow.
type lockTable struct {
	connect func(context.Context) (*pgx.Conn, error)
	turn    chan struct{}  // holds a token while nobody uses what is below
	conn    *pgx.Conn      // nil while there is none
	held    map[int64]bool // false: the lock must be taken again
}

func newLockTable(connect func(context.Context) (*pgx.Conn, error)) *lockTable {
	t := &lockTable{connect: connect, turn: make(chan struct{}, 1), held: map[int64]bool{}}
	t.turn <- struct{}{}
	return t
}

// lockKey returns the number of a session's lock.
func lockKey(id session.ID) int64 {
	sum := sha256.Sum256([]byte("meerkat session " + string(id)))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any bits do
}

// withConn calls do with the connection, while nobody else uses it. When the connection
// turns out to be lost, it calls do once more with another. do is not interrupted when ctx ends: pgx would close the
// connection, and with it the locks of all sessions.
func (t *lockTable) withConn(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	for wasFresh := false; ; {
		wasFresh = t.conn == nil
		if err := t.ensureConn(bound); err != nil {
			return err
		}
		err := do(bound, t.conn)
		if !t.conn.IsClosed() {
			return err
		}
		if t.conn = nil; wasFresh || bound.Err() != nil {
			return err
		}
	}
}

// ensureConn connects, unless there is a connection, and takes the locks that the
// connection before had.
func (t *lockTable) ensureConn(ctx context.Context) (err error) {
	if t.conn != nil {
		return nil
	}
	conn, err := t.connect(ctx)
	if err != nil {
		return err
	}
	for key := range t.held {
		t.held[key] = false
	}
	if err := t.takeAgain(ctx, conn); err != nil {
		_ = conn.Close(ctx) // err says what happened
		return err
	}
	t.conn = conn
	return nil
}

// takeAgain takes the locks that were lost with a connection. PostgreSQL may not have
// noticed yet that the connection is gone, so that a lock is not free at the first try.
func (t *lockTable) takeAgain(ctx context.Context, conn *pgx.Conn) error {
	for key, have := range t.held {
		if have {
			continue
		}
		free, err := tryLock(ctx, conn, key)
		if err != nil {
			return err
		}
		t.held[key] = free
	}
	return nil
}

// tryLock takes a lock and reports whether it was free.
func tryLock(ctx context.Context, conn *pgx.Conn, key int64) (free bool, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&free)
	return free, err
}

// takeKey takes a lock and reports whether it was free.
func (t *lockTable) takeKey(ctx context.Context, key int64) (taken bool, err error) {
	err = t.withConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if _, known := t.held[key]; known { // PostgreSQL would give it to this connection again
			return nil
		}
		taken, err = tryLock(ctx, conn, key)
		if taken {
			t.held[key] = true
		}
		return err
	})
	return taken, err
}

// giveBack ends a lock that take took. A lock whose connection is lost has ended.
func (t *lockTable) giveBack(key int64) {
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	delete(t.held, key)
	if t.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", key); err != nil {
		// A lock that stays would block the session. Its connection ends.
		_ = t.conn.Close(ctx)
		t.conn = nil
	}
}

// keepConn looks after the connection until ctx ends: a lost one is replaced, and its locks
// are taken again.
func (t *lockTable) keepConn(ctx context.Context) {
	ticks := time.NewTicker(lockCheck)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			// The next caller that needs the connection meets the error and returns it.
			_ = t.withConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
				return errors.Join(conn.Ping(ctx), t.takeAgain(ctx, conn))
			})
		}
	}
}

// close ends the connection and with it all locks.
func (t *lockTable) close() error {
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	if t.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	err := t.conn.Close(ctx)
	t.conn = nil
	return err
}
