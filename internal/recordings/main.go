// Command recordings records the committed cassettes again: it runs rkat through
// every scenario behind the recording proxy, with the simulator as the provider.
// The same sources make the same bytes on every machine and on every day.
//
// Run it from the root of the repository: make cassettes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, isSubject := harness.RunIfSubject(ctx, rkat.Run, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	if !isSubject {
		code = command(ctx, os.Args[1:], os.Stderr)
	}
	stop()
	os.Exit(code)
}

func command(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("recordings", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "cassettes", "where the cassettes are")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := recordAll(ctx, *dir, stderr); err != nil {
		fmt.Fprintf(stderr, "recordings: %v\n", err)
		return 1
	}
	return 0
}

// recordAll records every case that has traffic and removes cassettes that belong
// to none.
func recordAll(ctx context.Context, dir string, stderr io.Writer) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w; run it from the root of the repository or set -dir", err)
	}
	cases, err := harness.AllCases()
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c harness.Case) bool { return !c.HasTraffic() })
	runner, err := harness.NewRunner(harness.InProcess(rkat.Run), nil)
	if err != nil {
		return err
	}
	defer runner.Close()
	changed, err := recordCases(ctx, runner, cases, dir)
	if err != nil {
		return err
	}
	gone, err := removeStrays(cases, dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(changed, gone) {
		fmt.Fprintln(stderr, name)
	}
	fmt.Fprintf(stderr, "%d cassettes: %d written, %d removed\n", len(cases), len(changed), len(gone))
	return nil
}

// recordCases records cases a few at a time and returns the cassettes that changed.
func recordCases(ctx context.Context, runner *harness.Runner, cases []harness.Case, dir string) ([]string, error) {
	wrote := make([]bool, len(cases))
	faults := make([]error, len(cases))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, c := range cases {
		group.Go(func() error {
			wrote[i], faults[i] = runner.Record(ctx, c, dir)
			return nil
		})
	}
	_ = group.Wait() // every fault is reported, not only the first
	var changed []string
	for i, c := range cases {
		if wrote[i] {
			changed = append(changed, "wrote "+c.CassettePath())
		}
	}
	return changed, errors.Join(faults...)
}

// removeStrays removes cassettes that belong to no case.
func removeStrays(cases []harness.Case, dir string) (gone []string, err error) {
	known := map[string]bool{}
	for _, c := range cases {
		known[c.CassettePath()] = true
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" || known[name] {
			return err
		}
		gone = append(gone, "removed "+name)
		return root.Remove(name)
	})
	return gone, err
}
