package recorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
)

// checkSettings are the flags of refresh --check.
type checkSettings struct {
	on       bool
	budget   budget
	maxBytes int64
	timeout  time.Duration
	failOn   string
	dryRun   bool
	json     bool
}

// checkFlags are the flags that have a use with --check only.
var checkFlags = []string{"max-requests", "max-tokens", "max-bytes", "timeout", "fail-on", "dry-run", "json"}

// withCheck gives refresh, whose flags are f, the flag --check, with which it records nothing.
func (a *app) withCheck(cmd *cobra.Command, f *modeFlags) *cobra.Command {
	var x checkSettings
	set, record := cmd.Flags(), cmd.RunE
	set.BoolVar(&x.on, "check", false, "record nothing: send the requests again and report how the replies drifted")
	set.IntVar(&x.budget.requests, "max-requests", 20, "check: send at most `N` requests")
	set.IntVar(&x.budget.tokens, "max-tokens", 50_000,
		"check: stop before about `N` tokens are spent, input and output")
	set.Int64Var(&x.maxBytes, "max-bytes", 16<<20, "check: read at most `N` bytes of a reply")
	set.DurationVar(&x.timeout, "timeout", 5*time.Minute, "check: `time` that a reply may take")
	set.StringVar(&x.failOn, "fail-on", event.Breaking.String(),
		"check: exit 1 from this `severity` on: cosmetic, notable, breaking")
	set.BoolVar(&x.dryRun, "dry-run", false, "check: say what it would cost, and send nothing")
	cli.AddJSONFlag(cmd, &x.json)
	set.Lookup("json").Usage += ", with --check"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if x.on {
			return a.checkDrift(cmd.Context(), f, x)
		}
		for _, name := range checkFlags {
			if set.Changed(name) {
				return cli.Usage("--%s: goes with --check", name)
			}
		}
		return record(cmd, args)
	}
	return cmd
}

// checkDrift checks the flags, and then the cassette.
func (a *app) checkDrift(ctx context.Context, f *modeFlags, x checkSettings) error {
	if f.cassette == "" {
		return cli.Usage("--cassette: missing; name the file to check")
	}
	failOn, err := event.ParseSeverity(x.failOn)
	if err != nil {
		return cli.Usage("--fail-on %w", err)
	}
	if x.budget.requests < 1 || x.budget.tokens < 1 || x.maxBytes < 1 || x.timeout <= 0 {
		return cli.Usage("--max-requests, --max-tokens, --max-bytes and --timeout: have to be above 0")
	}
	return a.checkCassette(ctx, f, x, failOn)
}

// driftReport is what a check found.
type driftReport struct {
	Schema       string           `json:"schema"`
	Cassette     string           `json:"cassette"`
	Provenance   string           `json:"provenance"`
	DryRun       bool             `json:"dry_run,omitempty"`
	FailOn       event.Severity   `json:"fail_on"`
	Planned      []plannedRequest `json:"planned"`
	Checked      []checkedReply   `json:"checked"`
	Inconclusive []leftOut        `json:"inconclusive"`
	Skipped      []leftOut        `json:"skipped"`
	Findings     []event.Finding  `json:"findings"`
	Summary      map[string]int   `json:"summary"` // findings by severity
	spent        int
	pairs        []event.Pair
	numbers      []int // of the pairs' interactions
}

// checkedReply is a request that was sent again and answered conclusively.
type checkedReply struct {
	Interaction int    `json:"interaction"`
	Status      int    `json:"status"`
	Tokens      int    `json:"tokens"`
	Times       *Times `json:"times"`
}

