package conform

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

// runFlags is what the command line of conform run says.
type runFlags struct {
	subject, set, filter string
	sources, ingress     []string
	reports              []string // KIND=FILE
	policyFlags
	asJSON jsonVersion
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an agent through every case and judge what it sent",
		Long: `Run an agent through every case and judge what it sent through the intercepting
proxy, without key or network. --source cassette replays the committed recordings and
fails an agent that asks for anything else; --source simulator asks the strict
simulator, which answers whatever the provider would accept.

Exits 1 when something failed, 2 when nothing is selected, 3 when a requirement
was not testable or no call was accepted. --json prints ` + report.RunSchema + `.`,
		Example: `  conform run
  conform run --source cassette,simulator --filter 'SIG && anthropic'
  conform run --strict --require SIG,ORD-001
  conform run --report json=report.json,junit=report.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("run: takes no argument, got %q; name the agent with --subject", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.subject, "subject", "rkat", "agent under test: rkat")
	flags.StringSliceVar(&f.sources, "source", []string{"cassette"}, "what answers the agent: cassette, simulator or both")
	flags.StringSliceVar(&f.ingress, "ingress", []string{"mitm"}, "how the agent reaches the proxy: mitm")
	flags.StringVar(&f.set, "set", "current", "requirements to hold it to: current")
	flags.StringVar(&f.filter, "filter", "", filterHelp)
	flags.StringSliceVar(&f.reports, "report", nil, "write reports: json=FILE,junit=FILE")
	f.addTo(cmd)
	addJSONFlag(cmd, &f.asJSON)
	refuseFlags(cmd, map[string]string{
		"shard":        "run the whole, it takes seconds",
		"baseline":     "exclude with --filter and say why where you do",
		"rerun-failed": "select with --filter",
	})
	return cmd
}

func (a *app) run(ctx context.Context, f runFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	files, err := parseReportFlags(f.reports)
	if err != nil {
		return err
	}
	policy, err := f.policy()
	if err != nil {
		return err
	}
	ran, runErr := a.runCases(ctx, f, policy)
	if ran == nil {
		return runErr
	}
	for _, file := range files {
		if err := file.save(ran); err != nil {
			return errors.Join(err, runErr)
		}
	}
	err = a.printReport(f.asJSON != "", f.asJSON.pick(ran, ran.V1), func(t *report.Terminal) { t.Run(ran) })
	if err := errors.Join(err, runErr); err != nil {
		return err
	}
	return cli.Exit(ran.Summary.Exit)
}

// runCases runs the selected cases. After an interruption it returns both the
// report of what was found until then and the error.
func (a *app) runCases(ctx context.Context, f runFlags, policy report.Policy) (*report.Run, error) {
	bar := a.StartProgress("judged")
	began := time.Now()
	var sources []evidence.Source
	for _, s := range f.sources {
		if source := evidence.Source(s); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	found, err := harness.Run(ctx, harness.Options{
		Subject: harness.InProcess(rkat.Run), Filter: f.filter, Sources: sources,
		Progress: func(_, total int) { bar.Step(total) },
	})
	bar.Done()
	if err != nil {
		return nil, filterError(err)
	}
	for _, r := range found.Results {
		a.Log().Info("judged", "case", r.Case, "check", r.Check, "verdict", string(r.Verdict), "observed", r.Observed)
	}
	ran := report.NewRun(report.Run{
		Tool: tool(), Subject: report.Subject{Name: "rkat", Version: cli.Version(), Kind: "in-process"},
		Set: report.NewSet(f.set, found.Requirements), Policy: policy, Calls: found.Calls, Expected: found.Expected, Source: f.sources, Ingress: f.ingress,
		Started: began.UTC(), DurationMS: time.Since(began).Milliseconds(),
	}, found.Results)
	if found.Interrupted {
		return ran, cli.Fail(report.ExitHarness, "interrupted after %d results; run it again for a verdict", len(found.Results))
	}
	return ran, nil
}

// validate refuses values that do not exist, and those that are planned and not
// in this build.
func (f runFlags) validate() error {
	for _, v := range []struct {
		flag           string
		values         []string
		known, planned []string
		advice         string
	}{
		{"--subject", []string{f.subject}, []string{"rkat"}, nil, ""},
		{"--source", f.sources, []string{"cassette", "simulator"}, []string{"live"}, "use --source cassette or simulator"},
		{"--ingress", f.ingress, []string{"mitm"}, []string{"base-url"}, "use --ingress mitm"},
		{"--set", []string{f.set}, []string{"current"}, nil, ""},
	} {
		if len(v.values) == 0 {
			return cli.Usage("%s: is empty; use %s", v.flag, strings.Join(v.known, " or "))
		}
		for _, value := range v.values {
			switch {
			case slices.Contains(v.known, value):
			case slices.Contains(v.planned, value):
				return missingError(v.flag+" "+value, v.advice)
			case v.flag == "--subject" && strings.HasSuffix(value, ".yaml"):
				return missingError(v.flag+" "+value, "use --subject rkat")
			default:
				return cli.Usage("%s: unknown value %q; use %s", v.flag, value, strings.Join(v.known, " or "))
			}
		}
	}
	return nil
}
