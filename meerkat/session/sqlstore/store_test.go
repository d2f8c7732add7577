package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
	"github.com/meerkat-go/conformance/meerkat/session/storetest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// database is an empty database of one dialect.
type database struct {
	open func(name string) (closingStore, error)
	// driver and source open it without a store.
	driver, source string
	// records is the table of rows, number the column of their numbers.
	records, number string
}

type closingStore interface {
	session.Store
	Close() error
}

// dialects make databases.
var dialects = map[string]func(testing.TB) database{
	"sqlite": func(tb testing.TB) database {
		tb.Helper()
		dir := tb.TempDir()
		open := func(string) (closingStore, error) { return sqlstore.OpenSQLite(dir) }
		return database{open, "sqlite", filepath.Join(dir, "sessions.db"), "records", "seq"}
	},
	"postgres": func(tb testing.TB) database {
		tb.Helper()
		url := server.Database(tb)
		open := func(name string) (closingStore, error) {
			return sqlstore.OpenPostgres(context.Background(), sqlstore.Options{URL: url, Name: name, MaxConns: 2})
		}
		return database{open, "pgx", url, "meerkat.records", "number"}
	},
}

// inEachDialect runs a test with an empty database of each dialect.
func inEachDialect(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	for name, create := range dialects {
		t.Run(name, func(t *testing.T) { test(t, create(t)) })
	}
}

func (d database) openStore(tb testing.TB, name string) closingStore {
	tb.Helper()
	s, err := d.open(name)
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

func (d database) connect(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func createSession(tb testing.TB, s session.Store, n int) (session.ID, session.Writer) {
	tb.Helper()
	id := session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
	w, err := s.Create(tb.Context(), session.Header{
		Version: session.Version, ID: id, Created: time.Unix(int64(n), 0).UTC(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return id, w
}

func messageRecord(text string) session.Record {
	return session.MessageRecord{At: time.Unix(5, 0).UTC(), Message: transcript.User(text)}
}

func TestStore(t *testing.T) {
	for name, create := range dialects {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) session.Store { return create(t).openStore(t, "one") })
		})
	}
}

// TestEveryDamage holds the stores to session.Store's promise about damage.
func TestEveryDamage(t *testing.T) {
	for name, create := range dialects {
		t.Run(name, func(t *testing.T) {
			storetest.RunDamage(t, func(t *testing.T) (session.Store, storetest.Lines) {
				d := create(t)
				return d.openStore(t, "one"), storedRows{d, d.connect(t)}
			})
		})
	}
}

// storedRows gives access to the lines of a store.
type storedRows struct {
	database
	db *sql.DB
}

func (r storedRows) Read(t *testing.T, id session.ID) (all []byte) {
	t.Helper()
	found, err := r.db.QueryContext(
		t.Context(), fmt.Sprintf("SELECT lines FROM %s WHERE session = $1 ORDER BY %s", r.records, r.number),
		string(id),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var lines []byte
		if err := found.Scan(&lines); err != nil {
			t.Fatal(err)
		}
		all = append(all, lines...)
	}
	return all
}

// Replace stores each line as a row of its own.
func (r storedRows) Replace(t *testing.T, id session.ID, lines []byte) {
	t.Helper()
	tx, err := r.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(t.Context(), "DELETE FROM "+r.records+" WHERE session = $1", string(id))
	number := 0
	for line := range bytes.Lines(lines) {
		_, e := tx.ExecContext(t.Context(), "INSERT INTO "+r.records+" VALUES ($1,$2,$3)", string(id), number, line)
		err = errors.Join(err, e)
		number++
	}
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Fatal(err)
	}
}

// TestTwoProcesses checks that another process sees what this one wrote, and its locks.
func TestTwoProcesses(t *testing.T) {
	inEachDialect(t, func(t *testing.T, d database) {
		one, two := d.openStore(t, "one"), d.openStore(t, "two")
		id, w := createSession(t, one, 1)
		checkLocked := func(s session.Store, holder string) {
			t.Helper()
			var locked *session.LockedError
			if _, _, err := s.Open(t.Context(), id); !errors.As(err, &locked) || d.driver == "pgx" &&
				locked.Holder != holder {
				t.Errorf("%v, want *LockedError that names %s", err, holder)
			}
			if err := s.Delete(t.Context(), id); !errors.As(err, &locked) {
				t.Errorf("Delete: %v, want *LockedError", err)
			}
		}
		checkLocked(two, "one")
		if err := errors.Join(w.Append(t.Context(), messageRecord("hello")), w.Close()); err != nil {
			t.Fatal(err)
		}
		got, w, err := two.Open(t.Context(), id)
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		checkLocked(one, "two")
		if err := errors.Join(w.Append(t.Context(), messageRecord("again")), w.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := one.Load(t.Context(), id); err != nil || len(got.Messages) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestMissingAppend checks that a session that lacks a row in its middle is damaged: the
// messages after the gap depend on it.
func TestMissingAppend(t *testing.T) {
	inEachDialect(t, func(t *testing.T, d database) {
		s := d.openStore(t, "one")
		id, w := createSession(t, s, 1)
		for range 3 {
			if err := w.Append(t.Context(), messageRecord("x")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.connect(t).ExecContext(t.Context(), "DELETE FROM "+d.records+" WHERE "+d.number+" = 2")
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Open(t.Context(), id); !errors.As(err, new(*session.CorruptError)) {
			t.Errorf("%v, want *CorruptError", err)
		}
	})
}

// TestOpenedAtOnce: many programs that begin at once with an empty database.
func TestOpenedAtOnce(t *testing.T) {
	inEachDialect(t, func(t *testing.T, d database) {
		errs := make(chan error)
		const many = 8
		for n := range many {
			go func() {
				s, err := d.open("")
				if err == nil {
					id := session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
					var w session.Writer
					if w, err = s.Create(context.Background(), session.Header{
						Version: session.Version, ID: id,
					}); err == nil {
						err = errors.Join(w.Append(context.Background(), messageRecord("x")), w.Close())
					}
					err = errors.Join(err, s.Close())
				}
				errs <- err
			}()
		}
		for range many {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// BenchmarkAppend is the checkpoint at several lengths of the session; it must not grow. The
// server of PostgreSQL does not sync.
func BenchmarkAppend(b *testing.B) {
	for dialect, create := range dialects {
		for _, messages := range []int{10, 1000, 10000} {
			b.Run(fmt.Sprint(dialect, messages), func(b *testing.B) {
				_, w := createSession(b, create(b).openStore(b, "one"), 1)
				all := make([]session.Record, messages)
				for i := range all {
					all[i] = messageRecord("some text of a usual length, more or less, as people write it")
				}
				if err := w.Append(context.Background(), all...); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := w.Append(context.Background(), all[0], session.Checkpoint{
						At: time.Unix(9, 0), Reason: session.ReasonAssistant,
					}); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
