package conform

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/specs"
)

// What becomes of an agent's WebSockets.
const (
	webSocketJudge  = "judge"
	webSocketRefuse = "refuse"
)

// runFlags is what the command line of conform run says. Each group of flags is in a
// file of its own.
type runFlags struct {
	subjectFlags
	scheduleFlags
	liveFlags
	reportFlags
	policyFlags
	isolationFlags
	teamFlags
	prices            priceFlag
	set, filter, seed string
	sources, ingress  []string
	webSocket         string
	asJSON            bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [-- CMD {prompt}]",
		Short: "Run an agent through every case and judge what it sent",
		Long: `Run an agent through every case and judge what it sent through the intercepting
proxy. The agent is rkat, or the command behind --, or the --subject. Only --source live
needs a key and a network.

--source cassette replays the committed recordings and fails an agent that asks for
anything else; --source simulator asks the strict simulator, which answers whatever the
provider would accept. --source live asks the providers themselves, with the keys in
ANTHROPIC_API_KEY, OPENAI_API_KEY and GEMINI_API_KEY, and costs money: the budget ends it.

Exits 1 when something failed, 2 when nothing is selected, 3 when a requirement
was not testable or no call was accepted, 5 when a guard ended the run: a key that is
not made up, a model or a host that is not allowed, a budget that is spent.
--json prints ` + report.RunSchema + `.`,
		Example: `  conform run
  conform run -- my-agent --print {prompt}
  conform run --workdir . -- python3 -m my_agent {prompt}
  conform run --resume-cmd 'my-agent --continue {prompt}' -- my-agent --print {prompt}
  conform run --subject claude-code --ingress mitm,base-url
  conform run --source cassette,simulator --filter 'SIG && anthropic'
  conform run --strict --require SIG,ORD-001
  conform run --rules our-rules.yaml -- my-agent --print {prompt}
  conform run --source live --max-requests 50 --record cassettes/live
  conform run --report json=report.json,junit=report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.takeArguments(cmd, args); err != nil {
				return err
			}
			return a.run(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.sources, "source", nil, "what answers the agent: cassette, simulator, live (default: for rkat cassettes, and the simulator where there is none; simulator for others)")
	flags.StringSliceVar(&f.ingress, "ingress", nil, "how the agent reaches the proxy: mitm, base-url or both (default: the first of them that works)")
	flags.StringVar(&f.webSocket, "websocket", webSocketJudge, "WebSockets of OpenAI's Responses API: judge, where the simulator answers, or refuse, after which agents go on over HTTP")
	flags.StringVar(&f.set, "set", "current", "the set of requirements to judge by: "+strings.Join(specs.SetNames(), ", or one frozen in a month, "))
	flags.StringVar(&f.filter, "filter", "", filterHelp)
	flags.StringVar(&f.seed, "seed", "", "repeat the nonces and tokens of an earlier run (default: new ones)")
	f.subjectFlags.addTo(cmd)
	f.scheduleFlags.addTo(cmd)
	f.liveFlags.addTo(cmd)
	f.reportFlags.addTo(cmd)
	flags.StringVar(&f.serve, "serve", "", "show the run in a browser on this machine while it goes on, at `HOST:PORT`")
	flags.Lookup("serve").NoOptDefVal = defaultServeAddress
	f.policyFlags.addTo(cmd)
	f.isolationFlags.addTo(cmd)
	f.teamFlags.addTo(cmd)
	f.prices.addTo(flags)
	cli.AddJSONFlag(cmd, &f.asJSON)
	return cmd
}

func (a *app) run(ctx context.Context, f runFlags) error {
	if err := f.scheduleFlags.check(); err != nil {
		return err
	}
	if err := f.adoptRerun(); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	if f.inPlace {
		if f.jobs > 1 {
			return cli.Usage("--jobs %d: with --in-place all cases use one folder; leave --jobs out, or --in-place", f.jobs)
		}
		f.jobs = 1
	}
	reports, err := a.parseReportFlags(f.reports, f.asJSON)
	if err != nil {
		return err
	}
	own, err := f.teamFlags.readFiles()
	if err != nil {
		return err
	}
	policy, err := f.policy(own)
	if err != nil {
		return err
	}
	a.warnUnwritable(reports)
	page, err := a.newInspection(f.reportFlags, reports)
	if err != nil {
		return err
	}
	ran, runErr := a.runCases(ctx, f, policy, own, page)
	page.finishLive(ran) //nolint:contextcheck // browsers read the end after an interruption, too
	if ran == nil {
		return runErr
	}
	return a.deliverRun(ran, reports, f.asJSON, runErr)
}

// runCases runs the selected cases. After an interruption it returns both the
// report of what was found until then and the error.
func (a *app) runCases(ctx context.Context, f runFlags, policy report.Policy, own []report.Rule, page *inspection) (*report.Run, error) {
	subject, err := a.findSubject(ctx, f)
	tripped := (*harness.GuardError)(nil)
	switch errors.As(err, &tripped); {
	case subject == nil && ctx.Err() != nil:
		return nil, interruptedError(0)
	case tripped != nil && subject != nil:
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		end() // the report names the cases, and none is run
	case err != nil && ctx.Err() == nil:
		return nil, err
	}
	if f.ingress == nil {
		f.ingress = waysIn(subject)
	}
	about := subject.About()
	about.Control, about.File = about.Level(), f.agentFile()
	sources := f.sourceNames(about)
	prices, err := f.prices.read()
	if err != nil {
		return nil, err
	}
	live, err := a.liveOptions(f, prices)
	if err != nil {
		return nil, err
	}
	bar := a.StartProgress("judged")
	began := time.Now()
	schedule, err := a.newSchedule(f.scheduleFlags, f.set, report.JournalHeader{
		Tool: tool(), Subject: about.Subject, Policy: policy, Source: sources, Ingress: f.ingress, Seed: f.seed, Filter: f.filter, Started: began.UTC(),
	})
	if err != nil {
		return nil, err
	}
	defer schedule.closeJournal()
	schedule.workdir = f.workdir
	f.seed = schedule.runSeed()
	options := f.harnessOptions(subject, func(_, total int) { bar.Step(total) })
	if options.Tools, err = toolCommand(); err != nil {
		return nil, err
	}
	options.TeamRules, options.Prices = own, prices
	options.Choose = schedule.chooseRuns
	options.Observe = func(run harness.CaseRun, results []report.Result) {
		schedule.keepCase(run, results)
		page.observeCase(run, results)
	}
	page.beginLive(inspector.Head{Kind: "run", Tool: tool(), Subject: about.Subject, Sources: sources, Ingress: f.ingress, Started: began.UTC(), Policy: policy})
	options.Live, options.Secrets = live, redact.EnvironmentSecrets(a.Environ)
	if options.Isolation, err = f.detectLevel(context.WithoutCancel(ctx), about.Subject); err != nil {
		return nil, err
	}
	found, err := harness.Run(ctx, options)
	bar.Done()
	if err != nil {
		return nil, filterError(err)
	}
	a.sayOutcome(found)
	if tripped != nil {
		found.Guard = tripped.Reason
	}
	if found.Interrupted && found.Guard == "" {
		ran, err := schedule.makeReport(nil)
		a.sayLive(liveOf(live, found))
		return ran, errors.Join(interruptedError(len(found.Results)), err)
	}
	end := report.JournalEnd{DurationMS: time.Since(began).Milliseconds(), Isolation: isolationOf(about.Subject, options.Isolation), Guard: cmp.Or(found.Guard, f.strayGuard(schedule.known.Entries)), Live: liveOf(live, found)}
	return schedule.makeReport(&end)
}

// sourceNames are the sources as the report names them.
func (f runFlags) sourceNames(about harness.About) []string {
	if f.sources != nil {
		return f.sources
	}
	var names []string
	for _, source := range harness.DefaultSources(about) {
		names = append(names, string(source))
	}
	return names
}

// sayOutcome names the team's rules that saw nothing, and logs each result.
func (a *app) sayOutcome(found harness.Outcome) {
	for _, line := range found.UnseenTeamRules {
		a.Say("%s", line)
	}
	for _, r := range found.Results {
		a.Log().Info("judged", "case", r.Case, "check", r.Check, "verdict", string(r.Verdict), "observed", r.Observed)
	}
}

// interruptedError ends a run that was interrupted.
func interruptedError(results int) error {
	return cli.Fail(report.ExitInterrupted, "interrupted after %d results; run it again for a verdict", results)
}

// harnessOptions are what the flags say for the harness.
func (f runFlags) harnessOptions(subject harness.Subject, progress func(done, total int)) harness.Options {
	o := harness.Options{
		Config: harness.Config{Subject: subject, Seed: f.seed, CaseTimeout: f.caseTimeout, RefuseWebSockets: f.webSocket == webSocketRefuse, WorkDir: f.workdir, InPlace: f.inPlace},
		Set:    f.set, Filter: f.filter, Ingress: f.ingress, Workers: f.jobs, Progress: progress,
	}
	for _, s := range f.sources {
		if source := evidence.Source(s); !slices.Contains(o.Sources, source) {
			o.Sources = append(o.Sources, source)
		}
	}
	return o
}

// validate refuses values that do not exist.
func (f runFlags) validate() error {
	if slices.Contains(f.sources, string(evidence.SourceCassette)) && (f.name != rkatSubject || len(f.command) > 0) {
		return cli.Usage("--source cassette: the cassettes are recordings of %s, and another agent asks for something else; use --source simulator", rkatSubject)
	}
	if err := f.liveFlags.check(f); err != nil {
		return err
	}
	return cmp.Or(checkValues("source", f.sources...), checkValues("ingress", f.ingress...), checkValues("websocket", f.webSocket), checkValues("set", f.set))
}
