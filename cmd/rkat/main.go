// Rkat runs an agent: a model, tools, and a session that can be resumed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/app/rkat/backends"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	with := rkat.Backends{
		Stores:  map[string]rkat.OpenStore{"sqlite": backends.SQLite},
		Metrics: backends.Metrics,
		Spans:   backends.Spans,
	}
	os.Exit(rkat.RunWith(ctx, with, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
