package rkat

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// offerSubAgents offers the model sub-agents, also those of other models whose provider
// has a key. Large results are kept beside the sessions.
func (a *app) offerSubAgents(w *preparedRun, b *meerkat.AgentBuilder) error {
	store, err := a.openArtifacts(w)
	if err != nil {
		return err
	}
	b.WithSubAgents(meerkat.SubAgents{
		Limits: w.cfg.OperationLimits, Artifacts: store, ArtifactThreshold: w.cfg.ArtifactThreshold,
	})
	for _, p := range catalog.ProviderNames() {
		switch {
		case p == w.choice.provider:
		case w.options.demo:
			b.WithProvider(p, demoKey, w.demo.URL)
		case w.cfg.Key(p) != "":
			b.WithProvider(p, w.cfg.Key(p), w.cfg.BaseURL(p))
		}
	}
	return nil
}

// openArtifacts opens the artifacts of the sessions of a run, or of all runs of a server,
// and removes those that are kept no longer until w is closed.
func (a *app) openArtifacts(w *preparedRun) (artifact.Store, error) {
	if w.artifacts != nil {
		return w.artifacts, nil
	}
	settings := w.cfg.Artifacts
	options := artifact.Options{Ancestors: artifact.ForkedFrom(w.store), Limits: settings.Limits, TTL: settings.TTL}
	if w.cfg.Storage.Backend == "memory" {
		w.artifacts = artifact.NewMemory(options)
	} else {
		dir, err := w.cfg.SessionFolder()
		if err != nil {
			return nil, &cli.UsageError{Err: err}
		}
		w.artifacts = artifact.NewFiles(filepath.Join(filepath.Dir(dir), "artifacts"), options)
	}

	// The store of artifacts is kept swept until stopSweep is called.
	store := w.artifacts
	interval := settings.SweepInterval
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		artifact.KeepSwept(ctx, store, interval, func(err error) { a.noteLine("%s", cli.OneLine(err)) })
	}()
	w.stopSweep = func() { cancel(); <-done }
	return w.artifacts, nil
}

// offersSubAgents reports whether a session began with the tools for sub-agents.
func offersSubAgents(s *session.Session) bool {
	return s.Prefix != nil && slices.ContainsFunc(
		s.Prefix.Tools, func(d transcript.ToolDef) bool { return d.Name == "spawn_agent" },
	)
}
