package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/wires"
)

// recordAll records every case that has a cassette and removes cassettes that belong
// to none.
func recordAll(ctx context.Context, dir string, stderr io.Writer) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%w; run it from the root of the repository or name the folder", err)
	}
	cases, err := harness.AllCases()
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c harness.Case) bool { return !c.HasCassette() })
	subjects := []harness.Subject{harness.InProcess(rkat.Run, "", nil)}
	for _, w := range wires.All() {
		if w.Scripts.ByClient {
			subjects = append(subjects, harness.Client(w.Name))
		}
	}
	var changed []string
	for _, subject := range subjects {
		runner, err := harness.NewRunner(harness.Config{Subject: subject})
		if err != nil {
			return err
		}
		defer runner.Close()
		own := slices.DeleteFunc(slices.Clone(cases), func(c harness.Case) bool {
			return !slices.Contains(subject.About().Providers, c.Target.Provider)
		})
		wrote, err := recordCases(ctx, runner, own, dir)
		if changed = append(changed, wrote...); err != nil {
			return err
		}
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
