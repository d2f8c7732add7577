package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/conform"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

// commandTrees returns the root commands of all programs.
func commandTrees() []*cobra.Command {
	return []*cobra.Command{conform.Command(), recorder.Command(), rkat.Command()}
}

// writePages writes the pages of all programs to a folder. Their date is that of
// SOURCE_DATE_EPOCH, or else today.
func writePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages are for everybody
		return err
	}
	for _, root := range commandTrees() {
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Section: "1", Source: root.Name() + " " + cli.Version(), Manual: root.Name()}
		if err := doc.GenManTree(root, header, dir); err != nil {
			return err
		}
	}
	return nil
}
