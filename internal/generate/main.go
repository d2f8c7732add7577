// Command generate makes the files that follow from the sources. Run it from the
// root of the repository:
//
//	go run ./internal/generate cassettes [DIR]
//	go run ./internal/generate man DIR
//	go run ./internal/generate rules
//	go run ./internal/generate schemas
//	go run ./internal/generate subjects REPORT...
//	go run ./internal/generate threads
//
// Cassettes are recorded again: rkat runs every case behind the recording proxy,
// with the simulator as the provider. The same sources make the same bytes on
// every machine and on every day. The manual pages are made from the commands of
// conform, recorder and rkat, which carry neither the generator nor the pages. The table of
// subjects is made from JSON reports of make subjects. Threads is the page
// that says what the referee finds in the bug reports of specs/threads, rules the page that
// says who enforces which wire rule. Schemas are the JSON Schemas of requests.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, isSubject := harness.RunIfSubject(ctx, rkat.Run, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	if !isSubject {
		code = generate(ctx, os.Args[1:], os.Stderr)
	}
	stop()
	os.Exit(code)
}

// generate makes one kind of file and returns the exit code of the process.
func generate(ctx context.Context, args []string, stderr io.Writer) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "cassettes":
		err = recordAll(ctx, "cassettes", stderr)
	case len(args) == 2 && args[0] == "cassettes":
		err = recordAll(ctx, args[1], stderr)
	case len(args) == 2 && args[0] == "man":
		err = writePages(args[1]) //nolint:contextcheck // only walks the commands, runs none
	case len(args) > 1 && args[0] == "subjects":
		err = writeSubjects(os.Stdout, args[1:])
	case len(args) == 1 && args[0] == "rules":
		err = writeRules("docs")
	case len(args) == 1 && args[0] == "schemas":
		err = writeSchemas("schemas")
	case len(args) == 1 && args[0] == "threads":
		err = writeThreads("docs")
	default:
		fmt.Fprintln(stderr, "generate: want cassettes [DIR], man DIR, rules, schemas, subjects REPORT... or threads")
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "generate: %v\n", err)
		return 1
	}
	return 0
}
