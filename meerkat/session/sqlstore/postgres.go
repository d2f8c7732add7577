package sqlstore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Bounds of the connections of one Postgres.
const (
	// DefaultMaxConns is how many connections a Postgres has beside that of its locks.
	DefaultMaxConns = 8
	// DefaultPatience is how long an Append waits for a database to return.
	DefaultPatience = 20 * time.Second

	connectTime = 5 * time.Second  // of one try to connect
	answerTime  = 30 * time.Second // after which a database that does not answer is away
	retryTime   = 200 * time.Millisecond
	lockCheck   = time.Second // between two looks at the connection of the locks
)

// Options say how a [Postgres] reaches its database.
type Options struct {
	// URL is postgres://user:password@host:port/database, with what pgx takes as
	// parameters. It appears in no error.
	URL string
	// Name is how errors of other processes call the holder of a lock.
	Name string
	// MaxConns bounds the connections beside that of the locks; 0: DefaultMaxConns.
	MaxConns int
	// Patience is how long an Append waits for a database that went away; 0:
	// DefaultPatience.
	Patience time.Duration
}

// Postgres is a session.Store over one PostgreSQL database that several machines share. It is
// safe for concurrent use. Close it when it is no longer needed.
//
// When the connection breaks in the middle of an Append, it is tried again for some time; after
// that the Writer fails and the session can be opened again. A writer holds a lock that
// PostgreSQL gives back when the connection of its process ends, and a number that counts the
// writers of a session, so that a writer that has lost its lock without noticing stores nothing
// more. The tables are in the schema "meerkat" and are created by the first OpenPostgres.
// Connections must reach PostgreSQL itself, or a pooler that gives each client a connection of
// its own: locks belong to connections.
type Postgres struct {
	store
	pool     *pgxpool.Pool
	about    database
	name     string
	newest   int // the version of the tables that this program knows
	patience time.Duration
	locks    *lockTable
	release  func() error
}

//go:embed migrations/*.sql
var migrations embed.FS

// sessionsPart are the tables of this package.
func sessionsPart() Part { return Part{"sessions", migrations} }

// OpenPostgres connects to a database and creates or updates its tables. A schema of a newer
// program is a *session.VersionError, an address that is not valid an *AddressError.
func OpenPostgres(ctx context.Context, o Options) (*Postgres, error) {
	config, about, err := parseOptions(o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, about.wrapError(ctx, err)
	}
	s := &Postgres{pool: pool, about: about, name: o.Name, patience: cmp.Or(o.Patience, DefaultPatience)}
	s.db, s.dialect = stdlib.OpenDBFromPool(pool), s
	if s.newest, err = Migrate(ctx, pool, sessionsPart()); err != nil {
		pool.Close()
		return nil, about.wrapError(ctx, err)
	}
	s.locks = newLockTable(s.connect)
	checks, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { s.locks.keepConn(checks) })
	s.release = sync.OnceValue(func() error {
		stop()
		wg.Wait()
		err := s.db.Close()
		pool.Close()
		return errors.Join(err, s.locks.close())
	})
	return s, nil
}

// parseOptions returns the configuration of the pool, and what errors say of the
// database.
func parseOptions(o Options) (*pgxpool.Config, database, error) {
	config, about, err := parseAddress(o.URL)
	if err != nil {
		return nil, database{}, err
	}
	config.MaxConns = DefaultMaxConns
	if o.MaxConns > 0 {
		config.MaxConns = int32(min(o.MaxConns, 1000)) //nolint:gosec // bounded
	}
	config.ConnConfig.ConnectTimeout = connectTime
	for name, value := range map[string]string{
		"application_name": "rkat " + o.Name,
		// A machine that lost its power gives its locks back after half a minute.
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	config.AfterConnect = commitDurably
	// No request fails because a connection was lost while nobody used it.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	return config, about, nil
}

// commitDurably makes a commit wait for the disk where the server's settings do not.
func commitDurably(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(
		ctx,
		"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
	)
	return err
}

// Pool returns the connections of the store, for tables beside its own. It ends with
// the store.
func (s *Postgres) Pool() *pgxpool.Pool { return s.pool }

// Connect returns a connection of the caller's own, which the caller closes.
func (s *Postgres) Connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := s.connect(ctx)
	return conn, s.about.wrapError(ctx, err)
}

func (s *Postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
}

// HoldLock takes the advisory lock of that number, which must be free, and holds it on
// the connection of the sessions' locks until the store is closed or the process ends.
// Others see in pg_locks that this process lives.
func (s *Postgres) HoldLock(ctx context.Context, key int64) error {
	taken, err := s.locks.takeKey(ctx, key)
	if err == nil && !taken {
		err = fmt.Errorf("lock %d is taken", key)
	}
	return s.about.wrapError(ctx, err)
}

// WrapError names the database in an error of the Pool and says what to do; errors of
// package session stay as they are.
func (s *Postgres) WrapError(ctx context.Context, err error) error {
	return s.about.wrapError(ctx, err)
}

