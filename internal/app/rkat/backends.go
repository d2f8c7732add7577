package rkat

import (
	"context"
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Backends are the parts of rkat that bring large dependencies. The zero Backends
// are usable: sessions are kept in files of lines or in memory, and the flags that
// would need more are refused. Package backends implements all of them.
type Backends struct {
	// Stores open sessions by the name of a --store; "jsonl" and "memory" are
	// always there.
	Stores map[string]OpenStore
	// Metrics is for --metrics-file, Spans for --trace-file.
	Metrics, Spans OpenExporter
}

// OpenStore opens the sessions in a folder. A store that is an io.Closer is
// closed when the command ends.
type OpenStore func(folder string) (session.Store, error)

// OpenExporter opens an export of events to the file at path. Each event goes to
// listen; finish is called once, after the last event.
type OpenExporter func(path string) (listen observe.Listener, finish func(context.Context) error, err error)

// exporter writes the file that a flag names.
type exporter struct {
	flag   string
	listen observe.Listener
	finish func(context.Context) error
}

// openExporters opens those that flags ask for.
func (a *app) openExporters(o *options) (all []exporter, err error) {
	for _, wanted := range []struct {
		flag, path string
		open       OpenExporter
	}{
		{"--metrics-file", o.metricsFile, a.backends.Metrics},
		{"--trace-file", o.traceFile, a.backends.Spans},
	} {
		if wanted.path == "" {
			continue
		}
		if wanted.open == nil {
			return all, cli.Usage("%s: this program is built without it; use the rkat command", wanted.flag)
		}
		e := exporter{flag: wanted.flag}
		if e.listen, e.finish, err = wanted.open(wanted.path); err != nil {
			return all, cli.Usage("%s: %w", e.flag, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// finishExports writes what is not written yet. ctx may have ended with the run.
func (w *preparedRun) finishExports(ctx context.Context) error {
	var all []error
	for _, e := range w.exporters {
		if err := e.finish(ctx); err != nil {
			all = append(all, fmt.Errorf("%s: %w", e.flag, err))
		}
	}
	w.exporters = nil
	return errors.Join(all...)
}
