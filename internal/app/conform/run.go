package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/conform/subject/driver"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
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
	flags.StringSliceVar(&f.sources, "source", nil,
		"what answers the agent: cassette, simulator, live (default: for rkat cassettes, and the simulator where there is none; simulator for others)")
	flags.StringSliceVar(&f.ingress, "ingress", nil,
		"how the agent reaches the proxy: mitm, base-url or both (default: the first of them that works)")
	flags.StringVar(&f.webSocket, "websocket", webSocketJudge,
		"WebSockets of OpenAI's Responses API: judge, where the simulator answers, or refuse, after which agents go on over HTTP")
	flags.StringVar(&f.set, "set", "current",
		"the set of requirements to judge by: "+strings.Join(specs.SetNames(), ", or one frozen in a month, "))
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
	if slices.Contains(f.sources, string(evidence.SourceCassette)) && (f.name != rkatSubject || len(f.command) > 0) {
		return cli.Usage("--source cassette: the cassettes are recordings of %s, and another agent asks for something else; use --source simulator", rkatSubject)
	}
	if err := f.liveFlags.check(f); err != nil {
		return err
	}
	if err := cmp.Or(checkValues("source", f.sources...), checkValues("ingress", f.ingress...),
		checkValues("websocket", f.webSocket), checkValues("set", f.set)); err != nil {
		return err
	}
	if f.inPlace {
		if f.jobs > 1 {
			return cli.Usage("--jobs %d: with --in-place all cases use one folder; leave --jobs out, or --in-place",
				f.jobs)
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
func (a *app) runCases(ctx context.Context, f runFlags, policy report.Policy, own []report.Rule,
	page *inspection) (*report.Run, error) {
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
		Tool: tool(), Subject: about.Subject, Policy: policy, Source: sources, Ingress: f.ingress, Seed: f.seed,
		Filter: f.filter, Started: began.UTC(),
	})
	if err != nil {
		return nil, err
	}
	defer schedule.closeJournal()
	schedule.workdir = f.workdir
	f.seed = schedule.known.Header.Seed
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
	page.beginLive(inspector.Head{Kind: "run", Tool: tool(), Subject: about.Subject, Sources: sources,
		Ingress: f.ingress, Started: began.UTC(), Policy: policy})
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
	end := report.JournalEnd{DurationMS: time.Since(began).Milliseconds(),
		Isolation: isolationOf(about.Subject, options.Isolation),
		Guard:     cmp.Or(found.Guard, f.strayGuard(schedule.known.Entries)), Live: liveOf(live, found)}
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
	return cli.Fail(report.ExitInterrupted, "interrupted after %d results; run it again for a verdict; "+
		"with --journal FILE a run goes on where it was interrupted", results)
}

// harnessOptions are what the flags say for the harness.
func (f runFlags) harnessOptions(subject harness.Subject, progress func(done, total int)) harness.Options {
	o := harness.Options{
		Config: harness.Config{Subject: subject, Seed: f.seed, CaseTimeout: f.caseTimeout,
			RefuseWebSockets: f.webSocket == webSocketRefuse, WorkDir: f.workdir, InPlace: f.inPlace},
		Set: f.set, Filter: f.filter, Ingress: f.ingress, Workers: f.jobs, Progress: progress,
	}
	for _, s := range f.sources {
		if source := evidence.Source(s); !slices.Contains(o.Sources, source) {
			o.Sources = append(o.Sources, source)
		}
	}
	return o
}

// reportFlags say which reports are written beside the terminal's.
type reportFlags struct {
	reports []string // KIND=FILE
	share   bool     // pages hold hashes in place of content
	serve   string   // where the page is shown live, "" for nowhere
}

func (f *reportFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.reports, "report", nil, reportHelp)
	cmd.Flags().BoolVar(&f.share, "share", false,
		"put hashes and lengths in the place of content in the reports html and inspector")
}

// deliverRun is deliverReport for a run.
func (a *app) deliverRun(ran *report.Run, files reportFiles, asJSON bool, runErr error) error {
	return a.deliverReport(ran, func(t *report.Terminal) { t.Run(ran) }, ran.Summary.Exit, files, asJSON, runErr)
}

// deliverReport writes all reports of a run or check, prints the one for people or JSON, and
// returns the error that ends the program with exit. runErr is what went wrong before.
// The verdict is printed also when a report cannot be written.
func (a *app) deliverReport(doc reportDocument, show func(*report.Terminal), exit int, files reportFiles, asJSON bool,
	runErr error) error {
	saveErr := a.save(files, doc)
	var printErr error
	if files.takesStdout() {
		if a.Verbose {
			show(report.NewTerminal(a.Stderr, false))
		}
	} else {
		printErr = a.printReport(asJSON, doc, show)
	}
	if err := errors.Join(saveErr, runErr, printErr); err != nil {
		return err
	}
	return cli.Exit(exit)
}

