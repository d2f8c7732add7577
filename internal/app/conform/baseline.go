package conform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

func (a *app) baselineCommand() *cobra.Command {
	group := cli.Group("baseline", "Keep the list of failures that are known",
		`Keep the list of failures that are known. conform run --baseline FILE makes known-fail of
what FILE lists. An entry that excuses nothing, or whose day has come, is stale: exit 1.

  - pattern: SIG-014/**/gemini      # CHECK/CASE, * inside a part, ** for several parts
    reason: resume drops signatures
    issue: https://github.com/me/agent/issues/7
    expires: 2027-03-01
    flaky: true                     # only where it fails in some runs
    ends_case: true                 # what the case could not show because of it is excused, too

A pattern whose last part has no @ holds for every source and every way in. A
harness-error and a guard are never excused.`)
	group.Example = "  conform baseline update known.yaml --from report.json --reason 'resume drops signatures' --issue https://github.com/me/agent/issues/7 --expires 2027-03-01"
	group.AddCommand(a.baselineUpdateCommand())
	return group
}

func (a *app) baselineUpdateCommand() *cobra.Command {
	var from string
	var fresh report.Excuse
	asJSON := false
	cmd := &cobra.Command{
		Use:   "update FILE",
		Short: "Add what fails in a report to a baseline, and remove what is stale",
		Long: `Add what fails in a report to a baseline, and remove what is stale in it. Entries that
stay keep their comments. A new entry needs a reason, the address of an issue, and the
day on which to look at it again. --json prints ` + report.BaselineSchema + `.`,
		Example: `  conform run --report json=report.json
  conform baseline update known.yaml --from report.json --reason 'resume drops signatures' --issue https://github.com/me/agent/issues/7 --expires 2027-03-01`,
		Args: cli.Args(1, 1, "the file of the baseline, e.g. known.yaml"),
		RunE: func(_ *cobra.Command, args []string) error { return a.updateBaseline(args[0], from, fresh, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "the JSON report or journal `FILE` of conform run that shows what fails")
	flags.StringVar(&fresh.Reason, "reason", "", "why the new entries are known to fail")
	flags.StringVar(&fresh.Issue, "issue", "", "the address of the issue in which they are worked on")
	flags.StringVar((*string)(&fresh.Expires), "expires", "",
		"the day, yyyy-mm-dd, on which they excuse nothing any more")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) updateBaseline(path, from string, fresh report.Excuse, asJSON bool) error {
	if from == "" {
		return cli.Usage("baseline update: no report named; run conform run --report json=FILE, then give --from FILE")
	}
	ran, err := readReport(from)
	if err != nil {
		return err
	}
	if ran.Shard != nil || ran.Interrupted {
		return cli.Usage("%s: is a part of a run; put the parts together with conform matrix first", from)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Unreadable(path, err)
	}
	update, err := report.UpdateBaseline(path, data, ran, fresh)
	if err != nil {
		return cli.Usage("%w", err)
	}
	isChanged := len(update.Added)+len(update.Removed) > 0
	if isChanged {
		if err := fileutil.WriteFile(path, update.Text, 0o644); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", path, fileutil.Reason(err))
		}
	}
	if asJSON {
		return report.WriteJSON(a.JSON(), update)
	}
	if !isChanged {
		a.Print("%s: nothing to change\n", path)
	}
	for _, p := range update.Added {
		a.Print("added    %s\n", terminal.Line(p))
	}
	for _, p := range update.Removed {
		a.Print("removed  %s\n", terminal.Line(p))
	}
	return nil
}

// teamFlags name files of a team's own rules.
type teamFlags struct {
	files []string
}

func (f *teamFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.files, "rules", nil,
		"judge by the team's own rules in `FILE.yaml` as well, see docs/guides/own-rules.md")
}

// readFiles returns the rules of all files. What is wrong with them is wrong usage.
func (f *teamFlags) readFiles() (rules []report.Rule, err error) {
	var faults []error
	files := map[string]string{} // by id
	for _, name := range f.files {
		data, err := readFileAtMost(name, specs.MaxTeamRulesBytes)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list, err := specs.ParseTeamRules(name, data)
		faults = append(faults, err)
		for _, r := range list {
			id := r.Requirement.ID
			if first, known := files[id]; known && first != name {
				faults = append(faults, fmt.Errorf("%s:%d: %s: the id stands in %s already; ids are unique", name,
					r.Line, id, first))
			}
			files[id] = name
		}
		if err == nil {
			rules = append(rules, report.TeamRules(list)...)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, cli.Usage("--rules: %w", err)
	}
	return rules, nil
}