// checkCassette sends the requests of a cassette again and compares the replies. It writes no
// cassette.
func (a *app) checkCassette(ctx context.Context, f *modeFlags, x checkSettings, failOn event.Severity) error {
	t, err := Read(f.cassette, Everything)
	if err != nil {
		return err
	}
	k, err := a.newModeEnv(f)
	if err != nil {
		return err
	}
	upstream, err := f.upstreamBases()
	if err != nil {
		return err
	}
	keys := wires.Keys(a.Getenv)
	if err := checkUpstreamsEncrypted(upstream, keys); err != nil {
		return err
	}
	p := planResend(t.List, x.budget, func(r cassette.Request) string { return withheldReason(r, keys, upstream) })
	r := &driftReport{Schema: "recorder.drift.v1", Cassette: f.cassette, Provenance: t.Meta().Provenance,
		DryRun: x.dryRun, FailOn: failOn,
		Planned: nonNil(p.send), Checked: []checkedReply{}, Inconclusive: []leftOut{}, Skipped: nonNil(p.skip),
		Findings: []event.Finding{}}
	a.sayCost(r, p)
	if !x.dryRun {
		s := &sender{k.transport, keys, x.maxBytes, x.timeout, time.Now}
		k.resendPlanned(ctx, s, t.List, p, x.budget, r)
	}
	r.judgeReplies()
	return a.printAndExit(r, x)
}

// nonNil returns a copy of a list that is not nil: JSON shows it as a list even when it is
// empty.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }

// sayCost prints what a check will cost, before anything is sent.
func (a *app) sayCost(r *driftReport, p resendPlan) {
	most := 0
	for _, t := range p.send {
		most += max(t.Most, t.Output)
	}
	a.Note("%s: %s to send, about %d tokens as they were recorded, at most %d of output as the requests allow; %d left out",
		r.Cassette, cli.Count(len(p.send), "request", "requests"), p.totalTokens(), most, len(p.skip))
	if r.Provenance != cassette.ProvenanceLive {
		a.Say("%s: is %s, no recording of the provider itself; what differs may be the stand-in's", r.Cassette,
			r.Provenance)
	}
}

// resendPlanned sends the planned requests, one after the other, until the budget is spent.
// Replies are redacted before anything is kept of them.
func (k *modeEnv) resendPlanned(ctx context.Context, s *sender, list []cassette.Interaction, p resendPlan, b budget,
	r *driftReport) {
	for _, t := range p.send {
		old := list[t.Interaction]
		if r.spent > b.tokens || ctx.Err() != nil {
			r.Skipped = append(r.Skipped, leftOut{t.Interaction, "the budget was spent, or the check interrupted"})
			continue
		}
		fresh, err := s.resendRequest(ctx, old.Request)
		fresh = k.Redactor.Interaction(fresh)
		input, output := event.Tokens(event.Of(fresh))
		r.spent += cmp.Or(input+output, t.Input+len(fresh.Response.Body)/4)
		switch {
		case err != nil && fresh.Response.Status == 0:
			r.addInconclusive(t, "no reply: "+k.Redactor.Text(err.Error()))
		case err != nil:
			r.addInconclusive(t, "the reply broke off: "+k.Redactor.Text(err.Error()))
		case event.Inconclusive(fresh.Response.Status):
			r.addInconclusive(t, "was answered with "+numberText(fresh.Response.Status))
		default:
			r.Checked = append(r.Checked, checkedReply{t.Interaction, fresh.Response.Status, input + output,
				TimesOf(old, fresh)})
			r.pairs = append(r.pairs, event.Pair{Old: event.ReplyOf(old), New: event.ReplyOf(fresh)})
			r.numbers = append(r.numbers, t.Interaction)
			r.addNeglected(t, old, fresh)
		}
	}
}

func (r *driftReport) addInconclusive(t plannedRequest, reason string) {
	r.Inconclusive = append(r.Inconclusive, leftOut{t.Interaction, reason})
}

func (r *driftReport) judgeReplies() {
	r.Summary = map[string]int{}
	for _, name := range event.Severities() {
		r.Summary[name] = 0
	}
	for _, f := range event.Compare(r.pairs) {
		for i, pair := range f.Pairs {
			f.Pairs[i] = r.numbers[pair]
		}
		r.Findings = append(r.Findings, f)
	}
	slices.SortStableFunc(r.Findings, func(a, b event.Finding) int { return int(b.Severity) - int(a.Severity) })
	for _, f := range r.Findings {
		r.Summary[f.Severity.String()]++
	}
}

