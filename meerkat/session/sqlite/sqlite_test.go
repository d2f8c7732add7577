package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlite"
	"github.com/meerkat-go/conformance/meerkat/session/storetest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func openStore(tb testing.TB, dir string) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(dir)
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

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) session.Store { return openStore(t, t.TempDir()) })
}

// TestTwoHandles checks that another process sees what this one wrote, and its
// locks.
func TestTwoHandles(t *testing.T) {
	dir := t.TempDir()
	one, two := openStore(t, dir), openStore(t, dir)
	id, w := createSession(t, one, 1)
	if _, _, err := two.Open(t.Context(), id); !errors.As(err, new(*session.LockedError)) {
		t.Errorf("%v, want *LockedError", err)
	}
	if err := errors.Join(w.Append(t.Context(), messageRecord("hello")), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, w, err := two.Open(t.Context(), id)
	if err != nil || len(got.Messages) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := errors.Join(w.Append(t.Context(), messageRecord("again")), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := one.Load(t.Context(), id); err != nil || len(got.Messages) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func createSession(tb testing.TB, s session.Store, n int) (session.ID, session.Writer) {
	tb.Helper()
	id := session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
	w, err := s.Create(tb.Context(), session.Header{Version: session.Version, ID: id, Created: time.Unix(int64(n), 0).UTC()})
	if err != nil {
		tb.Fatal(err)
	}
	return id, w
}

func messageRecord(text string) session.Record {
	return session.MessageRecord{At: time.Unix(5, 0).UTC(), Message: transcript.User(text)}
}

// execDirectly runs a statement on the database without the store.
func execDirectly(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamage: what cannot be read is said, and hides no other session.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for n := range 2 {
		_, w := createSession(t, s, n)
		if err := errors.Join(w.Append(t.Context(), messageRecord("x")), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	bad := "0199a2b4-0000-7000-8000-000000000000"
	execDirectly(t, dir, "UPDATE records SET lines = substr(lines, 1, 20) WHERE seq = 1 AND session = '"+bad+"'")
	var corrupt *session.CorruptError
	if _, err := s.Load(t.Context(), session.ID(bad)); !errors.As(err, &corrupt) {
		t.Errorf("%v, want *CorruptError", err)
	}
	execDirectly(t, dir, "UPDATE sessions SET header = 'x' WHERE id = '"+bad+"'")
	infos, err := s.List(t.Context(), session.Filter{})
	if err != nil || len(infos) != 2 {
		t.Fatalf("%+v, %v", infos, err)
	}
	for _, i := range infos {
		if (i.Problem != nil) != (i.ID == session.ID(bad)) {
			t.Errorf("%+v", i)
		}
	}
}

// TestMissingAppend checks that a session that lacks a part in its middle is
// damaged: the messages after the gap depend on it.
func TestMissingAppend(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	id, w := createSession(t, s, 1)
	for range 3 {
		if err := w.Append(t.Context(), messageRecord("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	execDirectly(t, dir, "DELETE FROM records WHERE seq = 2")
	var corrupt *session.CorruptError
	if _, _, err := s.Open(t.Context(), id); !errors.As(err, &corrupt) || strings.Contains(err.Error(), ":0:") {
		t.Errorf("%v, want *CorruptError", err)
	}
}

// TestHiddenAppend checks that a session whose last records are gone, or all of them, is
// damaged: it would go on as if they had never been. One that another program has deleted, or
// has added to without counting, is what it is.
func TestHiddenAppend(t *testing.T) {
	var corrupt *session.CorruptError
	for statement, want := range map[string]func(got session.Session, err error) bool{
		"DELETE FROM records WHERE seq = 3": func(_ session.Session, err error) bool { return errors.As(err, &corrupt) },
		"DELETE FROM records":               func(_ session.Session, err error) bool { return errors.As(err, &corrupt) },
		"DELETE FROM records; DELETE FROM sessions": func(_ session.Session, err error) bool {
			return errors.Is(err, session.ErrNotFound) && !errors.As(err, &corrupt)
		},
		"UPDATE counts SET rows = 2": func(got session.Session, err error) bool { return err == nil && len(got.Messages) == 3 },
		"DROP TABLE counts":          func(got session.Session, err error) bool { return err == nil && len(got.Messages) == 3 },
	} {
		dir := t.TempDir()
		s := openStore(t, dir)
		id, w := createSession(t, s, 1)
		for range 3 {
			if err := w.Append(t.Context(), messageRecord("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		execDirectly(t, dir, statement)
		s = openStore(t, dir)
		if got, err := s.Load(t.Context(), id); !want(got, err) {
			t.Errorf("%s: %d messages, %v", statement, len(got.Messages), err)
		}
	}
}

// TestEveryByte damages the database itself, a byte at a time: the beginning of each page,
// where SQLite keeps how many rows the page has and where they are, and places between. A
// session is then refused, or whole.
func TestEveryByte(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	id, w := createSession(t, s, 1)
	for range 40 { // two pages
		if err := w.Append(t.Context(), messageRecord("a message")); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := s.Load(t.Context(), id)
	if err := errors.Join(err, w.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sessions.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	refused, kept := 0, 0
	for at := range data {
		if in := at % page; in > 32 && in%61 != 0 || at < 100 {
			continue
		}
		for _, flip := range []byte{1, 4, 64} {
			bad := bytes.Clone(data)
			bad[at] ^= flip
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := loadDamaged(t, dir, id)
			switch {
			case err != nil:
				refused++
			case len(got.Messages) != len(whole.Messages) || got.Messages[39].Content != "a message":
				t.Errorf("byte %d of page %d, bits %08b: %d messages and no error", at%page, at/page+1, flip, len(got.Messages))
			default:
				kept++
			}
		}
	}
	t.Logf("%d times refused, %d times whole", refused, kept)
}

// loadDamaged loads a session of a database that is damaged.
func loadDamaged(t *testing.T, dir string, id session.ID) (session.Session, error) {
	t.Helper()
	s, err := sqlite.Open(dir)
	if err != nil {
		return session.Session{}, err
	}
	defer func() { _ = s.Close() }() // only read
	return s.Load(t.Context(), id)
}

// TestReplacedWhileOpen: what is written to a file that has no name any more is
// lost, and said to be.
func TestReplacedWhileOpen(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"~", nil, 0o600), os.Rename(path+"~", path))
		},
	} {
		dir := t.TempDir()
		s := openStore(t, dir)
		_, w := createSession(t, s, 1)
		if err := change(filepath.Join(dir, "sessions.db")); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), messageRecord("lost")); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: %v", name, err)
		}
		_ = w.Close()
	}
}

// TestOpenedAtOnce: many processes that begin at once in a new folder.
func TestOpenedAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	const many = 8
	for n := range many {
		go func() {
			s, err := sqlite.Open(dir)
			if err == nil {
				id := session.ID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n))
				var w session.Writer
				if w, err = s.Create(context.Background(), session.Header{Version: session.Version, ID: id}); err == nil {
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
}

func TestNewerAndNoDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := openStore(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	execDirectly(t, dir, "PRAGMA user_version = 2")
	if _, err := sqlite.Open(dir); !errors.As(err, new(*session.VersionError)) {
		t.Errorf("%v, want *VersionError", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sessions.db"), []byte("this is a text and no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(dir); !errors.As(err, new(*session.CorruptError)) {
		t.Errorf("%v, want *CorruptError", err)
	}
}

// TestPrivate: conversations are for their owner's eyes.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space & #?%41")
	s := openStore(t, dir)
	_, w := createSession(t, s, 1)
	if err := errors.Join(w.Append(t.Context(), messageRecord("secret")), w.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "sessions.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

// BenchmarkAppend is the checkpoint at several lengths of the session, beside a
// bare write and fsync of as many bytes; it must not grow.
func BenchmarkAppend(b *testing.B) {
	b.Run("bare_write_and_fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for line := bytes.Repeat([]byte("text "), 60); b.Loop(); {
			_, err := f.Write(line)
			if err := errors.Join(err, f.Sync()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, messages := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			s := openStore(b, b.TempDir())
			_, w := createSession(b, s, 1)
			all := make([]session.Record, messages)
			for i := range all {
				all[i] = messageRecord("some text of a usual length, more or less, as people write it")
			}
			if err := w.Append(context.Background(), all...); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.Append(context.Background(), all[0], session.Checkpoint{At: time.Unix(9, 0), Reason: session.ReasonAssistant}); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// TestEveryDamage holds the store to session.Store's promise about damage.
func TestEveryDamage(t *testing.T) {
	storetest.RunDamage(t, func(t *testing.T) (session.Store, storetest.Lines) {
		dir := t.TempDir()
		store := openStore(t, dir)
		db, err := sql.Open("sqlite", filepath.Join(dir, "sessions.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return store, rows{db}
	})
}

// rows gives access to the lines of a store.
type rows struct{ *sql.DB }

func (r rows) Read(t *testing.T, id session.ID) (all []byte) {
	t.Helper()
	found, err := r.QueryContext(t.Context(), "SELECT lines FROM records WHERE session = ? ORDER BY seq", string(id))
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
func (r rows) Replace(t *testing.T, id session.ID, lines []byte) {
	t.Helper()
	tx, err := r.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(t.Context(), "DELETE FROM records WHERE session = ?", string(id))
	seq := 0
	for line := range bytes.Lines(lines) {
		_, e := tx.ExecContext(t.Context(), "INSERT INTO records VALUES (?,?,?)", string(id), seq, line)
		err = errors.Join(err, e)
		seq++
	}
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Fatal(err)
	}
}