// splitConversation reads --subject acp:CMD and driver:CMD; the kind is "" for every
// other name.
func splitConversation(name string) (kind string, argv []string, err error) {
	kind, command, ok := strings.Cut(name, ":")
	if !ok || kind != "acp" && kind != "driver" {
		return "", nil, nil
	}
	argv, err = subject.SplitCommand("--subject", command)
	return kind, argv, asUsage(err)
}

// startAgent returns the agent that a command starts, with the variables of a profile. It
// starts it once.
func (f runFlags) startAgent(ctx context.Context, kind string, argv []string, p *profiles.Profile,
	providers []string) (agent harness.Subject, err error) {
	if f.workdir != "" {
		return nil, errNoWorkdir
	}
	level, err := f.detectLevel(ctx, report.Subject{Name: argv[0], Kind: kind})
	if err != nil {
		return nil, err
	}
	env := func(room harness.Room) ([]string, error) { return subject.Environment(p, room) }
	if kind == "driver" {
		agent, err = driver.New(ctx, driver.Config{Args: argv, Environment: env, Isolation: level})
	} else {
		var permissions acp.Permissions
		if permissions, err = acp.ParsePermissions(f.permissions); err != nil {
			return nil, cli.Usage("--acp-%w", err)
		}
		agent, err = acp.New(ctx, acp.Config{Args: argv, Environment: env, Providers: providers,
			Permissions: permissions, Isolation: level})
	}
	if err != nil {
		return nil, cli.Usage("--subject %s: %w", kind+":"+strings.Join(argv, " "), err)
	}
	return agent, nil
}

// conversationOf returns the agent of a profile with acp or driver. Such a command
// knows no case, so it may name no more than the folder of its profile.
func (f runFlags) conversationOf(ctx context.Context, p *profiles.Profile) (harness.Subject, error) {
	kind, templates := p.Command()
	values := map[string]string{"profile_dir": p.Dir()}
	var argv []string
	for _, t := range templates {
		word, err := t.Fill(values)
		if err != nil {
			return nil, cli.Usage("profile %s: %s: %w", p.Name, t, err)
		}
		argv = append(argv, word)
	}
	agent, err := f.startAgent(ctx, kind, argv, p, slices.Collect(maps.Keys(p.Providers)))
	if err != nil {
		return nil, err
	}
	return narrowAgent(subject.WithProfile(agent, p), f.providers)
}

// isolationFlags say what the agent may reach, and what happens when it tries more.
type isolationFlags struct {
	isolation   string
	failOnStray bool
}

func (f *isolationFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.isolation, "isolation", string(isolate.Auto),
		"keep the agent away from all but our proxy: auto (where the system allows it), require or off")
	cmd.Flags().BoolVar(&f.failOnStray, "fail-on-stray", false,
		"exit 5 when the agent tries to reach a host that is not a provider's")
}

// detectLevel finds out how far the agent can be kept apart. An agent inside this process
// cannot.
func (f isolationFlags) detectLevel(ctx context.Context, subject report.Subject) (isolate.Level, error) {
	if err := checkValues("isolation", f.isolation); err != nil {
		return isolate.Level{}, err
	}
	mode := isolate.Mode(f.isolation)
	if subject.Kind == inProcess {
		if mode == isolate.Require {
			return isolate.Level{}, cli.Usage("--isolation require: %s runs inside this process; leave the flag out",
				subject.Name)
		}
		return isolate.Level{}, nil
	}
	level, err := isolate.Detect(ctx, mode)
	if err != nil {
		return level, cli.Usage("--isolation require: %w", err)
	}
	return level, nil
}

// inProcess is the kind of an agent that runs inside this process.
const inProcess = "in-process"

// isolationOf is what a report says about the level.
func isolationOf(subject report.Subject, level isolate.Level) *report.Isolation {
	if subject.Kind == inProcess {
		return nil
	}
	return &report.Isolation{Enforced: level.Enforced, Reason: level.Reason}
}

// strayGuard returns why --fail-on-stray ends the run with an error, "" when it does
// not.
func (f isolationFlags) strayGuard(cases []report.JournalEntry) string {
	var hosts []report.Host
	for _, c := range cases {
		hosts = report.AddHosts(hosts, c.Hosts...)
	}
	if !f.failOnStray || len(hosts) == 0 {
		return ""
	}
	return fmt.Sprintf("the agent tried to reach %s, which is not a provider's host (--fail-on-stray)", hosts[0].Name)
}
