package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// Judge returns the verdicts of all rules that apply to a run, by check id. A
// check that saw nothing is left out, unless the scenario was written to show its
// requirement: then it is not testable, which is not a success.
//
// A run that deviated from the scenario proves less than it seems to. If a
// finding explains the deviation, the other requirements that the scenario covers
// are not testable. If no finding does, the first of them fails with the
// deviation as its finding.
func Judge(run CaseRun, rules []report.Rule) map[string]report.Result {
	results, _ := judgeCalls(run, rules, true)
	return results
}

// ownRules are requirements and checks that hold rkat to decisions of this project. Other
// agents may ask any model, for example a small one for titles, and let OpenAI keep their
// responses.
var ownRules = []string{"MOD-001", "MOD-003", "SIG-012/stateless"}

// judgeCalls is Judge, and counts the calls of the agent. An agent that does not hold
// all is not held to what the scenario was written to show.
func judgeCalls(run CaseRun, rules []report.Rule, holdsAll bool) (map[string]report.Result, report.Calls) {
	isScripted := run.Source != evidence.SourceLive
	j := judgement{run: run, holdsAll: holdsAll, holdsShown: holdsAll && isScripted, results: map[string]report.Result{}}
	for _, rule := range rules {
		if !holdsAll && (slices.Contains(ownRules, rule.Requirement.ID) || slices.Contains(ownRules, rule.Check.ID)) {
			continue
		}
		if rule.Requirement.AppliesTo(run.Case.Target.Provider, string(run.Source)) {
			j.rules = append(j.rules, rule)
		}
	}
	var trace *check.Trace
	if run.Err == nil {
		trace = check.Decode(run.Evidence)
		j.calls = report.Calls{Made: trace.Calls(), Accepted: trace.AcceptedCalls()}
		j.calls.Thinking, j.calls.Plain = trace.ThinkingCalls()
		j.run.Err = j.replyFault(trace)
	}
	if j.run.Err != nil {
		j.reportFault()
		return j.results, j.calls
	}
	j.applyRules(trace)
	switch {
	case run.Shortfall != "":
		j.takeBack(run.Shortfall)
	case len(run.Deviations) > 0:
		j.takeBack("the case did not go as scripted: " + strings.Join(run.Deviations, "; "))
	}
	return j.results, j.calls
}

type judgement struct {
	calls    report.Calls
	run      CaseRun
	holdsAll bool
	// holdsShown says that what the scenario was written to show must be seen.
	holdsShown bool
	rules      []report.Rule
	results    map[string]report.Result
}

func (j *judgement) covers(rule report.Rule) bool { return j.run.Case.covers(rule.Requirement.ID) }

// withRun returns r with what is known about the run.
func (j *judgement) withRun(r report.Result) report.Result {
	r.Provider = j.run.Case.Target.Provider
	r.Evidence = j.run.Cassette
	r.DurationMS = j.run.Took.Milliseconds()
	return r
}

// replyFault names the reply of ours that breaks its provider's schema. An agent that
// was answered wrongly cannot be judged.
func (j *judgement) replyFault(trace *check.Trace) error {
	broken := trace.BrokenReply()
	if broken == "" || j.run.Case.Scenario.HasGrease() {
		return nil // no schema knows what the scenario adds to be ignored
	}
	who := "the simulator"
	if j.run.Source == evidence.SourceLive {
		return nil // what a provider answers is its own affair
	}
	if j.run.Cassette != "" {
		who = "cassettes/" + j.run.Cassette
	}
	return fmt.Errorf("%s: %s; this is a fault of conform and not of the agent, please report it", who, broken)
}

// reportFault reports a fault of the harness for each rule that the case was written to show, or
// for the first of all: a fault of ours is never silent.
func (j *judgement) reportFault() {
	broken := slices.DeleteFunc(slices.Clone(j.rules), func(rule report.Rule) bool { return !j.covers(rule) })
	if len(broken) == 0 {
		broken = j.rules[:min(1, len(j.rules))]
	}
	for _, rule := range broken {
		j.decide(rule, rule.NewResult(j.run.Name), decide.Facts{Fault: j.run.Err.Error()})
	}
}

// decide keeps a result with the verdict that facts lead to.
func (j *judgement) decide(rule report.Rule, r report.Result, f decide.Facts) {
	f.Findings, f.Observed = r.Findings, r.Observed
	r.Verdict, r.Reason = decide.Decide(f)
	j.results[rule.Check.ID] = j.withRun(r)
}

