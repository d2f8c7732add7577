package conform

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

// matrixFlags say what conform matrix writes.
type matrixFlags struct {
	reportFlags
	by       string
	site     string
	markdown bool
	asJSON   bool
}

func (a *app) matrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix REPORT...",
		Short: "Put the shards of a run together, and runs of several agents side by side",
		Long: `Put the shards of a run together, and runs of several agents side by side. REPORT is a
JSON report of conform run or its journal, or one of conform check --shard.

--site DIR adds agents to a static site, or makes one: agents by areas, each cell leads to
its finding. It takes what --share wrote: pages of --report html, or JSON reports with their
pages beside them. The run before goes to the history of the site. Exits 0 once it is written.

The shards of one run give the report that the run would have given in one piece, with
its exit code. They must come from the same program, agent, set, sources, seed, filter,
policy and baseline, and none may be missing. Runs of several agents give a table. The
shards of a check give the report of all its recordings.

Exits as the run does, of several runs as the worst of them; 2 when the reports do not
fit together. --json prints ` + report.RunSchema + ` of one run, ` + report.MatrixSchema + ` of several,
` + inspector.SiteSchema + ` of a site.`,
		Example: `  conform matrix check-1.json check-2.json
  conform matrix shard-1.json shard-2.json --report junit=report.xml
  conform matrix rkat.json codex.json --by requirement --markdown
  conform matrix --site public reports/*.json`,
		Args: cli.Args(1, -1, "one or more JSON reports or journals of conform run or check"),
		RunE: func(_ *cobra.Command, args []string) error { return a.runMatrix(args, f) },
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&f.by, "by", "area", "the rows of a table of several agents: area or requirement")
	cmd.Flags().StringVar(&f.site, "site", "", "write or extend a static site in `DIR`")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	cli.AddJSONFlag(cmd, &f.asJSON)
	return cmd
}

func (a *app) runMatrix(paths []string, f matrixFlags) error {
	if err := checkValues("by", f.by); err != nil {
		return err
	}
	if f.site != "" {
		return a.writeSite(f.site, paths, f.asJSON)
	}
	files, err := a.parseReportFlags(f.reports, f.asJSON || f.markdown)
	if err != nil {
		return err
	}
	if _, err := a.newInspection(reportFlags{}, files); err != nil {
		return err
	}
	merged := files
	if f.markdown {
		merged = append(slices.Clip(files),
			reportFile{kind: "markdown", path: toStdout, write: reportWriters["markdown"]})
	}
	if isCheck, err := a.mergeChecked(paths, merged, f.asJSON); isCheck || err != nil {
		return err
	}
	var parts []report.Part
	for _, path := range paths {
		ran, err := readReport(path)
		if err != nil {
			return err
		}
		parts = append(parts, report.Part{Name: path, Run: ran})
	}
	runs, err := report.GroupRuns(parts)
	if err != nil {
		return cli.Usage("%w", err)
	}
	if len(runs) == 1 {
		return a.deliverRun(runs[0].Run, merged, f.asJSON, nil)
	}
	m, err := report.NewMatrix(runs)
	if err != nil {
		return cli.Usage("%w", err)
	}
	return a.showMatrix(m, files, f)
}

// mergeChecked merges the shards of a check. It reports false where the first file is not of
// conform check.
func (a *app) mergeChecked(paths []string, files reportFiles, asJSON bool) (isCheck bool, err error) {
	var parts []*report.CheckedFile
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return true, cli.Unreadable(path, err)
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return true, cli.Unreadable(path, err)
		}
		part, err := report.OpenChecked(path, file, info.Size())
		switch {
		case err != nil:
			return true, asUsage(err)
		case part == nil && len(parts) == 0:
			return false, nil
		case part == nil:
			return true, cli.Usage("%s: is not of conform check, as %s is; name the shards of one check", path,
				parts[0].Name)
		}
		parts = append(parts, part)
	}
	if i := slices.IndexFunc(files, func(f reportFile) bool { return pageWriters[f.kind] != nil }); i >= 0 {
		return true,
			cli.Usage("--report %s: the shards of a check keep no bodies to show; give the recordings to conform check",
				files[i].kind)
	}
	checked, each, err := report.MergeChecked(parts)
	if err != nil {
		return true, cli.Usage("%w", err)
	}
	return true, a.reportRecordings(checked, files, asJSON, func(add func(*report.Recording)) error {
		return asUsage(each(add))
	})
}

func (a *app) showMatrix(m *report.Matrix, files reportFiles, f matrixFlags) error {
	byRequirement := f.by == "requirement"
	forms := map[string]func(io.Writer) error{
		"json":     func(w io.Writer) error { return report.WriteJSON(w, m) },
		"markdown": func(w io.Writer) error { return m.WriteMarkdown(w, byRequirement) },
	}
	for i := range files {
		form := forms[files[i].kind]
		if form == nil {
			return cli.Usage("--report %s: several runs side by side have the forms json and markdown", files[i].kind)
		}
		files[i].write = func(w io.Writer, _ reportDocument) error { return form(w) }
	}
	saveErr := a.save(files, nil)
	show := func(w io.Writer) error { return m.WriteText(w, byRequirement) }
	switch {
	case f.asJSON:
		show = forms["json"]
	case f.markdown:
		show = forms["markdown"]
	case files.takesStdout():
		show = func(io.Writer) error { return nil }
	}
	if err := show(a.Stdout); err != nil {
		return err
	}
	if saveErr != nil {
		return saveErr
	}
	return cli.Exit(m.Exit)
}
