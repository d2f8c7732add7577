package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// runFlags is what the command line of conform run says.
type runFlags struct {
	subject, set, filter string
	sources, ingress     []string
	reports              []string // KIND=FILE
	asJSON               bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "play the suites against an agent and judge what it sent",
		Long: `Play the suites against an agent and judge what it sent through the intercepting
proxy, without key or network. --source cassette replays the committed recordings and
fails an agent that asks for anything else; --source simulator asks the strict
simulator, which answers whatever the provider would accept.

Exits 1 when a MUST is broken, 2 when nothing is selected, 3 when a requirement
was not testable.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("run: takes no argument, got %q; name the agent with --subject", args[0])
			}
			return a.run(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.subject, "subject", "rkat", "agent under test: rkat")
	flags.StringSliceVar(&f.sources, "source", []string{"cassette"}, "what answers the agent: cassette, simulator; or both, one after the other")
	flags.StringSliceVar(&f.ingress, "ingress", []string{"mitm"}, "how the agent reaches the proxy: mitm")
	flags.StringVar(&f.set, "set", "current", "requirements to hold it to: current")
	flags.StringVar(&f.filter, "filter", "", filterHelp)
	flags.StringSliceVar(&f.reports, "report", nil, "write reports: json=FILE,junit=FILE")
	flags.BoolVar(&f.asJSON, "json", false, "write "+report.RunSchema+" to stdout")
	refuseFlags(cmd, map[string]string{
		"shard":        "run the whole, it takes seconds",
		"baseline":     "exclude with --filter and say why where you do",
		"rerun-failed": "select with --filter",
	})
	return cmd
}

func (a *app) run(ctx context.Context, f runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	files, err := reportFiles(f.reports)
	if err != nil {
		return err
	}
	ran, err := a.play(ctx, f)
	if ran == nil {
		return err
	}
	if err := errors.Join(a.publish(ran, files, f.asJSON), err); err != nil {
		return err
	}
	return code(ran.Summary.Exit)
}

// publish writes the reports and shows the result.
func (a *app) publish(ran *report.Run, files []reportFile, asJSON bool) error {
	for _, out := range files {
		if err := out.save(ran); err != nil {
			return err
		}
	}
	if asJSON {
		return report.WriteJSON(a.stdout, ran)
	}
	a.terminal().Run(ran)
	return nil
}

// check refuses what the contract knows and this build lacks, and what nobody
// knows.
func (f runFlags) check() error {
	for _, v := range []struct {
		flag          string
		values        []string
		known, absent []string
		advice        string
	}{
		{"--subject", []string{f.subject}, []string{"rkat"}, nil, ""},
		{"--source", f.sources, []string{"cassette", "simulator"}, []string{"live"}, "use --source cassette or simulator"},
		{"--ingress", f.ingress, []string{"mitm"}, []string{"base-url"}, "use --ingress mitm"},
		{"--set", []string{f.set}, []string{"current"}, nil, ""},
	} {
		if len(v.values) == 0 {
			return usage("%s: is empty; use %s", v.flag, strings.Join(v.known, " or "))
		}
		for _, value := range v.values {
			switch {
			case slices.Contains(v.known, value):
			case slices.Contains(v.absent, value):
				return lacks(v.flag+" "+value, v.advice)
			case v.flag == "--subject" && strings.HasSuffix(value, ".yaml"):
				return lacks(v.flag+" "+value, "use --subject rkat")
			default:
				return usage("%s: unknown value %q; use %s", v.flag, value, strings.Join(v.known, " or "))
			}
		}
	}
	return nil
}

// reportFile is one report to write.
type reportFile struct {
	path  string
	write func(io.Writer, *report.Run) error
}

var reportKinds = map[string]func(io.Writer, *report.Run) error{
	"json":  func(w io.Writer, r *report.Run) error { return report.WriteJSON(w, r) },
	"junit": report.WriteJUnit,
}

// reportFiles reads KIND=FILE. A directory that is missing is found out before
// the run, not after it.
func reportFiles(list []string) ([]reportFile, error) {
	var files []reportFile
	for _, entry := range list {
		kind, path, ok := strings.Cut(entry, "=")
		write, known := reportKinds[kind]
		switch {
		case kind == "html" || kind == "md":
			return nil, lacks("--report "+kind, "use json=FILE or junit=FILE")
		case !ok || path == "" || !known:
			return nil, usage("--report: %q is not json=FILE or junit=FILE", entry)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return nil, usage("%s: its directory does not exist; create it", path)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, usage("%s: is a directory; name a file", path)
		}
		files = append(files, reportFile{path, write})
	}
	return files, nil
}

// save writes the report whole or not at all: a report cut in half would read as
// a shorter run.
func (f reportFile) save(r *report.Run) error {
	var text bytes.Buffer
	err := f.write(&text, r)
	if err == nil {
		err = fileutil.WriteFile(f.path, text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", f.path, fileutil.Reason(err))
	}
	return nil
}
