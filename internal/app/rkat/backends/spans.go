package backends

import (
	"context"
	"errors"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
)

// Spans writes the spans of runs to a new file that only its owner can read, one
// JSON object a line, each when it ends. The caller calls finish once, when the
// runs have ended.
func Spans(path string) (listen observe.Listener, finish func(context.Context) error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	out := &spanFile{File: file}
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", "rkat"), attribute.String("service.version", cli.Version()),
	)
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter), trace.WithResource(about))
	finish = func(ctx context.Context) error {
		// The spans are written even if the run was cancelled.
		return errors.Join(provider.Shutdown(context.WithoutCancel(ctx)), out.err, file.Close())
	}
	return telemetry.Trace(provider.Tracer("github.com/meerkat-go/conformance/meerkat"), nil), finish, nil
}

// spanFile keeps the first error of a write for finish: OpenTelemetry would log each.
type spanFile struct {
	*os.File
	err error
}

// Write implements io.Writer.
func (f *spanFile) Write(p []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.File.Write(p)
	}
	return len(p), nil
}
