package rkat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Backends are the parts of rkat that bring large dependencies. The zero Backends
// are usable: sessions are kept in files of lines or in memory, and the flags that
// would need more are refused. Package backends implements all of them.
type Backends struct {
	// Stores open sessions by the name of a --store; "jsonl" and "memory" are
	// always there.
	Stores map[string]OpenStore
	// Metrics counts runs for --metrics-file, --metrics-listen and /metrics of serve.
	Metrics func() (observe.Metrics, error)
	// Spans is for --trace-file, Collector for --otlp-endpoint.
	Spans     OpenExporter
	Collector OpenCollector
	// Page is for the format html of sessions export.
	Page func(w io.Writer, s *session.Session) error
	// REST is for serve.
	REST OpenREST
	// Database is for --database of serve, ExamineDatabase for what doctor says of it.
	Database        OpenDatabase
	ExamineDatabase ExamineDatabase
}

// OpenStore opens the sessions in a folder. A store that is an io.Closer is
// closed when the command ends.
type OpenStore = config.OpenStore

// OpenREST returns the server of the API of serve, for the runs of a backend whose sessions
// are those of host.
type OpenREST func(host server.Host, backend server.Backend, o server.APIOptions) server.API

// OpenDatabase opens the database that the replicas of serve share, at a URL that
// appears in no error; one that is not valid is a *cli.UsageError. note is told when it
// goes away and comes back.
type OpenDatabase func(ctx context.Context, url string, note func(format string, args ...any)) (server.Database, error)

// ExamineDatabase reads what is in the database at a URL, and creates and changes nothing.
// Its errors are those of OpenDatabase; the name is there beside them.
type ExamineDatabase func(ctx context.Context, url string) (server.DatabaseInfo, error)

// OpenExporter opens an export of events to the file at path. Each event goes to
// listen; finish is called once, after the last event.
type OpenExporter func(path string) (listen observe.Listener, finish func(context.Context) error, err error)

// OpenCollector opens the export to an OpenTelemetry collector. Secrets are kept out
// of what is sent. finish waits for the collector no longer than t.Timeout.
type OpenCollector func(t config.Telemetry, client *http.Client, secrets []string) (listen observe.Listener,
	finish func(context.Context) error, err error)

// exporter exports the events of a run, because a flag or a setting asks for it.
type exporter struct {
	flag   string
	listen observe.Listener
	finish func(context.Context) error
	// optional exports may fail: a note says so, and the run succeeds.
	optional bool
}

// openExporters opens those that flags ask for.
func (a *app) openExporters(o *options, cfg *config.Loaded) (all []exporter, err error) {
	if all, err = a.openFileExporters(o); err != nil {
		return all, err
	}
	if all, err = a.openCollector(cfg, all); err != nil {
		return all, err
	}
	return a.openMetricsServer(cfg, all)
}

// openCollector adds the export to the collector that a setting names.
func (a *app) openCollector(cfg *config.Loaded, all []exporter) ([]exporter, error) {
	from := cfg.From("telemetry.otlp_endpoint").Where
	switch protocol := a.env["OTEL_EXPORTER_OTLP_PROTOCOL"]; {
	case cfg.Telemetry.Endpoint == "" || a.env["OTEL_SDK_DISABLED"] == "true":
		return all, nil
	case a.backends.Collector == nil:
		if from == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return all, nil // not meant for the program that embeds this one
		}
		return all, withoutBackend(from)
	case from == "OTEL_EXPORTER_OTLP_ENDPOINT" && protocol != "" && protocol != "http/protobuf":
		a.noteLine(
			"telemetry: not sent: OTEL_EXPORTER_OTLP_PROTOCOL is %.40q, and rkat speaks http/protobuf; --otlp-endpoint names a collector that does",
			protocol,
		)
		return all, nil
	}
	client, err := a.env.httpClient(cfg.HeaderBytes)
	if err != nil {
		return all, err
	}
	e := exporter{flag: "telemetry", optional: true}
	if e.listen, e.finish, err = a.backends.Collector(cfg.Telemetry, client, secretsOf(cfg)); err != nil {
		return all, cli.Usage("%s: %w", from, err)
	}
	return append(all, e), nil
}

// secretsOf returns what must not leave in the content of spans.
func secretsOf(cfg *config.Loaded) (secrets []string) {
	for _, p := range catalog.ProviderNames() {
		secrets = append(secrets, cfg.Key(p))
	}
	for _, value := range cfg.Telemetry.Headers {
		secrets = append(secrets, value)
	}
	return secrets
}

// openMetricsServer serves the metrics at the address that a setting names.
func (a *app) openMetricsServer(cfg *config.Loaded, all []exporter) ([]exporter, error) {
	address, from := cfg.Telemetry.MetricsListen, cfg.From("telemetry.metrics_listen").Where
	if address == "" {
		return all, nil
	}
	metrics, err := a.newMetrics(from)
	if err != nil {
		return all, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return all, cli.Usage("%s: %w; use another port, or 0 for a free one", from, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler())
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() { _ = server.Serve(l) }() // ends with Close
	a.noteLine("metrics: http://%s/metrics", l.Addr())
	return append(all, exporter{
		flag: from, listen: metrics.Listen, optional: true,
		finish: func(context.Context) error { return server.Close() },
	}), nil
}

// newMetrics returns what counts runs, because of a flag or a setting.
func (a *app) newMetrics(from string) (observe.Metrics, error) {
	if a.backends.Metrics == nil {
		return nil, withoutBackend(from)
	}
	return a.backends.Metrics()
}

// withoutBackend refuses a flag or a setting that needs a backend which is not there.
func withoutBackend(from string) error {
	return cli.Usage("%s: this program is built without it; use the rkat command", from)
}

func (a *app) openFileExporters(o *options) (all []exporter, err error) {
	if o.metricsFile != "" {
		metrics, err := a.newMetrics("--metrics-file")
		if err != nil {
			return all, err
		}
		// The file is written after the run, which is too late to find that it has no folder.
		if folder, err := os.Stat(filepath.Dir(o.metricsFile)); err != nil {
			return all, cli.Usage("--metrics-file: %w", err)
		} else if !folder.IsDir() {
			return all, cli.Usage("--metrics-file: %s: not a folder", filepath.Dir(o.metricsFile))
		}
		all = append(all, exporter{
			flag: "--metrics-file", listen: metrics.Listen,
			finish: func(context.Context) error { return metrics.WriteFile(o.metricsFile) },
		})
	}
	if o.traceFile != "" {
		e := exporter{flag: "--trace-file"}
		if a.backends.Spans == nil {
			return all, withoutBackend(e.flag)
		}
		if e.listen, e.finish, err = a.backends.Spans(o.traceFile); err != nil {
			return all, cli.Usage("%s: %w", e.flag, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// finishExports writes what is not written yet. ctx may have ended with the run. What
// only an optional export says goes to note.
func (w *preparedRun) finishExports(ctx context.Context, note func(format string, args ...any)) error {
	var all []error
	for _, e := range w.exporters {
		switch err := e.finish(ctx); {
		case err == nil:
		case e.optional:
			note("%s: %s", e.flag, cli.OneLine(err))
		default:
			all = append(all, fmt.Errorf("%s: %w", e.flag, err))
		}
	}
	w.exporters = nil
	return errors.Join(all...)
}
