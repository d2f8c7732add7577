// Recorder records and replays what an agent and its provider say to each other.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// roomier lets the heap grow to five times what lives in it before it is
// cleared: a proxy keeps little alive and makes much garbage, and the collector
// takes its time from the agent that is being recorded.
const roomier = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(roomier)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(recorder.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
