// Conform judges whether an agent talks to its provider correctly.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/meerkat-go/conformance/internal/app/conform"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := conform.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}
