package conform

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

const selftestSchema = "conform.selftest.v1"

func (a *app) selftestCommand() *cobra.Command {
	var asJSON, onWire bool
	sample := placeSample{}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Break evidence on purpose and see every check notice",
		Long: `Break evidence on purpose and see every check notice. Good evidence must pass,
each mutant of each requirement must be caught, an agent that does nothing must
not pass and one that does everything wrong must fail. Of the places that checks
observe there, a sample is broken one by one, and the check must notice. Exits 1
otherwise. With --wire rkat runs its cases as well, one of its requests is changed on the
way, and the referee must notice: once for each requirement that a request can break.
--json prints ` + selftestSchema + `.`,
		Example: "  conform selftest\n  conform selftest --json | jq .faults\n  conform selftest --seed 7 --places 500\n  conform selftest --on-wire",
		Args:    noArgument("selftest: takes no argument, got %q"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.selftest(cmd.Context(), asJSON, onWire, sample) },
	}
	cmd.Flags().BoolVar(&onWire, "on-wire", false, "break each requirement once on the way of a real run, too")
	cmd.Flags().Uint64Var(&sample.seed, "seed", 20779, "which observed places are broken")
	cmd.Flags().UintVar(&sample.count, "places", 200, "how many observed places are broken; 0 for none")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// maxPlaces is more than all samples have.
const maxPlaces = 1_000_000

// placeSample says how many observed places the self-test breaks, and which.
type placeSample struct {
	seed  uint64
	count uint
}

func (a *app) selftest(ctx context.Context, asJSON, onWire bool, sample placeSample) error {
	rules, err := harness.Rules()
	if err != nil {
		return err
	}
	good, err := mutate.Samples()
	if err != nil {
		return err
	}
	found := mutate.Selftest(good, rules)
	places := mutate.Places{}
	if sample.count > 0 {
		places = mutate.BreakPlaces(ctx, good, rules, sample.seed, int(min(sample.count, maxPlaces)))
	}
	if ctx.Err() != nil {
		return cli.Fail(report.ExitInterrupted, "interrupted; no verdict was reached")
	}
	found.Faults = append(found.Faults, places.Faults...)
	var breaches []breach
	if onWire {
		tools, err := toolCommand()
		if err != nil {
			return err
		}
		if breaches, err = breakOnWire(ctx,
			harness.Config{Subject: harness.InProcess(rkat.Run, cli.Version(), acp.InProcess),
				Tools: tools}); err != nil {
			return err
		}
		for _, b := range breaches {
			if !b.isNoticed() && b.Unbroken == "" {
				found.Faults = append(found.Faults, fmt.Sprintf("%s: of %d changes on the wire none was noticed",
					b.Requirement, b.Tried))
			}
		}
	}
	if asJSON {
		err = report.WriteJSON(a.JSON(),
			selftestDoc{selftestSchema, tool(), found.OK(), found, selftestPlaces{sample.seed, places}, breaches})
	} else {
		err = selftestTable(a.Stdout, found, places, breaches, sample.seed)
	}
	if err == nil && !found.OK() {
		err = cli.Exit(report.ExitFailure)
	}
	return err
}

// selftestTable shows requirement by mutant: how often it could be applied and
// how often a check noticed.
func selftestTable(w io.Writer, t mutate.Table, places mutate.Places, breaches []breach, seed uint64) error {
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
	printBreaches(tab, breaches)
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d of %d observed places broken (seed %d), %d beyond the reach of one change\n", places.Broken,
		places.Sampled, seed, places.BeyondReach)
	for _, f := range t.Faults {
		fmt.Fprintf(w, "fail  %s\n", f)
	}
	word := "PASS"
	if !t.OK() {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(w, "\n%s: %d requirements, %d of %d mutants killed, %d faults\n",
		word, len(t.Rows), killed, applied, len(t.Faults))
	return err
}

// printBreaches shows by what each requirement was broken on the wire, or why it was not.
func printBreaches(w io.Writer, breaches []breach) {
	if len(breaches) == 0 {
		return
	}
	fmt.Fprintln(w, "\nON THE WIRE\t\tMUTANT\tCASE")
	for _, b := range breaches {
		if b.Unbroken != "" {
			fmt.Fprintf(w, "%s\t\t·\t%s\n", b.Requirement, b.Unbroken)
			continue
		}
		fmt.Fprintf(w, "%s\t\t%s\t%s\n", b.Requirement, b.Mutant, b.Case)
	}
}

// The form of conform selftest --json, schema conform.selftest.v1.
type (
	selftestDoc struct {
		Schema string      `json:"schema"`
		Tool   report.Tool `json:"tool"`
		OK     bool        `json:"ok"`
		mutate.Table
		Places selftestPlaces `json:"places"`
		Wire   []breach       `json:"wire,omitempty"`
	}
	selftestPlaces struct {
		Seed uint64 `json:"seed"`
		mutate.Places
	}
)
