package program

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

// Judge gives the verdicts on one performance by every rule that speaks of it,
// by check id. A check that saw nothing is left out, unless the scenario was
// written to show its requirement: then it is not testable, which is red.
//
// A performance that did not go as scripted proves less than it seems to. If a
// finding explains it, what else the scenario was to show is not testable; if
// none does, the first of these fails with what went wrong.
func Judge(done play.Performance, rules []report.Rule) map[string]report.Result {
	j := judgement{done: done, results: map[string]report.Result{}}
	for _, rule := range rules {
		if rule.Requirement.Applies.To(done.Play.Target.Provider, string(done.Source)) {
			j.rules = append(j.rules, rule)
		}
	}
	if done.Err != nil {
		j.broken()
		return j.results
	}
	j.see()
	j.doubt()
	return j.results
}

type judgement struct {
	done    play.Performance
	rules   []report.Rule
	results map[string]report.Result
}

func (j *judgement) claims(rule report.Rule) bool {
	for _, id := range j.done.Play.Scenario.Requirements {
		if id == rule.Requirement.ID {
			return true
		}
	}
	return false
}

// blank is a result without a verdict.
func (j *judgement) blank(rule report.Rule) report.Result {
	return j.dated(report.Result{
		Requirement: rule.Requirement.ID, Level: rule.Requirement.Level, Check: rule.Check.ID,
		Case: j.done.Case, Findings: []report.Finding{},
	})
}

func (j *judgement) dated(r report.Result) report.Result {
	r.Provider = j.done.Play.Target.Provider
	r.Evidence = j.done.Cassette
	r.DurationMS = j.done.Took.Milliseconds()
	return r
}

// broken: the harness failed, so nothing is said about the agent.
func (j *judgement) broken() {
	for _, rule := range j.rules {
		if j.claims(rule) {
			r := j.blank(rule)
			r.Verdict, r.Reason = report.HarnessError, j.done.Err.Error()
			j.results[rule.Check.ID] = r
		}
	}
}

// see runs every check and keeps what it is worth.
func (j *judgement) see() {
	shown := map[string]bool{} // requirements of which anything was seen
	for i, r := range report.Judge(j.rules, j.done.Evidence) {
		rule, r := j.rules[i], j.dated(r)
		j.results[rule.Check.ID] = r
		shown[rule.Requirement.ID] = shown[rule.Requirement.ID] || r.Observed > 0 || len(r.Findings) > 0
	}
	for _, rule := range j.rules {
		idle := j.results[rule.Check.ID].Verdict == report.NotTestable || j.results[rule.Check.ID].Verdict == report.NotApplicable
		if idle && (shown[rule.Requirement.ID] || !j.claims(rule)) {
			delete(j.results, rule.Check.ID)
		}
	}
}

// doubt takes back what a performance that broke off cannot prove.
func (j *judgement) doubt() {
	if len(j.done.Trouble) == 0 {
		return
	}
	why := "the play did not go as scripted: " + strings.Join(j.done.Trouble, "; ")
	culprit := j.culprit()
	for _, rule := range j.rules {
		r, ok := j.results[rule.Check.ID]
		switch {
		case !ok || len(r.Findings) > 0 || !j.claims(rule):
			continue
		case rule.Check.ID == culprit:
			r.Verdict, r.Findings = report.Fail, []report.Finding{j.finding(rule, why)}
		default:
			r.Verdict, r.Reason = report.NotTestable, why
		}
		j.results[rule.Check.ID] = r
	}
}

// culprit is the check that fails for trouble which no finding explains: one
// of the first MUST the scenario was written for.
func (j *judgement) culprit() string {
	for _, r := range j.results {
		if len(r.Findings) > 0 {
			return ""
		}
	}
	for _, id := range j.done.Play.Scenario.Requirements {
		for _, rule := range j.rules {
			if _, judged := j.results[rule.Check.ID]; judged && rule.Requirement.ID == id && rule.Requirement.Level == specs.Must {
				return rule.Check.ID
			}
		}
	}
	return ""
}

// finding blames the exchange that had no answer, if there is one.
func (j *judgement) finding(rule report.Rule, why string) report.Finding {
	f := check.Finding{
		Check: rule.Check.ID, Exchange: -1, Event: -1, Offset: -1, Message: why,
		Fix: "Compare the request with the recorded one; if the change is meant, record again with: make cassettes",
	}
	if j.done.Source == evidence.SourceSimulator {
		f.Fix = "Read what the simulator said of the request, and what docs/simulator-rules.md says of it"
	}
	for _, x := range j.done.Evidence.Exchanges {
		if x.Missed {
			f.Exchange = x.Index
			break
		}
	}
	return report.Finding{Requirement: rule.Requirement.ID, Level: rule.Requirement.Level, Finding: f}
}
