package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// exportFormat is a format that export writes.
type exportFormat struct {
	name string
	// lacks names what the format has no place for, "" when nothing.
	lacks string
	// keeps returns the part of an interaction that the format can hold.
	keeps func(cassette.Interaction) cassette.Interaction
	write func(io.Writer, *cassette.Cassette) error
}

var exportFormats = []exportFormat{
	{"har", "", func(in cassette.Interaction) cassette.Interaction { return in },
		func(w io.Writer, recording *cassette.Cassette) error {
			return interchange.WriteHAR(w, "recorder", cli.Version(), recording.Meta(), recording.Loss(),
				recording.All())
		}},
	{"go-vcr-v2", "chunks and their times, endings, trailers and protocols", cassette.Bare,
		func(w io.Writer, recording *cassette.Cassette) error {
			return cassette.WriteGoVCR(w, recording.Meta(), recording.All())
		}},
}

func (a *app) exportCommand() *cobra.Command {
	var to, out string
	force, asJSON := false, false
	cmd := &cobra.Command{
		Use:     "export F --to har|go-vcr-v2 [-o OUT]",
		Short:   "Write a cassette as a HAR, or as a plain file of go-vcr v2",
		Example: "  recorder export loop.yaml --to har -o loop.har",
		Long: `Write a cassette as an HTTP Archive 1.2 or as a plain file of go-vcr v2, to OUT
(0600) or to stdout.

A HAR keeps everything: what the format has no place for is in a field called
_cassette, and recorder import reads it back. go-vcr v2 has no place for chunks
and their times, endings, trailers and protocols. The cassette is screened for
keys again; with one in it nothing is written (exit 1). --json prints
recorder.written.v1 and needs -o.`,
		Args: OneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON && out == "" {
				return cli.Usage("--json: the export goes to stdout already; name its file with -o")
			}
			return a.exportCassette(args[0], to, out, force, asJSON)
		},
	}
	set := cmd.Flags()
	set.StringVar(&to, "to", "", "the `format` to write: har or go-vcr-v2")
	set.StringVarP(&out, "output", "o", "", "the `file` to write; stdout without it")
	set.BoolVar(&force, "force", false, "replace a file that exists")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) exportCassette(path, to, out string, force, asJSON bool) error {
	i := slices.IndexFunc(exportFormats, func(t exportFormat) bool { return t.name == to })
	switch {
	case to == "":
		return cli.Usage("--to: missing; use har or go-vcr-v2")
	case i < 0:
		return cli.Usage("--to %s: use har or go-vcr-v2%s", to, spelling.Hint(to, []string{"har", "go-vcr-v2"}))
	}
	if err := checkOutputFree(out, force); err != nil {
		return err
	}
	done := a.ShowElapsed("reading " + path)
	recording, err := openClean(path)
	done()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := exportFormats[i].write(&text, recording); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	changed, err := exportFormats[i].listChanges(recording, text.Bytes())
	if err != nil {
		return err
	}
	if err := a.writeOutput(out, text.Bytes()); err != nil {
		return err
	}
	for _, line := range changed {
		a.Say("%s: %s", path, line)
	}
	result := written{Path: out, Format: to, Interactions: recording.Len(), Changes: changed}
	if err := a.SayWritten(asJSON, result, "%s: %s exported", path, Interactions(recording.Len())); err != nil {
		return err
	}
	a.SayLoss(recording)
	if exportFormats[i].lacks != "" {
		a.Say("%s has no place for %s", to, exportFormats[i].lacks)
	}
	if len(changed) > 0 {
		return cli.Exit(ExitIncomplete)
	}
	return nil
}

// openClean opens a cassette, and returns an error when there is a key in it or when it has no
// seals: then it may never have been redacted.
func openClean(path string) (*cassette.Cassette, error) {
	recording, err := cassette.Open(path)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if !recording.Sealed() {
		return nil,
			cli.Usage("%s: has no seals, so it is unknown whether it was redacted; first run: recorder import %s --cassette NEW", path, terminal.ShellWord(path))
	}
	guard := gate.New()
	for i := range recording.Len() {
		in, err := recording.At(i)
		if err != nil {
			return nil, cli.Fail(ExitGate, "%w", err)
		}
		if err := guard.Check(in); err != nil {
			return nil, cli.Fail(ExitGate, "%s: interaction %d: %w; nothing is written", path, i, err)
		}
	}
	return recording, nil
}

// listChanges names what differs when the export is read again.
func (t exportFormat) listChanges(recording *cassette.Cassette, text []byte) (lines []string, err error) {
	back, err := interchange.Read("the export", text)
	if err != nil {
		return nil, err
	}
	if len(back.Interactions) != recording.Len() {
		return nil, fmt.Errorf("%s: %d interactions were exported as %d", recording.Name(), recording.Len(),
			len(back.Interactions))
	}
	for i, got := range back.Interactions {
		in, err := recording.At(i)
		if err != nil {
			return nil, err
		}
		if part := cassette.Difference(t.keeps(in), got); part != "" {
			lines = append(lines, fmt.Sprintf("interaction %d: %s cannot hold its %s as it is", i, t.name, part))
		}
	}
	return lines, nil
}

// checkOutputFree returns an error when out exists and must not be replaced.
func checkOutputFree(out string, force bool) error {
	if out == "" {
		return nil
	}
	info, err := os.Lstat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usage("%s: cannot be written: %w", out, fileutil.Reason(err))
	case !info.Mode().IsRegular():
		return cli.Usage("%s: is not a regular file; name another", out)
	case !force:
		return cli.Usage("%s: exists; use --force to replace it", out)
	}
	return nil
}

// writeOutput writes text to stdout or, as a whole or not at all, to the file out.
func (a *app) writeOutput(out string, text []byte) error {
	if out == "" {
		_, err := a.Data().Write(text)
		return err
	}
	if err := fileutil.WriteFile(out, text, 0o600); err != nil {
		return cli.Usage("%s: cannot be written: %w", out, fileutil.Reason(err))
	}
	return nil
}
