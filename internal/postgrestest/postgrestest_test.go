package postgrestest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/internal/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// TestDatabases checks that each test gets a database of its own, and that what is in
// one is there when the server has been started again.
func TestDatabases(t *testing.T) {
	one, two := server.Database(t), server.Database(t)
	execStatement(t, one, "CREATE TABLE t ()")
	execStatement(t, two, "CREATE TABLE t ()")
	server.Stop(t)
	server.Restart(t)
	execStatement(t, one, "SELECT FROM t")
}

func execStatement(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
