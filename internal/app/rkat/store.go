package rkat

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

// openStore opens the sessions as the configuration says. The caller closes them
// with closeStore.
func (a *app) openStore(cfg *config.Loaded) (session.Store, error) {
	backend := cfg.Storage.Backend
	if backend == "memory" {
		return session.NewMemoryStore(), nil
	}
	open := a.backends.Stores[backend]
	if backend != "jsonl" && open == nil {
		return nil, cli.Usage("%s: this program is built without sessions in %s; use jsonl or memory, or the rkat command", cfg.From("storage.backend").Where, backend)
	}
	dir, err := sessionFolder(cfg, a.env)
	if err != nil {
		return nil, err
	}
	if open != nil {
		return open(dir)
	}
	return jsonl.New(dir, nil).SyncEvery(syncEvery(cfg)), nil
}

// syncEvery returns the number of turns between two fsyncs: 0 syncs each record, a
// negative number never syncs.
func syncEvery(cfg *config.Loaded) int {
	switch cfg.Storage.Fsync {
	case "never":
		return -1
	case "interval":
		return cfg.Storage.FsyncInterval
	}
	return 0
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
func (a *app) withSession(cmd *cobra.Command, prefix string, do func(context.Context, session.Store, session.ID) error) error {
	return a.withStore(cmd, func(ctx context.Context, store session.Store) error {
		id, err := session.Find(ctx, store, prefix)
		if err != nil {
			return err
		}
		return do(ctx, store, id)
	})
}
