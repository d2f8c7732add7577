package backends

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/replicated"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

// Database opens the PostgreSQL database that the replicas of rkat serve share. The
// process calls itself by the name of its machine and its number, for the errors of
// other replicas.
func Database(ctx context.Context, url string, note func(format string, args ...any)) (server.Database, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown machine"
	}
	store, err := sqlstore.OpenPostgres(ctx, sqlstore.Options{
		URL: url, Name: fmt.Sprintf("%s, process %d", host, os.Getpid()),
	})
	if err != nil {
		return nil, markUsage(err) // and not a nil *sqlstore.Postgres in an interface
	}
	return &database{Postgres: store, note: note}, nil
}

// ExamineDatabase reads what is in that database.
func ExamineDatabase(ctx context.Context, url string) (server.DatabaseInfo, error) {
	state, err := sqlstore.Examine(ctx, sqlstore.Options{URL: url, Name: "doctor"}, replicated.Tables())
	info := server.DatabaseInfo{Name: state.Name, Sessions: state.Sessions}
	for _, p := range state.Parts {
		info.Tables = append(info.Tables, server.TableInfo{Part: p.Name, Version: p.Version, Newest: p.Newest})
	}
	return info, markUsage(err)
}

// markUsage marks an address that is not valid as wrong usage.
func markUsage(err error) error {
	if errors.As(err, new(*sqlstore.AddressError)) {
		return &cli.UsageError{Err: err}
	}
	return err
}

// database is a Store with a Backend beside it.
type database struct {
	*sqlstore.Postgres
	note    func(format string, args ...any)
	backend *replicated.Backend // nil until OpenBackend
}

// OpenBackend implements server.Database.
func (d *database) OpenBackend(ctx context.Context, execute server.Execute,
	limits server.BackendLimits) (server.Backend, error) {
	if d.backend != nil {
		return nil, errors.New("the database has a backend already")
	}
	b, err := replicated.Open(ctx, d.Postgres, execute, replicated.Options{BackendLimits: limits, Note: d.note})
	if err != nil {
		return nil, err
	}
	d.backend = b
	return b, nil
}

// Close implements server.Database.
func (d *database) Close() error {
	if d.backend != nil {
		d.backend.Close()
	}
	return d.Postgres.Close()
}
