package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// DefaultTimeout is how long Shutdown waits for the collector.
const DefaultTimeout = 2 * time.Second

// CollectorOptions say where to send what. Endpoint must be set.
type CollectorOptions struct {
	// Endpoint is the address of the collector, such as http://localhost:4318;
	// /v1/traces and /v1/metrics are appended to its path.
	Endpoint string
	// Headers go with each request.
	Headers map[string]string
	// HTTPClient sets proxy and certificates; nil: one that knows no proxy.
	HTTPClient *http.Client
	// Timeout bounds each request, and Shutdown as a whole; 0: DefaultTimeout.
	Timeout time.Duration
	// Version is the service.version of the resource; "" leaves it out.
	Version string
	// Content adds prompts, answers, arguments and results to the spans. Secrets
	// are replaced in them wherever they occur.
	Content bool
	Secrets []string
}

// Exporter sends spans and metrics to an OpenTelemetry collector, as protobuf over HTTP. A
// collector that is slow or down never delays or fails a run: spans wait in a bounded queue and
// are dropped when it is full, and Shutdown gives up after CollectorOptions.Timeout. It is safe for concurrent use by several runs.
type Exporter struct {
	listen  observe.Listener
	spans   *trace.TracerProvider
	meters  *metric.MeterProvider
	timeout time.Duration
	failed  failure
}

// scope names the instrumentation.
const scope = "github.com/meerkat-go/conformance/meerkat"

// NewExporter returns an exporter. It connects to nothing yet. An error says what is wrong
// with the options.
func NewExporter(o CollectorOptions) (*Exporter, error) {
	e := &Exporter{timeout: cmp.Or(o.Timeout, DefaultTimeout)}
	base, client := strings.TrimSuffix(o.Endpoint, "/"), &http.Client{Transport: &http.Transport{}}
	if o.HTTPClient != nil {
		own := *o.HTTPClient
		client = &own
	}
	// A redirect would take the headers, which may hold a key, to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx := context.Background()
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base+"/v1/traces"),
		otlptracehttp.WithHeaders(o.Headers),
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithTimeout(e.timeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter: %w", err)
	}
	metrics, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"),
		otlpmetrichttp.WithHeaders(o.Headers),
		otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithTimeout(e.timeout),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter: %w", err)
	}
	about := []attribute.KeyValue{attribute.String("service.name", "rkat")}
	if o.Version != "" {
		about = append(about, attribute.String("service.version", o.Version))
	}
	service := resource.NewSchemaless(about...)
	e.spans = trace.NewTracerProvider(
		trace.WithResource(service),
		trace.WithBatcher(quietSpans{spans, &e.failed}, trace.WithExportTimeout(e.timeout)),
	)
	e.meters = metric.NewMeterProvider(
		metric.WithResource(service), metric.WithCardinalityLimit(maxSeries),
		metric.WithReader(metric.NewPeriodicReader(quietMetrics{metrics, &e.failed}, metric.WithTimeout(e.timeout))),
	)
	tracing := Trace(e.spans.Tracer(scope), nil)
	if o.Content {
		tracing = TraceContent(e.spans.Tracer(scope), nil, o.Secrets)
	}
	metering, err := Measure(e.meters.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter: %w", err)
	}
	e.listen = observe.All(tracing, metering)
	return e, nil
}

// Listen is the listener for meerkat.AgentBuilder.WithEvents. It never waits for the
// collector.
func (e *Exporter) Listen(event agent.Event) { e.listen(event) }

// Shutdown sends what was not sent yet. It returns after CollectorOptions.Timeout at the latest,
// also when ctx has ended already, and reports the first export that failed.
func (e *Exporter) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.timeout)
	defer cancel()
	done := make(chan error, 2)
	go func() { done <- e.spans.Shutdown(ctx) }()
	go func() { done <- e.meters.Shutdown(ctx) }()
	var err error
	for range 2 {
		select {
		case ended := <-done:
			err = errors.Join(err, ended)
		case <-ctx.Done():
			return fmt.Errorf("the collector did not answer within %s; some spans or metrics are lost", e.timeout)
		}
	}
	return cmp.Or(e.failed.firstFailure(), err)
}

// failure keeps the first export that failed. The SDK would print each of them on
// stderr instead.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) recordFailure(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && err != nil {
		s := err.Error()
		s = strings.ToValidUTF8(s[:min(len(s), maxReason)], "?")
		f.err = errors.New("some spans or metrics are lost: " + strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, s))
	}
}

// maxReason bounds the text of a failure in bytes.
const maxReason = 300

func (f *failure) firstFailure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// quietSpans exports spans and keeps errors to itself.
type quietSpans struct {
	trace.SpanExporter
	failed *failure
}

// ExportSpans implements trace.SpanExporter.
func (q quietSpans) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	q.failed.recordFailure(q.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// quietMetrics exports metrics and keeps errors to itself.
type quietMetrics struct {
	metric.Exporter
	failed *failure
}

// Export implements metric.Exporter.
func (q quietMetrics) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	q.failed.recordFailure(q.Exporter.Export(ctx, data))
	return nil
}
