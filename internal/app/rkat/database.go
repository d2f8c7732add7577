package rkat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// openDatabase opens the database that a setting names.
func (a *app) openDatabase(ctx context.Context, cfg *config.Loaded) (session.Store, error) {
	if a.backends.Database == nil {
		return nil, cli.Usage(
			"%s: this program is built without it; use the rkat command", cfg.From("server.database").Where,
		)
	}
	d, err := a.backends.Database(ctx, cfg.Database, a.noteLine)
	if err != nil {
		return nil, nameSetting(cfg, err)
	}
	return d, nil
}

// nameSetting says which setting an address comes from that is not valid. Any other
// error of a database is a failure to store.
func nameSetting(cfg *config.Loaded, err error) error {
	if isError[*cli.UsageError](err) {
		return cli.Usage("%s: %w", cfg.From("server.database").Where, err)
	}
	return session.WrapStorage(err)
}

// databaseReport describes the database of rkat serve.
type databaseReport struct {
	Name     string             `json:"name"` // HOST:PORT/DATABASE
	Sessions int                `json:"sessions"`
	Tables   []server.TableInfo `json:"tables"`
	Problem  string             `json:"problem,omitempty"`
}

// databaseTime is how long doctor waits for a database.
const databaseTime = 10 * time.Second

// examineDatabase describes the database that a setting names, nil if none does. It
// changes nothing in it.
func (a *app) examineDatabase(ctx context.Context, cfg *config.Loaded) (*databaseReport, error) {
	if cfg.Database == "" {
		return nil, nil //nolint:nilnil // there is nothing to describe
	}
	if a.backends.ExamineDatabase == nil {
		return &databaseReport{
			Tables:  []server.TableInfo{},
			Problem: "not examined: this program is built without it; use the rkat command",
		}, nil
	}
	bound, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	found, err := a.backends.ExamineDatabase(bound, cfg.Database)
	if isError[*cli.UsageError](err) {
		return nil, nameSetting(cfg, err)
	}
	r := &databaseReport{
		Name: found.Name, Sessions: found.Sessions, Tables: append([]server.TableInfo{}, found.Tables...),
	}
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		r.Problem = fmt.Sprintf("session database %s: no answer within %s", found.Name, databaseTime)
	case err != nil:
		r.Problem = cli.OneLine(err)
	}
	return r, ctx.Err()
}

// printDatabase prints what doctor found of a database.
func printDatabase(w io.Writer, r *databaseReport) {
	if r.Problem != "" {
		fmt.Fprintf(w, "\ndatabase: %s\n", terminal.Line(strings.TrimPrefix(r.Problem, "session database ")))
		return
	}
	fmt.Fprintf(w, "\ndatabase: %s, %s\n", terminal.Line(r.Name), countOf(r.Sessions, "session"))
	for _, t := range r.Tables {
		line := fmt.Sprintf("  %s: tables of version %d", t.Part, t.Version)
		if t.Version < t.Newest {
			line += fmt.Sprintf("; rkat serve brings them to %d when it starts", t.Newest)
		}
		fmt.Fprintln(w, line)
	}
}

// beginTime is how long a run that replicas have accepted waits for their database to begin.
const beginTime = time.Minute

// openBackend begins to execute runs: those of all replicas if the sessions are in a
// database that they share.
func openBackend(ctx context.Context, h server.Host, limits server.BackendLimits) (server.Backend, error) {
	if d, shared := h.Store.(server.Database); shared {
		h.Patience = beginTime
		return d.OpenBackend(ctx, h.Execute, limits)
	}
	return server.NewLocal(h.Execute, server.LocalOptions{BackendLimits: limits}), nil
}
