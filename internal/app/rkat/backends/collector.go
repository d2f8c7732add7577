package backends

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry/otlp"
)

// Collector sends spans and metrics to an OpenTelemetry collector. The caller calls
// finish once, when the runs have ended.
func Collector(t config.Telemetry, client *http.Client, secrets []string) (listen observe.Listener, finish func(context.Context) error, err error) {
	e, err := otlp.New(otlp.Options{
		Endpoint: t.Endpoint, Headers: t.Headers, HTTPClient: client, Timeout: t.Timeout,
		Version: cli.Version(), Content: t.Content, Secrets: secrets,
	})
	if err != nil {
		return nil, nil, err
	}
	return e.Listen, e.Shutdown, nil
}

// ServeMetrics counts runs for a server that has an address of its own.
func ServeMetrics(gauges ...observe.Gauge) (observe.Listener, http.Handler) {
	m := telemetry.NewMetrics()
	for _, g := range gauges {
		m.AddGauge(g.Name, g.Help, g.Value)
	}
	return m.Listen, m.Handler()
}

// MetricsServer serves the metrics of runs at http://address/metrics for Prometheus
// until the caller calls finish.
func MetricsServer(address string) (listen observe.Listener, url string, finish func(context.Context) error, err error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, "", nil, err
	}
	m := telemetry.NewMetrics()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() { _ = server.Serve(l) }() // ends with Close
	return m.Listen, fmt.Sprintf("http://%s/metrics", l.Addr()), func(context.Context) error { return server.Close() }, nil
}
