package rkat

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/session/memory"
	"github.com/meerkat-go/conformance/meerkat/session/sqlite"
)

// openStore opens the sessions as the configuration says. Whoever opens it
// closes it with closeStore.
func openStore(cfg *config.Loaded, env environ) (session.Store, error) {
	if cfg.Storage.Backend == "memory" {
		return memory.New(), nil
	}
	dir, err := sessionFolder(cfg, env)
	if err != nil {
		return nil, err
	}
	if cfg.Storage.Backend == "sqlite" {
		return checkedStore(sqlite.Open(dir)) // every commit of it is synced
	}
	return jsonl.New(dir, nil).SyncEvery(syncEvery(cfg)), nil
}

// checkedStore turns a typed nil into none.
func checkedStore[S session.Store](s S, err error) (session.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// syncEvery says after how many turns what is appended is made durable; 0 is
// always, a negative number never.
func syncEvery(cfg *config.Loaded) int {
	switch cfg.Storage.Fsync {
	case "never":
		return -1
	case "interval":
		return cfg.Agent.CheckpointInterval
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
	cfg, err := a.load(cmd)
	if err != nil {
		return err
	}
	store, err := openStore(cfg, a.env)
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
