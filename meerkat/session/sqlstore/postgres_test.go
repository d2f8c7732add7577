package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/internal/postgrestest"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func openPostgres(tb testing.TB, url, name string) *sqlstore.Postgres {
	tb.Helper()
	s, err := sqlstore.OpenPostgres(tb.Context(), sqlstore.Options{URL: url, Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// connectDirectly returns a connection beside the store.
func connectDirectly(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execPostgres(t *testing.T, url, statement string) {
	t.Helper()
	if _, err := connectDirectly(t, url).Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// breakConnections ends all connections of a store, as a network does.
func breakConnections(t *testing.T, url, name string) {
	t.Helper()
	execPostgres(
		t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rkat "+name+"'",
	)
}

// TestPostgresLostLock checks that a writer that lost its lock without noticing stores nothing
// once another has taken the session, and says who has it.
func TestPostgresLostLock(t *testing.T) {
	url := server.Database(t)
	one, two := openPostgres(t, url, "one"), openPostgres(t, url, "two")
	id, w := createSession(t, one, 1)
	var second session.Writer
	var locked *session.LockedError
	for err := error(&session.LockedError{}); errors.As(err, &locked); { // one may have taken it again
		breakConnections(t, url, "one")
		if _, second, err = two.Open(t.Context(), id); err != nil && !errors.As(err, &locked) {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.Append(t.Context(), messageRecord("too late")); !errors.As(err, &locked) || locked.Holder != "two" {
			t.Errorf("%v, want *LockedError that names two", err)
		}
	}
	if err := errors.Join(w.Close(), second.Append(t.Context(), messageRecord("mine")), second.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Load(t.Context(), id); err != nil || len(got.Messages) != 1 ||
		got.Messages[0].Content != "mine" {
		t.Errorf("%+v, %v", got.Messages, err)
	}
}

// TestPostgresRegainedLock checks that the locks of a broken connection are taken again.
func TestPostgresRegainedLock(t *testing.T) {
	url := server.Database(t)
	one, two := openPostgres(t, url, "one"), openPostgres(t, url, "two")
	id, w := createSession(t, one, 1)
	breakConnections(t, url, "one")
	if err := w.Append(t.Context(), messageRecord("goes on")); err != nil {
		t.Error(err)
	}
	_, other := createSession(t, one, 2) // needs the connection of the locks
	if _, _, err := two.Open(t.Context(), id); !errors.As(err, new(*session.LockedError)) {
		t.Errorf("%v, want *LockedError", err)
	}
	if err := errors.Join(other.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	_, w, err := two.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestPostgresRegainedLate checks that a lock is taken again that was not free at once when its
// connection broke.
func TestPostgresRegainedLate(t *testing.T) {
	url := server.Database(t)
	one := openPostgres(t, url, "one")
	if err := one.HoldLock(t.Context(), 77); err != nil {
		t.Fatal(err)
	}
	other, taken := connectDirectly(t, url), make(chan error, 1)
	go func() { // it is the next in the row when the connection breaks
		_, err := other.Exec(t.Context(), "SELECT pg_advisory_lock(77)")
		taken <- err
	}()
	watch := connectDirectly(t, url)
	await := func(condition string) {
		t.Helper()
		for met := false; !met; {
			if err := watch.QueryRow(
				t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE objid = 77 AND "+condition+")",
			).Scan(&met); err != nil {
				t.Fatal(err)
			}
		}
	}
	await("NOT granted")
	breakConnections(t, url, "one")
	_, w := createSession(t, one, 1) // needs the connection of the locks
	if err := errors.Join(<-taken, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "SELECT pg_advisory_unlock(77)"); err != nil {
		t.Fatal(err)
	}
	await("granted") // for ever if nobody takes it again
}

// TestPostgresBrokenAppend breaks the connection in the middle of an Append. A patient Writer
// stores the record once. Any other refuses what follows, and the session opens again.
func TestPostgresBrokenAppend(t *testing.T) {
	for name, patience := range map[string]time.Duration{"patient": time.Minute, "impatient": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			s, err := sqlstore.OpenPostgres(t.Context(), sqlstore.Options{URL: url, Name: "one", Patience: patience})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			id, w := createSession(t, s, 1)
			broken := breakAppend(t, url, w)
			stored := 1
			if name == "impatient" {
				checkRefuses(t, w, broken)
				stored = 0
			} else if broken != nil {
				t.Error(broken)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			got, w, err := s.Open(t.Context(), id)
			if err != nil || len(got.Messages) != stored {
				t.Fatalf("%+v, %v", got.Messages, err)
			}
			if err := errors.Join(w.Append(t.Context(), messageRecord("goes on")), w.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// breakAppend breaks the connection of an Append that waits for a table, and then lets
// go of the table.
func breakAppend(t *testing.T, url string, w session.Writer) error {
	t.Helper()
	block := connectDirectly(t, url)
	if _, err := block.Exec(t.Context(), "BEGIN; LOCK TABLE meerkat.records"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Append(context.Background(), messageRecord("once")) }()
	awaitBlocked(t, url)
	breakConnections(t, url, "one")
	if _, err := block.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	return <-done
}

// checkRefuses checks what a Writer says after the first error.
func checkRefuses(t *testing.T, w session.Writer, first error) {
	t.Helper()
	if first == nil || !strings.Contains(first.Error(), "resume the session when the database is back") {
		t.Fatalf("%v", first)
	}
	if !errors.As(session.WrapStorage(first), new(*session.StorageError)) {
		t.Errorf("%T is no storage error", first)
	}
	if err := w.Append(t.Context(), messageRecord("depends on it")); err == nil || err.Error() != first.Error() {
		t.Errorf("%v, want the first error again", err)
	}
}

// TestPostgresLockedTable: a reader of a table that another program has locked has the time of its
// context, and no more.
func TestPostgresLockedTable(t *testing.T) {
	url := server.Database(t)
	s := openPostgres(t, url, "one")
	block := connectDirectly(t, url)
	if _, err := block.Exec(t.Context(), "BEGIN; LOCK TABLE meerkat.sessions"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.List(ctx, session.Filter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, err := block.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), session.Filter{}); err != nil {
		t.Error(err)
	}
}

// awaitBlocked returns when a statement of a store waits for a lock.
func awaitBlocked(t *testing.T, url string) {
	t.Helper()
	conn := connectDirectly(t, url)
	for blocked := false; !blocked; {
		err := conn.QueryRow(
			t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')",
		).Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresDatabaseReturns takes the database away in two ways and brings it back: a session
// that is open goes on, and others open.
func TestPostgresDatabaseReturns(t *testing.T) {
	url := server.Database(t)
	s := openPostgres(t, url, "one")
	id, w := createSession(t, s, 1)
	t.Run("restarted", func(t *testing.T) {
		server.Stop(t)
		if _, err := s.Load(t.Context(), id); !errors.As(err, new(*session.StorageError)) ||
			!strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("%v", err)
		}
		done := make(chan error, 1)
		go func() { done <- w.Append(t.Context(), messageRecord("waits")) }()
		server.Restart(t)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("stopped for a while", func(t *testing.T) {
		if err := server.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- w.Append(t.Context(), messageRecord("waits")) }()
		if err := server.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(t.Context(), id); err != nil || len(got.Messages) != 2 {
		t.Errorf("%+v, %v", got.Messages, err)
	}
}

// TestPostgresNewerSchema checks that a program refuses what a newer one has changed, when it
// starts and when it runs.
func TestPostgresNewerSchema(t *testing.T) {
	url := server.Database(t)
	s := openPostgres(t, url, "old")
	id, w := createSession(t, s, 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	execPostgres(t, url, "INSERT INTO meerkat.versions (part, version) VALUES ('sessions', 2)")
	var newer *session.VersionError
	if _, _, err := s.Open(t.Context(), id); !errors.As(err, &newer) || newer.Have != 2 || newer.Newest != 1 {
		t.Errorf("%v, want *VersionError", err)
	}
	if _, err := sqlstore.OpenPostgres(t.Context(), sqlstore.Options{URL: url}); !errors.As(err, &newer) ||
		!strings.Contains(err.Error(), "2 is newer than 1") {
		t.Errorf("%v, want *VersionError", err)
	}
}

// TestPostgresNewerSession checks that a session of a newer program is refused and hides no
// other.
func TestPostgresNewerSession(t *testing.T) {
	url := server.Database(t)
	s := openPostgres(t, url, "old")
	for n := range 2 {
		_, w := createSession(t, s, n)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	newer := `{"record":"header","version":99,"id":"0199a2b4-0000-7000-8000-000000000001","created_at":"2026-01-01T00:00:00Z"}`
	for _, statement := range []string{"UPDATE meerkat.records SET lines = ", "UPDATE meerkat.sessions SET header = "} {
		where := " WHERE id LIKE '%1'"
		if strings.Contains(statement, "records") {
			where = " WHERE session LIKE '%1'"
		}
		execPostgres(t, url, statement+"'"+newer+"\n'"+where)
	}
	var version *session.VersionError
	if _, _, err := s.Open(
		t.Context(), "0199a2b4-0000-7000-8000-000000000001",
	); !errors.As(err, &version) || version.Have != 99 {
		t.Errorf("%v, want *VersionError", err)
	}
	infos, err := s.List(t.Context(), session.Filter{})
	if err != nil || len(infos) != 2 {
		t.Fatalf("%+v, %v", infos, err)
	}
	for _, i := range infos {
		if errors.As(i.Problem, &version) != strings.HasSuffix(string(i.ID), "1") {
			t.Errorf("%+v", i)
		}
	}
}

// TestNoPassword checks what is said of a database that cannot be used: its name, what
// to do, and never the password.
func TestNoPassword(t *testing.T) {
	url := server.Database(t)
	for name, c := range map[string]struct{ url, want string }{
		"no port": {
			strings.Replace(url, "127.0.0.1:", "127.0.0.1:1", 1), "has a port or parameter that is not valid",
		},
		"no listener": {
			"postgres://u:" + postgrestest.Password + "@127.0.0.1:1/db",
			"127.0.0.1:1/db: cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused; see",
		},
		"no database": {url + "x", "create it"},
		"wrong password": {
			strings.Replace(url, postgrestest.Password, postgrestest.Password+"2", 1), "refuses this user",
		},
		"no URL":        {"host=127.0.0.1 password=" + postgrestest.Password, "is not a URL"},
		"broken URL":    {"postgres://u:" + postgrestest.Password + "@[::1/db", "is not a URL"},
		"raw slash":     {"postgres://u:5432/" + postgrestest.Password + "@127.0.0.1/db", "write %40, %2F"},
		"wrong sslmode": {url + "?sslmode=" + postgrestest.Password, "unknown sslmode; use one of disable, allow"},
		"no file": {
			url + "?sslmode=require&sslrootcert=/" + postgrestest.Password, "names a file that cannot be read",
		},
	} {
		_, err := sqlstore.OpenPostgres(t.Context(), sqlstore.Options{URL: c.url})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		state, examined := sqlstore.Examine(t.Context(), sqlstore.Options{URL: c.url})
		if err != nil && (examined == nil || examined.Error() != err.Error()) {
			t.Errorf("%s: Examine: %v; want %v", name, examined, err)
		}
		if text := fmt.Sprintf(
			"%v %#v %+v", err, err, state,
		); strings.Contains(text, postgrestest.Password) || strings.Contains(text, "\n") {
			t.Errorf("%s: %s", name, text)
		}
		if invalid := strings.Contains(c.want, "is not") || strings.Contains(c.want, "sslmode") ||
			strings.Contains(c.want, "%40") || strings.Contains(c.want, "file"); errors.As(
			err, new(*sqlstore.AddressError),
		) != invalid {
			t.Errorf("%s: %T", name, err)
		}
	}
}
