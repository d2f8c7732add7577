package rkat

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// traceFile holds the spans of a run, one JSON object a line, each written when
// it ends. A nil traceFile holds none.
type traceFile struct {
	path     string
	file     *os.File
	provider *trace.TracerProvider
}

// createTrace makes the file of --trace-file; "" makes none.
func createTrace(path string) (*traceFile, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, usage("--trace-file: %w", err)
	}
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(file))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--trace-file: %w", err), file.Close())
	}
	about := resource.NewSchemaless(attribute.String("service.name", "rkat"), attribute.String("service.version", version.String()))
	return &traceFile{path, file, trace.NewTracerProvider(trace.WithSyncer(exporter), trace.WithResource(about))}, nil
}

func (t *traceFile) listener() observe.Listener {
	if t == nil {
		return nil
	}
	return observe.Trace(t.provider.Tracer("github.com/meerkat-go/conformance/meerkat"), nil)
}

// close ends the file. ctx may have ended with the run; the spans are written
// all the same.
func (t *traceFile) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := errors.Join(t.provider.Shutdown(context.WithoutCancel(ctx)), t.file.Close()); err != nil {
		return fmt.Errorf("--trace-file %s: %w", t.path, err)
	}
	return nil
}
