package conform

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/questions"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// serverFlags say which server is judged, and how it is asked.
type serverFlags struct {
	wire, model, keyVariable string
	level, as                string
	requests                 int
	timeout                  time.Duration
	dutyFlags
}

func (a *app) serverCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server URL",
		Short: "Judge a server that claims to speak a wire",
		Long: `Judge a server that claims to speak a wire: about sixty questions are asked, streamed and in one
piece, and every answer is judged. A model is asked for plumbing only: tools that it has to call,
limits that it has to keep. What a model did not do of itself is not seen and no failure. Where the
server limits the rate of requests, conform waits as retry-after says, at most 2 minutes in all.

--level core asks what every client needs, agent what well-known agents need as well, faithful what
the provider itself does. --as claude-code asks as that client does, and judges what it needs.

A key is read from the variable that --key-env names, sent to URL only, and stands in no report. A
local server is asked without a key. The budget ends the questions.

Exits 1 when something failed, 2 for wrong usage, 3 when nothing was seen, 4 when the server does
not answer. --json prints ` + report.RunSchema + `. conform explain SV-A7 explains an id.`,
		Example: `  conform server http://127.0.0.1:8080 --wire anthropic --model qwen3
  conform server https://gateway.example.com/v1 --wire openai --model gpt-5.2 --key-env GATEWAY_KEY --level core
  conform server http://127.0.0.1:11434 --wire anthropic --model llama4 --as claude-code`,
		Args: oneArgument("server: takes one URL, got %d; write for example http://127.0.0.1:8080"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.judgeServer(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.wire, "wire", "", "what the server claims to speak: "+strings.Join(wires.Names(), ", ")+
		" (default: that of --as)")
	flags.StringVarP(&f.model, "model", "m", "", "model to ask for")
	flags.StringVar(&f.keyVariable, "key-env", "", "`NAME` of the variable that holds the key for the server")
	flags.StringVar(&f.level, "level", "", "ask no more than this level: core, agent or faithful (default: all)")
	flags.StringVar(&f.as, "as", "", "ask as a well-known client: "+strings.Join(askedClientNames(), ", "))
	flags.IntVar(&f.requests, "max-requests", 300, "how many requests may be made")
	flags.DurationVar(&f.timeout, "timeout", client.DefaultTimeout, "how long one answer may take")
	f.dutyFlags.addTo(cmd)
	return cmd
}