// applyRules runs every check and keeps the results that say something.
func (j *judgement) applyRules(trace *check.Trace) {
	shown := map[string]bool{} // requirements of which anything was seen
	for i, r := range report.JudgeTrace(j.rules, trace) {
		rule, r := j.rules[i], j.withRun(r)
		if j.isOrdered(rule) && len(r.Findings) > 0 {
			continue
		}
		j.results[rule.Check.ID] = r
		shown[rule.Requirement.ID] = shown[rule.Requirement.ID] || r.Observed > 0 || len(r.Findings) > 0
	}
	for _, rule := range j.rules {
		verdict := j.results[rule.Check.ID].Verdict
		sawNothing := verdict == report.NotTestable || verdict == report.NotApplicable
		if sawNothing && (shown[rule.Requirement.ID] || !j.covers(rule) || !j.holdsShown) {
			delete(j.results, rule.Check.ID)
		}
	}
}

// isOrdered reports whether what the rule finds is what the scenario ordered: a broken
// stream of the simulator says nothing about an agent that runs every scenario.
func (j *judgement) isOrdered(rule report.Rule) bool {
	return rule.Check.Source && j.run.Source == evidence.SourceSimulator && !j.holdsAll
}

// takeBack decides anew what a run that fell short, or deviated, cannot prove. The deviation
// itself is a failure of an agent that holds all, and says nothing of what it was not to show.
// Of another agent it shows only that the case does not fit: nothing passes then. If nothing did
// and nothing was found, the first requirement of the scenario says so, because no case may vanish.
func (j *judgement) takeBack(why string) {
	isFault := j.holdsAll && j.run.Shortfall == ""
	failing := ""
	if isFault {
		failing = j.attribute()
	}
	facts := decide.Facts{Unproven: why, Unseen: why}
	for _, rule := range j.rules {
		r, isJudged := j.results[rule.Check.ID]
		hasPassed := r.Verdict == report.Pass
		isVoid := hasPassed || r.Verdict == report.NotTestable
		switch {
		case !isJudged || len(r.Findings) > 0 || isFault && !j.covers(rule) || !isFault && !isVoid:
		case j.run.Shortfall != "" && hasPassed && !j.covers(rule), !isFault && j.run.NotApplicable != "":
			delete(j.results, rule.Check.ID) // one reason need not be repeated for all that passed
		case rule.Check.ID == failing:
			r.Findings = []report.Finding{j.deviationFinding(rule, why)}
			j.decide(rule, r, decide.Facts{})
		case hasPassed || isFault:
			j.decide(rule, r, facts)
		}
	}
	for _, rule := range j.rules {
		if len(j.results) == 0 && j.covers(rule) && !isFault && j.run.NotApplicable == "" {
			j.decide(rule, rule.NewResult(j.run.Name), facts)
		}
	}
}

// attribute returns the check that fails for a deviation which no finding
// explains: one of the first requirement with failures that the scenario covers. It returns "" when a
// finding explains the deviation.
func (j *judgement) attribute() string {
	for _, r := range j.results {
		if len(r.Findings) > 0 {
			return ""
		}
	}
	for _, id := range j.run.Case.Scenario.Requirements {
		for _, rule := range j.rules {
			if _, judged := j.results[rule.Check.ID]; judged && rule.Requirement.ID == id && rule.Requirement.Consequence.IsFailure() {
				return rule.Check.ID
			}
		}
	}
	return ""
}

// deviationFinding points at the exchange that had no answer, if there is one.
func (j *judgement) deviationFinding(rule report.Rule, why string) report.Finding {
	f := check.Finding{
		Check: rule.Check.ID, Exchange: -1, Event: -1, Offset: -1, Message: why,
		Fix: "Compare the request with the recorded one; if the change is meant, record again with: make cassettes",
	}
	switch j.run.Source {
	case evidence.SourceLive:
		f.Fix = "Read what the provider answered; --record keeps the traffic, and recorder inspect shows it"
	case evidence.SourceSimulator:
		f.Fix = "Read what the simulator said of the request, and what docs/simulator-rules.md says of it"
	default:
	}
	for _, x := range j.run.Evidence.Exchanges {
		if x.Missed {
			f.Exchange = decide.Ordinal(x.Index)
			break
		}
	}
	return rule.NewFinding(f, specs.Place{Provider: j.run.Case.Target.Provider, Model: j.run.Case.Target.Model})
}
