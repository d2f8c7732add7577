package otlp

import (
	"context"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
)

// quietSpans exports spans and keeps errors to itself.
type quietSpans struct {
	trace.SpanExporter
	failed *failure
}

// ExportSpans implements trace.SpanExporter.
func (q quietSpans) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	q.failed.record(q.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// quietMetrics exports metrics and keeps errors to itself.
type quietMetrics struct {
	metric.Exporter
	failed *failure
}

// Export implements metric.Exporter.
func (q quietMetrics) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	q.failed.record(q.Exporter.Export(ctx, data))
	return nil
}
