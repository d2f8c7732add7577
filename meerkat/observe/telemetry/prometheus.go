// Package telemetry exports what agents do to Prometheus and OpenTelemetry. It is
// apart from package observe so that a program without either does not link them.
//
//	metrics, err := telemetry.NewMetrics()
//	…
//	http.Handle("/metrics", metrics.Handler())
//	agent, err := meerkat.NewAgent().WithEnv(os.Environ()).WithEvents(metrics.Listen).Build()
//
// [Trace] makes spans of OpenTelemetry and [Measure] metrics; both are listeners for
// meerkat.AgentBuilder.WithEvents, joined by observe.All. [Metrics] shows the metrics to
// Prometheus, [Exporter] sends spans and metrics to a collector. Labels and attributes hold
// providers, models, tools and kinds of errors, but no key and no text of a user, model or
// tool; [TraceContent] adds the texts.
package telemetry

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// Metrics shows the metrics of [Measure] to Prometheus. It is safe for concurrent use.
type Metrics struct {
	listen   observe.Listener
	registry *prometheus.Registry
}

var _ observe.Metrics = (*Metrics)(nil)

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry()}
	reader, err := exporter.New(exporter.WithRegisterer(m.registry), exporter.WithoutTargetInfo(),
		exporter.WithoutScopeInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, fmt.Errorf("metrics for Prometheus: %w", err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(reader), metric.WithCardinalityLimit(maxSeries))
	if m.listen, err = Measure(meters.Meter(scope)); err != nil {
		return nil, fmt.Errorf("metrics for Prometheus: %w", err)
	}
	return m, nil
}

// Listen is the Listener that measures.
func (m *Metrics) Listen(e agent.Event) { m.listen(e) }

// Registry returns the registry that holds the metrics, to serve or gather them.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Handler serves the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// AddGauge adds a number that is asked for at each scrape. The name is registered once.
func (m *Metrics) AddGauge(g observe.Gauge) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.Name, Help: g.Help}, g.Value))
}

// WriteFile writes all metrics to a file in Prometheus' text format, at once:
// a collector that reads text files never sees half of it.
func (m *Metrics) WriteFile(path string) error {
	if err := prometheus.WriteToTextfile(path, m.registry); err != nil {
		return fmt.Errorf("metrics file %s: %w", path, err)
	}
	return nil
}
