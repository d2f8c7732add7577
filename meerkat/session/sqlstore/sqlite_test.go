package sqlstore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

func openSQLite(tb testing.TB, dir string) *sqlstore.SQLite {
	tb.Helper()
	s, err := sqlstore.OpenSQLite(dir)
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

// execSQLite runs a statement on the database without the store.
func execSQLite(t *testing.T, dir, statement string) {
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

// TestSQLiteDamage: what cannot be read is said, and hides no other session.
func TestSQLiteDamage(t *testing.T) {
	dir := t.TempDir()
	s := openSQLite(t, dir)
	for n := range 2 {
		_, w := createSession(t, s, n)
		if err := errors.Join(w.Append(t.Context(), messageRecord("x")), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	bad := "0199a2b4-0000-7000-8000-000000000000"
	execSQLite(t, dir, "UPDATE records SET lines = substr(lines, 1, 20) WHERE seq = 1 AND session = '"+bad+"'")
	var corrupt *session.CorruptError
	if _, err := s.Load(t.Context(), session.ID(bad)); !errors.As(err, &corrupt) {
		t.Errorf("%v, want *CorruptError", err)
	}
	execSQLite(t, dir, "UPDATE sessions SET header = 'x' WHERE id = '"+bad+"'")
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

// TestSQLiteHiddenAppend checks that a session whose last records are gone, or all of them, is
// damaged: it would go on as if they had never been. One that another program has deleted, or
// has added to without counting, is what it is.
func TestSQLiteHiddenAppend(t *testing.T) {
	var corrupt *session.CorruptError
	for statement, want := range map[string]func(got session.Session, err error) bool{
		"DELETE FROM records WHERE seq = 3": func(_ session.Session,
			err error) bool {
			return errors.As(err, &corrupt)
		},
		"DELETE FROM records": func(_ session.Session,
			err error) bool {
			return errors.As(err, &corrupt)
		},
		"DELETE FROM records; DELETE FROM sessions": func(_ session.Session, err error) bool {
			return errors.Is(err, session.ErrNotFound) && !errors.As(err, &corrupt)
		},
		"UPDATE counts SET rows = 2": func(got session.Session, err error) bool {
			return err == nil &&
				len(got.Messages) == 3
		},
		"DROP TABLE counts": func(got session.Session, err error) bool { return err == nil && len(got.Messages) == 3 },
	} {
		dir := t.TempDir()
		s := openSQLite(t, dir)
		id, w := createSession(t, s, 1)
		for range 3 {
			if err := w.Append(t.Context(), messageRecord("x")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		execSQLite(t, dir, statement)
		s = openSQLite(t, dir)
		if got, err := s.Load(t.Context(), id); !want(got, err) {
			t.Errorf("%s: %d messages, %v", statement, len(got.Messages), err)
		}
	}
}

// TestSQLiteEveryByte damages the database itself, a byte at a time: the beginning of each page,
// where SQLite keeps how many rows the page has and where they are, and places between. A
// session is then refused, or whole.
func TestSQLiteEveryByte(t *testing.T) {
	dir := t.TempDir()
	s := openSQLite(t, dir)
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
				t.Errorf(
					"byte %d of page %d, bits %08b: %d messages and no error", at%page, at/page+1, flip,
					len(got.Messages),
				)
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
	s, err := sqlstore.OpenSQLite(dir)
	if err != nil {
		return session.Session{}, err
	}
	defer func() { _ = s.Close() }() // only read
	return s.Load(t.Context(), id)
}

// TestSQLiteReplaced: what is written to a file that has no name any more is
// lost, and said to be.
func TestSQLiteReplaced(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"~", nil, 0o600), os.Rename(path+"~", path))
		},
	} {
		dir := t.TempDir()
		s := openSQLite(t, dir)
		_, w := createSession(t, s, 1)
		if err := change(filepath.Join(dir, "sessions.db")); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(
			t.Context(), messageRecord("lost"),
		); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: %v", name, err)
		}
		_ = w.Close()
	}
}

func TestSQLiteNewer(t *testing.T) {
	dir := t.TempDir()
	if err := openSQLite(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	execSQLite(t, dir, "PRAGMA user_version = 2")
	if _, err := sqlstore.OpenSQLite(dir); !errors.As(err, new(*session.VersionError)) {
		t.Errorf("%v, want *VersionError", err)
	}
	if err := os.WriteFile(
		filepath.Join(dir, "sessions.db"), []byte("this is a text and no database at all"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.OpenSQLite(dir); !errors.As(err, new(*session.CorruptError)) {
		t.Errorf("%v, want *CorruptError", err)
	}
}

// TestSQLitePrivate: conversations are for their owner's eyes.
func TestSQLitePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space & #?%41")
	s := openSQLite(t, dir)
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
