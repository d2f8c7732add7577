package backends

import (
	"context"
	"net/http"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
)

// Collector sends spans and metrics to an OpenTelemetry collector. The caller calls
// finish once, when the runs have ended.
func Collector(t config.Telemetry, client *http.Client, secrets []string) (listen observe.Listener,
	finish func(context.Context) error, err error) {
	e, err := telemetry.NewExporter(telemetry.CollectorOptions{
		Endpoint: t.Endpoint, Headers: t.Headers, HTTPClient: client, Timeout: t.Timeout,
		Version: cli.Version(), Content: t.Content, Secrets: secrets,
	})
	if err != nil {
		return nil, nil, err
	}
	return e.Listen, e.Shutdown, nil
}

// Metrics counts runs for Prometheus.
func Metrics() (observe.Metrics, error) { return telemetry.NewMetrics() }
