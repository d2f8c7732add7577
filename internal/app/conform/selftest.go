package conform

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/mutant"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

const selftestSchema = "conform.selftest.v1"

func (a *app) selftestCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Break evidence on purpose and see every check notice",
		Long: `Break evidence on purpose and see every check notice. Good evidence must pass,
each mutant of each requirement must be caught, an agent that does nothing must
not pass and one that does everything wrong must fail. Exits 1 otherwise.
--json prints ` + selftestSchema + `.`,
		Example: "  conform selftest\n  conform selftest --json | jq .faults",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("selftest: takes no argument, got %q", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return a.selftest(asJSON) },
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) selftest(asJSON bool) error {
	rules, err := harness.Rules()
	if err != nil {
		return err
	}
	good, err := mutant.Samples()
	if err != nil {
		return err
	}
	found := mutant.Selftest(good, rules)
	if asJSON {
		err = report.WriteJSON(a.Stdout, selftestReport(found))
	} else {
		err = selftestTable(a.Stdout, found)
	}
	if err == nil && !found.OK() {
		err = cli.Exit(report.ExitFailure)
	}
	return err
}

// selftestTable shows requirement by mutant: how often it could be applied and
// how often a check noticed.
func selftestTable(w io.Writer, t mutant.Table) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "REQUIREMENT\tGOOD CASES\tMUTANT\tKILLED")
	killed, applied := 0, 0
	for _, row := range t.Rows {
		name, good := row.Requirement, fmt.Sprint(row.Passed)
		for _, k := range row.Kills {
			fmt.Fprintf(tab, "%s\t%s\t%s\t%d of %d\n", name, good, k.Mutant, k.Killed, k.Applied)
			killed, applied = killed+k.Killed, applied+k.Applied
			name, good = "", ""
		}
	}
	fmt.Fprintln(tab, "\nSUBJECT\tJUDGED\t\tCAUGHT")
	for _, s := range t.Subjects {
		fmt.Fprintf(tab, "%s\t%d\t\t%d\n", s.Name, s.Applied, s.Caught)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, f := range t.Faults {
		fmt.Fprintf(w, "fail  %s\n", f)
	}
	verdict := report.Pass
	if !t.OK() {
		verdict = report.Fail
	}
	_, err := fmt.Fprintf(w, "\n%s: %d requirements, %d of %d mutants killed, %d faults\n",
		strings.ToUpper(string(verdict)), len(t.Rows), killed, applied, len(t.Faults))
	return err
}

// The form of conform selftest --json, schema conform.selftest.v1.
type (
	selftestDoc struct {
		Schema       string            `json:"schema"`
		Tool         report.Tool       `json:"tool"`
		OK           bool              `json:"ok"`
		Requirements []selftestRow     `json:"requirements"`
		Subjects     []selftestSubject `json:"subjects"`
		Faults       []string          `json:"faults"`
	}
	selftestRow struct {
		Requirement string         `json:"requirement"`
		Good        int            `json:"good"`
		Mutants     []selftestKill `json:"mutants"`
	}
	selftestKill struct {
		Mutant  string `json:"mutant"`
		Applied int    `json:"applied"`
		Killed  int    `json:"killed"`
	}
	selftestSubject struct {
		Subject string `json:"subject"`
		Judged  int    `json:"judged"`
		Caught  int    `json:"caught"`
	}
)

func selftestReport(t mutant.Table) selftestDoc {
	doc := selftestDoc{
		Schema: selftestSchema, Tool: tool(), OK: t.OK(), Requirements: []selftestRow{}, Subjects: []selftestSubject{},
		Faults: append([]string{}, t.Faults...),
	}
	for _, row := range t.Rows {
		r := selftestRow{Requirement: row.Requirement, Good: row.Passed, Mutants: []selftestKill{}}
		for _, k := range row.Kills {
			r.Mutants = append(r.Mutants, selftestKill(k))
		}
		doc.Requirements = append(doc.Requirements, r)
	}
	for _, s := range t.Subjects {
		doc.Subjects = append(doc.Subjects, selftestSubject{s.Name, s.Applied, s.Caught})
	}
	return doc
}