// printAndExit prints a report and ends with its exit code. A check that could not
// judge a single reply is not a success.
func (a *app) printAndExit(r *driftReport, x checkSettings) error {
	if x.json {
		if err := a.WriteJSON(r); err != nil {
			return err
		}
	} else {
		a.printReport(r)
	}
	worst, found := event.Worst(r.Findings)
	switch {
	case found && worst >= r.FailOn:
		return cli.Exit(ExitGate)
	case !r.DryRun && len(r.Checked) == 0:
		a.Say("%s: no reply could be judged", r.Cassette)
		return cli.Exit(ExitIncomplete)
	}
	return nil
}

func (a *app) printReport(r *driftReport) {
	w := a.Stdout
	if r.DryRun {
		for _, t := range r.Planned {
			fmt.Fprintf(w, "would send  #%d  %s %s, about %d + %d tokens\n", t.Interaction, t.Provider, t.Model,
				t.Input, t.Output)
		}
	}
	for _, group := range []struct {
		title string
		list  []leftOut
	}{{"left out", r.Skipped}, {"unclear", r.Inconclusive}} {
		for _, l := range group.list {
			fmt.Fprintf(w, "%-10s  #%d  %s\n", group.title, l.Interaction, Abbreviate(l.Reason))
		}
	}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%-10s  %s: %s", f.Severity, f.Group, FindingText(f))
		if len(f.Pairs) > 0 {
			line += " (" + interactionNumbers(f.Pairs) + ")"
		}
		fmt.Fprintln(w, line)
	}
	if !r.DryRun {
		fmt.Fprintf(w, "%s checked, about %d tokens: %d breaking, %d notable, %d cosmetic\n",
			cli.Count(len(r.Checked), "reply", "replies"),
			r.spent, r.Summary["breaking"], r.Summary["notable"], r.Summary["cosmetic"])
	}
}

// interactionNumbers names interactions.
func interactionNumbers(list []int) string {
	slices.Sort(list)
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = "#" + numberText(n)
	}
	return strings.Join(parts, " ")
}

func numberText(n int) string { return strconv.Itoa(n) }

// severities say how much drift it is when a provider begins to neglect a duty of servers.
var severities = map[specs.Consequence]event.Severity{
	specs.Crash: event.Breaking, specs.Wrong: event.Breaking, specs.Degraded: event.Notable,
	specs.Cosmetic: event.Cosmetic,
}

// neglectedDuties lists the duties of servers that a reply neglects, each once.
func neglectedDuties(provider string, in cassette.Interaction) (duties []*specs.Duty) {
	body, err := interchange.DecompressBody(in.Response.Header, in.Response.Body)
	if err != nil {
		return nil // a reply that cannot be read shows nothing
	}
	passes := rule.JudgeReply(&rule.Exchange{
		Wire: provider, Method: in.Request.Method, URL: in.Request.URL, RequestHeader: in.Request.Header,
		Request: in.Request.Body,
		Status:  in.Response.Status, Header: in.Response.Header, Body: body,
		Cut: in.End != "" && in.End != cassette.EndEOF,
	})
	for _, p := range passes {
		if len(p.Breaches) > 0 && !slices.ContainsFunc(duties, func(d *specs.Duty) bool { return d.ID == p.ID }) {
			duties = append(duties, p.Duty)
		}
	}
	return duties
}

// addNeglected adds the duties that the new reply neglects and the recorded one did not. The words
// are those of the duty: a report of drift holds nothing of what was said.
func (r *driftReport) addNeglected(t plannedRequest, old, fresh cassette.Interaction) {
	before := neglectedDuties(t.Provider, old)
	for _, d := range neglectedDuties(t.Provider, fresh) {
		if slices.ContainsFunc(before, func(b *specs.Duty) bool { return b.ID == d.ID }) {
			continue
		}
		f := event.Finding{Severity: severities[d.Consequence], Rule: "duty", Group: event.ReplyOf(fresh).Group,
			New: d.ID + ": " + d.Demand}
		at := slices.IndexFunc(r.Findings, func(o event.Finding) bool { return o.Group == f.Group && o.New == f.New })
		if at < 0 {
			at, r.Findings = len(r.Findings), append(r.Findings, f)
		}
		r.Findings[at].Pairs = append(r.Findings[at].Pairs, t.Interaction)
	}
}
