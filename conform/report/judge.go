package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
)

// Rule is one check together with the requirement it belongs to.
type Rule struct {
	Requirement specs.Requirement
	Check       check.Check
}

// RulesOf returns the requirements of a set with their checks, see [specs.Set]:
// [specs.CurrentSet] is the whole catalogue.
func RulesOf(set string) ([]Rule, error) {
	catalogue, err := specs.Requirements()
	if err != nil {
		return nil, err
	}
	if _, err := Rules(catalogue, check.All()); err != nil {
		return nil, err
	}
	if catalogue, err = specs.Set(set); err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, r := range catalogue {
		for _, id := range r.Checks {
			named[id] = true
		}
	}
	return Rules(catalogue, slices.DeleteFunc(check.All(), func(c check.Check) bool { return !named[c.ID] }))
}

// Rules pairs a catalogue with its checks, in the catalogue's order. Both must
// know the same ids: a requirement whose check does not exist would vanish from
// every report. Withdrawn requirements are left out.
func Rules(catalogue []specs.Requirement, checks []check.Check) ([]Rule, error) {
	byID := map[string]check.Check{}
	for _, c := range checks {
		byID[c.ID] = c
	}
	var rules []Rule
	var errs []error
	for _, r := range catalogue {
		for _, id := range r.Checks {
			c, ok := byID[id]
			switch {
			case !ok:
				errs = append(errs,
					fmt.Errorf("%s: check %s does not exist; write it or correct the catalogue%s", r.ID, id,
						spelling.Hint(id, slices.Collect(maps.Keys(byID)))))
			case r.Status != specs.Withdrawn:
				rules = append(rules, Rule{r, c})
			}
			delete(byID, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		errs = append(errs, fmt.Errorf("%s: no requirement names this check; add it to the catalogue", id))
	}
	return rules, errors.Join(errs...)
}

// sideOfSource marks findings about the source of replies.
const sideOfSource = "source"

// ServerRules returns the rules by which recordings are judged where the server is the subject: one
// for each duty of servers that a reply shows.
func ServerRules() []Rule {
	rules := dutyRules(check.OfDuties(true))
	for i := range rules {
		rules[i].Requirement.Judges, rules[i].Check.Source = specs.JudgesServer, false
	}
	return rules
}

// SourceRules returns the rules about the source of replies for which no requirement of the
// catalogue stands. Their findings are warnings beside the verdict of an agent.
func SourceRules() []Rule {
	rules := dutyRules(check.OfDuties(false))
	for i := range rules {
		rules[i].Requirement.Consequence = specs.Degraded
	}
	return rules
}

func dutyRules(checks []check.Check) (rules []Rule) {
	for _, c := range checks {
		if d := specs.FindDuty(strings.TrimSuffix(c.ID, specs.DutyAspect)); d != nil {
			rules = append(rules, Rule{d.Requirement(), c})
		}
	}
	return rules
}

// TeamRules pairs a team's own rules with their checks.
func TeamRules(list []specs.TeamRule) (rules []Rule) {
	for _, r := range list {
		for _, c := range check.OfTeamRule(r) {
			rules = append(rules, Rule{r.Requirement, c})
		}
	}
	return rules
}

// Result is the verdict of one check on one case.
type Result struct {
	Requirement string `json:"requirement"`
	// Consequence is the worst of the findings; without findings the requirement's.
	Consequence specs.Consequence `json:"consequence"`
	Check       string            `json:"check"`
	// OfSource is set for a check of the replies as they were sent and recorded: it
	// says nothing about the agent, and its pass is none of the agent's.
	OfSource bool   `json:"of_source,omitempty"`
	Case     string `json:"case"`
	// Provider is whose traffic was judged; several are joined with commas.
	Provider string  `json:"provider,omitempty"`
	Verdict  Verdict `json:"verdict"`
	// Observed counts the places where the rule could have been broken.
	Observed int       `json:"observed"`
	Findings []Finding `json:"findings"`
	// Reason says why, for a verdict that is not about findings.
	Reason string `json:"reason,omitempty"`
	// Evidence is where what was judged can be looked at, e.g. a cassette.
	Evidence string `json:"evidence,omitempty"`
	// DurationMS is how long the case ran, without the time of judging it.
	DurationMS int64 `json:"duration_ms,omitempty"`
	// Runs counts the verdicts of a case that was run several times.
	Runs Counts `json:"runs,omitempty"`
	// Excused is what the verdict would be without the baseline, "" where the baseline
	// does not speak of the result.
	Excused Verdict `json:"excused,omitempty"`
}

// Area is the part of the requirement's id before the dash.
func (r Result) Area() string {
	area, _, _ := strings.Cut(r.Requirement, "-")
	return area
}

// Judge decodes ev once and judges it by every rule; the results are in the
// order of rules.
func Judge(rules []Rule, ev *evidence.Evidence) []Result { return JudgeTrace(rules, check.Decode(ev)) }

// JudgeTrace is [Judge] for evidence that is decoded already.
func JudgeTrace(rules []Rule, trace *check.Trace) []Result {
	results := make([]Result, len(rules))
	providers := trace.Providers()
	for i := range rules {
		results[i] = rules[i].judge(trace, providers)
	}
	explainRefusals(results)
	return results
}

// Judge runs the check on one case. A check that panics is a harness error, not
// a breach.
func (r Rule) Judge(trace *check.Trace) Result { return r.judge(trace, trace.Providers()) }

func (r *Rule) judge(trace *check.Trace, providers []string) (res Result) {
	res = r.NewResult(trace.Case())
	res.Provider = strings.Join(providers, ",")
	facts := decide.Facts{Inapplicable: r.notApplicable(string(trace.Source()), providers)}
	defer func() {
		if p := recover(); p != nil {
			facts.Fault = fmt.Sprintf("the check panicked: %v", p)
		}
		res.Verdict, res.Reason = decide.Decide(facts)
	}()
	if facts.Inapplicable != "" {
		return res
	}
	seen := r.Check.Run(trace)
	for _, f := range seen.Findings {
		f.Answer = trace.AnswerTo(int(f.Exchange))
		if r.Check.Source && trace.IsScripted(int(f.Exchange)) {
			f.Message += "; the simulator or a scenario sent this reply on purpose"
		}
		if found := r.NewFinding(f, trace.PlaceOf(int(f.Exchange))); found.Consequence != specs.None {
			res.Findings = append(res.Findings, found)
		}
	}
	res.Findings = mergePlaces(res.Findings)
	res.setConsequence()
	res.Observed = seen.Observed
	facts.Findings, facts.Observed, facts.Unseen = res.Findings, seen.Observed, seen.Unseen
	return res
}

// NewFinding judges what a check found at a place. Where the rule does not hold, the
// consequence is [specs.None].
func (r Rule) NewFinding(f Finding, at specs.Place) Finding {
	at.Check = r.Check.ID
	consequence := r.Requirement.ConsequenceAt(at)
	if consequence != specs.None {
		consequence = cmp.Or(f.Consequence, consequence)
	}
	f.Requirement, f.Consequence = r.Requirement.ID, consequence
	if consequence != specs.Refused {
		f.Answer = decide.AnswerNone
	}
	if f.Answer == decide.AnswerSimulated {
		f.Message += "; our simulator answered 200"
	}
	f.Verdict = decide.Breach(consequence, f.Answer, false)
	if r.Check.Source {
		f.Side = sideOfSource
	}
	return f
}

// NewResult is a result of r without verdict and findings.
func (r Rule) NewResult(name string) Result {
	return Result{
		Requirement: r.Requirement.ID, Consequence: r.Requirement.Consequence,
		Check: r.Check.ID, OfSource: r.Check.Source, Case: name, Findings: []Finding{},
	}
}

// setConsequence takes over the worst one of the findings.
func (r *Result) setConsequence() {
	for i, f := range r.Findings {
		if i == 0 || f.Consequence.Severity() > r.Consequence.Severity() {
			r.Consequence = f.Consequence
		}
	}
}

// judgeAgain gives the verdict anew with more facts than were known before.
func (r *Result) judgeAgain(f decide.Facts) {
	f.Was, f.Why = r.Verdict, r.Reason
	r.Verdict, r.Reason = decide.Decide(f)
}

// notApplicable says why the requirement does not speak of a case, "" when it
// does.
func (r *Rule) notApplicable(source string, providers []string) string {
	applies := &r.Requirement.Applies
	if len(applies.Source) > 0 && !slices.Contains(applies.Source, source) {
		return fmt.Sprintf("does not apply to evidence from a %s", source)
	}
	if len(providers) > 0 && !slices.ContainsFunc(providers,
		func(p string) bool { return r.Requirement.AppliesTo(p, source) }) {
		return "does not apply to " + strings.Join(providers, ", ")
	}
	return ""
}

// applyBaseline gives the verdict known-fail to results that the baseline excuses, and
// says of each entry what it was good for. It excuses failures and warnings; of what
// was not testable only what a known failure kept from being seen; nothing that the
// harness did.
func (r *Run) applyBaseline() {
	for i := range r.Baseline {
		used := &r.Baseline[i]
		*used = UsedExcuse{Excuse: used.Excuse}
		facts := decide.EntryFacts{
			Partial:  r.Shard != nil || r.Interrupted || r.Guard != "",
			Narrowed: r.Filter != "", Flaky: used.Flaky, Repeated: r.Repeat > 1,
		}
		if string(used.Expires) <= r.Started.UTC().Format(time.DateOnly) {
			facts.Expired = string(used.Expires)
		} else {
			used.Results = r.excuseResults(used.Excuse)
			facts.Excused, facts.Fails = used.Results, r.failsOtherwise(used.Pattern)
			facts.InScope = used.Results > 0 || r.playsPattern(used.Pattern)
		}
		used.Verdict, used.Problem = decide.Entry(facts)
	}
}

// failsOtherwise reports whether what a pattern names fails, in a way that its entry
// does not excuse.
func (r *Run) failsOtherwise(pattern string) bool {
	return slices.ContainsFunc(r.Results, func(res Result) bool {
		return (res.Verdict == Flaky || res.Verdict == Fail) && res.Check != "" &&
			matchesName(pattern, res.Check, res.Case)
	})
}

// excuseResults excuses what e fits and returns how many results that are.
func (r *Run) excuseResults(e Excuse) (count int) {
	failed := map[string]bool{} // cases of which e excuses a failure
	excuse := func(fits func(Result, Verdict) bool) {
		for i := range r.Results {
			res := &r.Results[i]
			verdict := cmp.Or(res.Excused, res.Verdict)
			if res.Check == "" || !fits(*res, verdict) {
				continue
			}
			res.Excused = verdict
			res.judgeAgain(decide.Facts{Known: true})
			failed[res.Case] = true
			count++
		}
	}
	excuse(func(res Result, v Verdict) bool { return e.fitsVerdict(v, len(res.Runs) > 0) && e.names(res) })
	excuse(func(res Result, v Verdict) bool {
		return v == NotTestable && failed[res.Case] && (e.EndsCase || e.names(res))
	})
	return count
}

// names reports whether the pattern of e names a result.
func (e Excuse) names(res Result) bool { return matchesName(e.Pattern, res.Check, res.Case) }

// fitsVerdict reports whether e excuses a verdict. A breach that is listed as flaky has to
// occur in some runs and to be absent in others, where there were several.
func (e Excuse) fitsVerdict(v Verdict, wasRepeated bool) bool {
	if v == Flaky {
		return e.Flaky
	}
	return (v == Fail || v == Warn) && (!e.Flaky || !wasRepeated)
}

// ExcuseOf returns the entry that excuses a result.
func (r *Run) ExcuseOf(res Result) (Excuse, bool) {
	for _, used := range r.Baseline {
		if res.Verdict == KnownFail && used.Verdict == KnownFail &&
			(used.names(res) || res.Excused == NotTestable && r.endsCase(used.Excuse, res.Case)) {
			return used.Excuse, true
		}
	}
	return Excuse{}, false
}

// endsCase reports whether e excuses a failure that ended a case early.
func (r *Run) endsCase(e Excuse, name string) bool {
	return e.EndsCase && slices.ContainsFunc(r.Results, func(res Result) bool {
		return res.Case == name && res.Verdict == KnownFail && res.Excused != NotTestable && e.names(res)
	})
}

// playsPattern reports whether a pattern names a check of the run's set and a case that was
// run.
func (r *Run) playsPattern(pattern string) bool {
	for _, id := range r.Set.Requirements {
		requirement, err := specs.FindRequirement(id)
		if err != nil {
			continue
		}
		for _, check := range requirement.Checks {
			if slices.ContainsFunc(r.Cases,
				func(c CaseSummary) bool { return c.Reason == "" && matchesName(pattern, check, c.Name) }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.Results,
		func(res Result) bool { return res.Check != "" && matchesName(pattern, res.Check, res.Case) })
}

// withoutExcuses returns results as they were before a baseline was applied.
func withoutExcuses(results []Result) []Result {
	results = slices.Clone(results)
	for i := range results {
		if res := &results[i]; res.Excused != "" {
			res.Verdict, res.Excused = res.Excused, ""
		}
	}
	return results
}
