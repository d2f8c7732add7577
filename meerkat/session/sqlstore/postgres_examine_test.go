package sqlstore_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

// TestExamine looks at a database before and after a program has used it: a look creates
// nothing, and tells tables of a newer program.
func TestExamine(t *testing.T) {
	url := server.Database(t)
	more := sqlstore.Part{Name: "more", Files: fstest.MapFS{"migrations/001_more.sql": {Data: []byte("SELECT 1")}}}
	examine := func() (sqlstore.State, error) {
		return sqlstore.Examine(t.Context(), sqlstore.Options{URL: url}, more)
	}
	for range 2 {
		if s, err := examine(); err != nil || s.Sessions != 0 || len(s.Parts) != 2 ||
			s.Parts[0] != (sqlstore.PartState{Name: "sessions", Newest: 1}) {
			t.Errorf("an empty database: %+v, %v", s, err)
		}
	}
	store := openPostgres(t, url, "one")
	_, w := createSession(t, store, 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlstore.Migrate(t.Context(), store.Pool(), more); err != nil {
		t.Fatal(err)
	}
	if s, err := examine(); err != nil || s.Sessions != 1 || s.Parts[1] != (sqlstore.PartState{
		Name: "more", Version: 1, Newest: 1,
	}) {
		t.Errorf("a database in use: %+v, %v", s, err)
	}
	execPostgres(t, url, "INSERT INTO meerkat.versions (part, version) VALUES ('more', 2)")
	if s, err := examine(); !errors.As(err, new(*session.VersionError)) || s.Name == "" {
		t.Errorf("newer tables: %+v, %v", s, err)
	}
}
