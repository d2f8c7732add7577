package rkat

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// openStore opens the sessions as the configuration says. The caller closes them
// with closeStore.
func (a *app) openStore(cfg *config.Loaded) (session.Store, error) {
	store, err := cfg.OpenStore(a.backends.Stores)
	if err == nil {
		return store, nil
	}
	if _, noFolder := cfg.SessionFolder(); noFolder != nil || a.backends.Stores[cfg.Storage.Backend] == nil {
		err = &cli.UsageError{Err: err}
	}
	return nil, err
}

func closeStore(s session.Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // every Append was durable before
	}
}

// withStore loads the configuration and opens the store for the time of do.
func (a *app) withStore(cmd *cobra.Command, do func(context.Context, session.Store) error) error {
	cfg, err := a.loadConfig(cmd)
	if err != nil {
		return err
	}
	store, err := a.openStore(cfg)
	if err != nil {
		return err
	}
	defer closeStore(store)
	return do(cmd.Context(), store)
}

// withSession is withStore for the session that prefix means.
func (a *app) withSession(cmd *cobra.Command, prefix string,
	do func(context.Context, session.Store, session.ID) error) error {
	return a.withStore(cmd, func(ctx context.Context, store session.Store) error {
		id, err := session.Find(ctx, store, prefix)
		if err != nil {
			return err
		}
		return do(ctx, store, id)
	})
}
