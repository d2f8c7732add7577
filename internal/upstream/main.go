// Command upstream serves a scenario's provider side on loopback, so that
// recorder has somebody to record without a key or a network:
//
//	go run ./internal/upstream -scenario thinking-tool-loop -ca upstream.pem
//
// It prints its URL, writes the certificate to trust and serves until it is
// interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := serve(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("scenario", "thinking-tool-loop", "what to play")
	ca := flags.String("ca", "", "file to write the certificate to")
	listen := flags.String("listen", "", "loopback address; a free port by default")
	pace := flags.Duration("pace", 20*time.Millisecond, "pause between two chunks")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := run(ctx, *name, *ca, *listen, *pace, stdout); err != nil {
		fmt.Fprintf(stderr, "upstream: %v\n", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, name, ca, listen string, pace time.Duration, stdout io.Writer) error {
	scenario, err := find(name)
	if err != nil {
		return err
	}
	if ca == "" {
		return fmt.Errorf("-ca: no file; name one for the certificate to trust")
	}
	server, err := simulator.Start(listen, simulator.New(simulator.Config{Scenario: scenario, Seed: "upstream", Pace: pace}))
	if err != nil {
		return err
	}
	defer server.Close()
	if err := os.WriteFile(ca, server.CA, 0o600); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, server.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func find(name string) (*specs.Scenario, error) {
	all, err := specs.Scenarios()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return nil, fmt.Errorf("scenario %q: unknown; one of %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}
