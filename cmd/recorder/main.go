// Recorder records and replays what an agent and its provider say to each other.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/meerkat-go/conformance/internal/app/recorder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(recorder.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