func askedClientNames() (names []string) {
	all, _ := specs.AskedClients() // embedded, and tested
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// readConfig checks the flags.
func (f *serverFlags) readConfig(a *app, base string) (c questions.Config, err error) {
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
		return c, cli.Usage("%s: is no URL; write for example http://127.0.0.1:8080", base)
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(base, "?#") {
		return c, cli.Usage("the URL has a host, and may hold no key, password or query; name a key by --key-env")
	}
	c = questions.Config{Base: base, Model: f.model, Budget: f.requests, Timeout: f.timeout,
		Level: specs.DutyLevel(f.level)}
	if f.level != "" && !slices.Contains(specs.DutyLevels, c.Level) {
		return c, cli.Usage("--level: there is no level %q; use core, agent or faithful", f.level)
	}
	if f.as != "" {
		all, err := specs.AskedClients()
		if err != nil {
			return c, err
		}
		i := slices.IndexFunc(all, func(k specs.AskedClient) bool { return k.Name == f.as })
		if i < 0 {
			return c, cli.Usage("--as: there is no client %q; use %s%s", f.as, strings.Join(askedClientNames(), ", "),
				spelling.Hint(f.as, askedClientNames()))
		}
		if c.As = &all[i]; f.wire == "" {
			f.wire = all[i].Wire
		} else if f.wire != all[i].Wire {
			return c, cli.Usage("--as %s: speaks %s, and --wire says %s; leave --wire out", f.as, all[i].Wire, f.wire)
		}
	}
	if c.Wire, err = findWire("wire", f.wire); err != nil {
		return c, err
	}
	if c.Model == "" {
		return c, cli.Usage("--model: is missing; name a model that the server has")
	}
	if f.requests < 1 {
		return c, cli.Usage("--max-requests: %d is no budget; use at least 1", f.requests)
	}
	if f.keyVariable != "" {
		if c.Key = strings.TrimSpace(a.Getenv(f.keyVariable)); c.Key == "" {
			return c, cli.Usage("--key-env: the variable %s is not set", f.keyVariable)
		}
	}
	return c, nil
}

func (a *app) judgeServer(ctx context.Context, base string, f serverFlags) error {
	config, err := f.readConfig(a, base)
	if err != nil {
		return err
	}
	judged, err := a.newDutyRun(f.dutyFlags, config.Wire.Name, evidence.SourceLive)
	if err != nil {
		return err
	}
	at, _ := url.Parse(base) // readConfig has tried
	config.Only = judged.only.holdsCase
	judged.subject = f.named(report.Subject{Name: config.Model + " at " + at.Host, Kind: "server",
		Wire: config.Wire.Name})
	for _, limit := range [][2]string{{"level", f.level}, {"as", f.as}} {
		if limit[1] != "" {
			judged.filter = strings.TrimSpace(judged.filter + " --" + limit[0] + " " + limit[1])
		}
	}
	transport := client.NewTransport()
	defer transport.CloseIdleConnections()
	config.Transport = transport
	bar := a.StartProgress("asked")
	config.Progress = func(_, total int) { bar.Step(total) }
	found, err := questions.Judge(ctx, config)
	bar.Done()
	switch {
	case errors.Is(err, questions.ErrNothingSelected):
		return judged.only.unknownError(err)
	case err != nil:
		return cli.Fail(report.ExitHarness, "%w", err)
	}
	if found.Unasked > 0 {
		a.Say("%d questions were not asked: the budget of %d requests is spent, "+
			"too many answers took longer than --timeout or did not end, or the run was ended", found.Unasked, f.requests)
	}
	if found.Limited > 0 {
		a.Say("%d answers were 429 and show nothing else; conform waits as retry-after says, but no longer than 2 minutes in all", found.Limited)
	}
	switch {
	case found.UnaskedThinking:
		a.Say("thinking was not asked for: %s is known not to think", config.Model)
	case found.RefusedThinking != "":
		a.Say("thinking is not seen: the server refused to be asked for it with %s", found.RefusedThinking)
	}
	return judged.deliverDuties(a, found.Cases, found.Took, ctx.Err() != nil)
}

// dutyFlags are those of the commands that judge servers and gateways.
type dutyFlags struct {
	reportFlags
	policyFlags
	name             string
	filter, baseline string
	asJSON           bool
}

func (f *dutyFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME[@VERSION]` in reports (default: what is known of the product)")
	flags.StringVar(&f.filter, "filter", "", dutyFilterHelp)
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of breaches that are known: see conform baseline")
	f.addVerdicts(flags)
	f.reportFlags.addTo(cmd)
	cli.AddJSONFlag(cmd, &f.asJSON)
}

// named gives a subject the name and the version of --name.
func (f *dutyFlags) named(s report.Subject) report.Subject {
	if f.name != "" {
		s.Name, s.Version = profiles.SplitVersion(f.name)
	}
	return s
}

// dutyRun makes the report of a server or a gateway.
type dutyRun struct {
	subject  report.Subject
	issues   []string // where what is known to be wrong is worked on
	source   evidence.Source
	wire     string
	filter   string // what selected the cases, "" for all
	only     dutyFilter
	began    time.Time
	policy   report.Policy
	baseline []report.Excuse
	files    reportFiles
	page     *inspection
	asJSON   bool
}

// newDutyRun reads what the flags name, before anything is asked.
func (a *app) newDutyRun(f dutyFlags, wire string, source evidence.Source) (d *dutyRun, err error) {
	d = &dutyRun{wire: wire, source: source, filter: f.filter, began: time.Now(), asJSON: f.asJSON}
	if d.only, err = parseDutyFilter(f.filter); err != nil {
		return nil, err
	}
	if d.files, err = a.parseReportFlags(f.reports, f.asJSON); err != nil {
		return nil, err
	}
	if d.policy, err = f.policy(nil); err != nil {
		return nil, err
	}
	if d.baseline, err = readBaseline(f.baseline); err != nil {
		return nil, err
	}
	a.warnUnwritable(d.files)
	d.page, err = a.newInspection(f.reportFlags, d.files)
	return d, err
}

// deliverDuties writes the reports of the cases.
func (d *dutyRun) deliverDuties(a *app, cases []*report.DutyCase, took []time.Duration, isInterrupted bool) error {
	run := report.Run{
		Tool: tool(), Subject: d.subject, Policy: d.policy, Source: []string{string(d.source)},
		Ingress: []string{"base-url"},
		Started: d.began.UTC(), DurationMS: time.Since(d.began).Milliseconds(), Calls: &report.Calls{},
		Filter: d.filter, Interrupted: isInterrupted,
		Issues: d.issues,
	}
	var results []report.Result
	var ids []string
	for i, c := range cases {
		*run.Calls = run.Calls.Add(c.Calls)
		run.Cases = append(run.Cases, report.CaseSummary{Name: c.Name, Provider: c.Provider, Source: string(d.source),
			DurationMS: took[i].Milliseconds()})
		for _, r := range c.Results() {
			if !d.only.holds(c.Name, specs.FindDuty(r.Requirement)) {
				continue
			}
			r.DurationMS = took[i].Milliseconds()
			results, ids = append(results, r), append(ids, r.Requirement)
		}
	}
	run.Set = report.NewSet(d.subject.Kind, ids)
	for _, e := range d.baseline {
		run.Baseline = append(run.Baseline, report.UsedExcuse{Excuse: e})
	}
	ran := report.NewRun(run, results)
	byCase := map[string][]report.Result{}
	for _, r := range ran.Results {
		byCase[r.Case] = append(byCase[r.Case], r)
	}
	for i, c := range cases {
		if d.page == nil {
			break
		}
		d.page.builder.Add(inspector.Observation{
			Name: c.Name, Scenario: strings.Split(c.Name, "/")[0], Provider: d.wire, Source: string(d.source),
			Ingress: "base-url", Took: took[i],
			Results: byCase[c.Name], Evidence: &evidence.Evidence{Source: d.source, Case: c.Name,
				Exchanges: c.Exchanges},
		})
	}
	return a.deliverRun(ran, d.files, d.asJSON, nil)
}