// Close ends all connections; what a Writer appends after that fails. Closing twice is
// allowed.
func (s *Postgres) Close() error { return s.release() }

func (s *Postgres) writeStatement(text string) string {
	return nameTables("meerkat.sessions", "meerkat.records", "number")(text)
}

func (s *Postgres) recordsPath(id session.ID) string { return s.about.name + "#" + string(id) }

func (s *Postgres) wrapError(ctx context.Context, err error) error {
	return s.about.wrapError(ctx, err)
}

func (s *Postgres) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answerTime)
}

// advisoryLock is the lock of a session in a lockTable.
type advisoryLock struct {
	table *lockTable
	key   int64
}

func (l advisoryLock) giveBack() error   { l.table.giveBack(l.key); return nil }
func (l advisoryLock) removeLock() error { return l.giveBack() }

// takeLock refuses a schema that a newer program has changed since OpenPostgres.
func (s *Postgres) takeLock(ctx context.Context, id session.ID, _ bool) (lock, error) {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	part := sessionsPart()
	have, err := readVersion(ctx, s.pool, part.Name)
	if err == nil && have > s.newest {
		err = part.newerError(have, s.newest)
	}
	if err != nil {
		return nil, err
	}
	taken, err := s.locks.takeKey(ctx, lockKey(id))
	if err == nil && !taken {
		err = s.lockedError(ctx, id)
	}
	return advisoryLock{s.locks, lockKey(id)}, err
}

// lockedError returns the *session.LockedError of a session that another process writes, and
// session.ErrNotFound for one that is being created or deleted.
func (s *Postgres) lockedError(ctx context.Context, id session.ID) error {
	e := &session.LockedError{ID: id}
	err := s.pool.QueryRow(ctx, "SELECT writer FROM meerkat.sessions WHERE id = $1", string(id)).Scan(&e.Holder)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return session.NotFound(id)
	case err != nil:
		return err
	}
	return e
}

func (s *Postgres) insertSession(ctx context.Context, id session.ID, header row) (created bool, err error) {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	tag, err := s.pool.Exec(ctx, `WITH fresh AS (
			INSERT INTO meerkat.sessions (id, header, created, updated, writers, writer) VALUES ($1, $2, $3, $3, 1, $4)
			ON CONFLICT DO NOTHING RETURNING id)
		INSERT INTO meerkat.records (session, number, lines) SELECT id, 0, $2 FROM fresh`,
		string(id), header.lines, header.updated, s.name)
	return tag.RowsAffected() == 1, err
}

// countWriter returns the number of this writer: those before it store nothing more.
func (s *Postgres) countWriter(ctx context.Context, id session.ID) (writer int64, err error) {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	err = s.pool.QueryRow(
		ctx, "UPDATE meerkat.sessions SET writers = writers + 1, writer = $2 WHERE id = $1 RETURNING writers",
		string(id), s.name,
	).Scan(&writer)
	if errors.Is(err, pgx.ErrNoRows) {
		err = session.NotFound(id)
	}
	return writer, err
}

// insertRow stores a row. When the connection breaks, it tries again until the database
// has been away for s.patience: the row has a number that only this writer uses, so
// that it is stored once.
func (s *Postgres) insertRow(ctx context.Context, id session.ID, writer int64, r row) error {
	return retryWhileAway(ctx, s.patience, func() error { return s.tryInsertRow(ctx, id, writer, r) })
}

// retryWhileAway calls try again until the database has been away for the time of patience, which
// begins with the first failure: a try that nobody answers may take longer than that by itself, and
// the next one has another connection.
func retryWhileAway(ctx context.Context, patience time.Duration, try func() error) error {
	err := try()
	until := time.Now().Add(patience)
	for isAway(err) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(retryTime):
			if time.Now().After(until) {
				return &awayError{err}
			}
			err = try()
		}
	}
	return err
}

// tryInsertRow stores a row, unless it is stored already.
func (s *Postgres) tryInsertRow(ctx context.Context, id session.ID, writer int64, r row) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	var isWriter bool
	err := s.pool.QueryRow(ctx, `WITH mine AS (
			UPDATE meerkat.sessions SET updated = greatest(updated, $4) WHERE id = $1 AND writers = $5 RETURNING id
		), stored AS (
			INSERT INTO meerkat.records (session, number, lines) SELECT id, $2, $3 FROM mine ON CONFLICT DO NOTHING
		) SELECT EXISTS (SELECT FROM mine)`,
		string(id), r.number, r.lines, r.updated, writer).Scan(&isWriter)
	if err == nil && !isWriter {
		return s.lockedError(ctx, id)
	}
	return err
}

// leastRows returns 0: PostgreSQL hides no rows of a table that it reads.
func (s *Postgres) leastRows(context.Context, session.ID) (int, error) { return 0, nil }

func (s *Postgres) deleteSession(ctx context.Context, id session.ID) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	_, err := s.pool.Exec(ctx, "DELETE FROM meerkat.sessions WHERE id = $1", string(id))
	return err
}
