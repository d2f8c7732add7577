package rkat

import (
	"context"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// openDatabase opens the database that a setting names.
func (a *app) openDatabase(ctx context.Context, cfg *config.Loaded) (session.Store, error) {
	if a.backends.Database == nil {
		return nil, cli.Usage("%s: this program is built without it; use the rkat command", cfg.From("server.database").Where)
	}
	d, err := a.backends.Database(ctx, cfg.Database, a.noteLine)
	if err != nil {
		return nil, session.WrapStorage(err)
	}
	return d, nil
}

// openBackend begins to execute runs: those of all replicas if the sessions are in a
// database that they share.
func openBackend(ctx context.Context, h server.Host, limits server.BackendLimits) (server.Backend, error) {
	if d, shared := h.Store.(server.Database); shared {
		return d.OpenBackend(ctx, h.Execute, limits)
	}
	return server.NewLocal(h.Execute, server.LocalOptions{BackendLimits: limits}), nil
}
