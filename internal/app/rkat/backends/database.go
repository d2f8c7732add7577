package backends

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/replicated"
	"github.com/meerkat-go/conformance/meerkat/session/postgres"
)

// Database opens the PostgreSQL database that the replicas of rkat serve share. The
// process calls itself by the name of its machine and its number, for the errors of
// other replicas.
func Database(ctx context.Context, url string, note func(format string, args ...any)) (server.Database, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown machine"
	}
	store, err := postgres.Open(ctx, postgres.Options{URL: url, Name: fmt.Sprintf("%s, process %d", host, os.Getpid())})
	if err != nil {
		return nil, err // and not a nil *postgres.Store in an interface
	}
	return &database{Store: store, note: note}, nil
}

// database is a Store with a Backend beside it.
type database struct {
	*postgres.Store
	note    func(format string, args ...any)
	backend *replicated.Backend // nil until OpenBackend
}

// OpenBackend implements server.Database.
func (d *database) OpenBackend(ctx context.Context, execute server.Execute, limits server.BackendLimits) (server.Backend, error) {
	if d.backend != nil {
		return nil, errors.New("the database has a backend already")
	}
	b, err := replicated.Open(ctx, d.Store, execute, replicated.Options{BackendLimits: limits, Note: d.note})
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
	return d.Store.Close()
}
