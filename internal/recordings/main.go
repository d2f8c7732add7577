// Command recordings records the committed cassettes again: rkat plays every
// scenario through the recording proxy with the simulator behind it. The same
// sources make the same bytes, whoever runs it, where and when.
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

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, acted := play.ActAs(ctx, rkat.Run, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	if !acted {
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

// recordAll records every play that causes traffic and removes cassettes that
// belong to none.
func recordAll(ctx context.Context, dir string, stderr io.Writer) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w; run it from the root of the repository or set -dir", err)
	}
	all, err := specs.Scenarios()
	if err != nil {
		return err
	}
	plays := slices.DeleteFunc(scenario.Plays(all), scenario.Play.Silent)
	stage, err := play.NewStage(play.Rkat{Main: rkat.Run})
	if err != nil {
		return err
	}
	defer stage.Close()
	changed, err := record(ctx, stage, plays, dir)
	if err != nil {
		return err
	}
	gone, err := prune(plays, dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(changed, gone) {
		fmt.Fprintln(stderr, name)
	}
	fmt.Fprintf(stderr, "%d cassettes: %d written, %d removed\n", len(plays), len(changed), len(gone))
	return nil
}

// record records plays a few at a time and returns the cassettes that changed.
func record(ctx context.Context, stage *play.Stage, plays []scenario.Play, dir string) ([]string, error) {
	wrote := make([]bool, len(plays))
	faults := make([]error, len(plays))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, p := range plays {
		group.Go(func() error {
			wrote[i], faults[i] = stage.Record(ctx, p, dir)
			return nil
		})
	}
	_ = group.Wait() // every fault is reported, not only the first
	var changed []string
	for i, p := range plays {
		if wrote[i] {
			changed = append(changed, "wrote "+p.Cassette())
		}
	}
	return changed, errors.Join(faults...)
}

// prune removes cassettes without a play.
func prune(plays []scenario.Play, dir string) (gone []string, err error) {
	known := map[string]bool{}
	for _, p := range plays {
		known[p.Cassette()] = true
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
