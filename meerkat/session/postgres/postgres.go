// Package postgres stores sessions in a PostgreSQL database that several machines share.
//
// Use it when more than one process serves the same sessions; package sqlite needs no
// server. [Open] returns a [Store], which is a session.Store and must be closed:
//
//	store, err := postgres.Open(ctx, postgres.Options{URL: "postgres://rkat@db/rkat", Name: "replica-1"})
//	defer store.Close()
//	w, err := store.Create(ctx, session.Header{Version: session.Version, ID: id, Created: time.Now()})
//
// The package promises: a record is committed before Append returns, and an Append is
// stored whole and once or not at all. When the connection breaks in the middle of an
// Append, it is tried again for some time; after that the Writer fails and the session
// can be opened again. One writer at a time has a session, over all machines: a
// lock that PostgreSQL gives back when the connection of a writer's process ends, and a
// number that counts the writers of a session, so that a writer that has lost its lock
// without noticing stores nothing more. The records are the lines that package jsonl
// would write.
//
// The tables are in the schema "meerkat" and are created by the first Open. A program
// refuses a schema that a newer one has changed.
//
// Connections must reach PostgreSQL itself, or a pooler that gives each client a
// connection of its own: locks belong to connections.
package postgres

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bounds of the connections of one Store.
const (
	// DefaultMaxConns is how many connections a Store has beside that of its locks.
	DefaultMaxConns = 8
	// DefaultPatience is how long an Append waits for a database to return.
	DefaultPatience = 20 * time.Second

	connectTime = 5 * time.Second  // of one try to connect
	answerTime  = 30 * time.Second // after which a database that does not answer is away
	retryTime   = 200 * time.Millisecond
	lockCheck   = time.Second // between two looks at the connection of the locks
)

// Options say how a Store reaches its database.
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

// Store is a session.Store over one database. It is safe for concurrent use. Close it
// when it is no longer needed.
type Store struct {
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

// Open connects to a database and creates or updates its tables. A schema of a newer
// program is a *session.VersionError, an address that is not valid an *AddressError.
func Open(ctx context.Context, o Options) (*Store, error) {
	config, about, err := parseOptions(o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, about.wrapError(ctx, err)
	}
	s := &Store{pool: pool, about: about, name: o.Name, patience: cmp.Or(o.Patience, DefaultPatience)}
	if s.newest, err = Migrate(ctx, pool, sessionsPart()); err != nil {
		pool.Close()
		return nil, about.wrapError(ctx, err)
	}
	s.locks = newLockTable(s.connect)
	checks, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { s.locks.keep(checks) })
	s.release = sync.OnceValue(func() error {
		stop()
		wg.Wait()
		pool.Close()
		return s.locks.close()
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
	_, err := conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

// Pool returns the connections of the store, for tables beside its own. It ends with
// the store.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Connect returns a connection of the caller's own, which the caller closes.
func (s *Store) Connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := s.connect(ctx)
	return conn, s.about.wrapError(ctx, err)
}

func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
}

// HoldLock takes the advisory lock of that number, which must be free, and holds it on
// the connection of the sessions' locks until the store is closed or the process ends.
// Others see in pg_locks that this process lives.
func (s *Store) HoldLock(ctx context.Context, key int64) error {
	taken, err := s.locks.take(ctx, key)
	if err == nil && !taken {
		err = fmt.Errorf("lock %d is taken", key)
	}
	return s.about.wrapError(ctx, err)
}

// WrapError names the database in an error of the Pool and says what to do; errors of
// package session stay as they are.
func (s *Store) WrapError(ctx context.Context, err error) error { return s.about.wrapError(ctx, err) }

// Close ends all connections; what a Writer appends after that fails. Closing twice is
// allowed.
func (s *Store) Close() error { return s.release() }
