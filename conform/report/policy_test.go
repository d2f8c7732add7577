package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

func TestPolicy(t *testing.T) {
	pass := Result{Requirement: "ORD-001", Verdict: Pass, Observed: 2, Findings: []Finding{}}
	warn := Result{Requirement: "SIG-001", Verdict: Warn, Observed: 1,
		Findings: []Finding{finding("SIG-001", specs.Degraded, breach)}}
	unseen := Result{Requirement: "STR-001", Verdict: NotTestable, Findings: []Finding{}}
	for _, c := range []struct {
		name    string
		policy  Policy
		results []Result
		verdict Verdict
		exit    int
		text    string
	}{
		{"none", Policy{}, []Result{pass, warn}, Warn, ExitOK, "WARN 2 of 3 requirements seen, 1 not seen"},
		{"strict", Policy{Strict: true}, []Result{pass, warn}, Fail, ExitFailure, "FAIL 2 of 3 requirements seen"},
		{"warnings fail", Policy{FailOn: Warn}, []Result{pass, warn}, Warn, ExitFailure, "WARN 2 of 3"},
		{"warnings fail over what is not testable", Policy{FailOn: Warn}, []Result{unseen, warn}, NotTestable,
			ExitFailure, "NOT-TESTABLE 1 of 3"},
		{"nothing to fail on", Policy{FailOn: Warn, Strict: true}, []Result{pass}, Pass, ExitOK,
			"PASS 1 of 3 requirements seen, 2 not seen"},
		{"required and seen", Policy{Require: []string{"ORD-001"}}, []Result{pass}, Pass, ExitOK, "PASS 1 of 3"},
		{"required and not shown", Policy{Require: []string{"STR-001"}}, []Result{pass, unseen}, Fail, ExitFailure,
			"STR-001  required, and nothing shows it"},
		{"required and not selected", Policy{Require: []string{"MOD-001"}}, []Result{pass}, Fail, ExitFailure,
			"MOD-001  required, and nothing shows it"},
	} {
		r := Run{Policy: c.policy, Set: Set{Requirements: []string{"ORD-001", "SIG-001", "STR-001"}},
			Calls: &Calls{Made: 1, Accepted: 1}}
		// The set is only counted here; what it lacks is not added.
		run := NewRun(Run{Policy: r.Policy, Calls: r.Calls}, c.results)
		run.Summary = newSummary(run.Results, r.Set.Requirements, r.Policy)
		for _, res := range run.Results {
			run.Summary.Counts[res.Verdict]++
		}
		run.Summary.conclude(r.Policy, decide.ReportFacts{})
		var text bytes.Buffer
		NewTerminal(&text, false).Run(run)
		if run.Summary.Verdict != c.verdict || run.Summary.Exit != c.exit || !strings.Contains(text.String(), c.text) {
			t.Errorf("%s: %s, exit %d\n%s", c.name, run.Summary.Verdict, run.Summary.Exit, text.String())
		}
	}
}

func TestParseRequired(t *testing.T) {
	catalogue := []specs.Requirement{{ID: "ORD-001"}, {ID: "SIG-001"}, {ID: "SIG-002"},
		{ID: "SIG-003", Status: specs.Withdrawn}}
	got, err := ParseRequired([]string{"sig", "ORD-001", "SIG-001"}, catalogue)
	if err != nil || strings.Join(got, " ") != "ORD-001 SIG-001 SIG-002" {
		t.Error(got, err)
	}
	for _, unknown := range []string{"SGI", "SIG-004", "SIG-003", ""} {
		if _, err := ParseRequired([]string{unknown}, catalogue); err == nil ||
			!strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v", unknown, err)
		}
	}
}

// TestNothingPassesWithoutAnAcceptedCall holds for runs and recordings, and that the
// reason quotes the provider.
func TestNothingPassesWithoutAnAcceptedCall(t *testing.T) {
	pass := Result{Requirement: "ORD-001", Verdict: Pass, Observed: 2}
	for _, c := range []struct {
		calls *Calls
		want  Verdict
	}{{&Calls{Made: 3, Accepted: 1}, Pass}, {&Calls{Made: 3, Accepted: 0}, NotTestable}, {&Calls{}, NotTestable},
		{nil, Pass}} {
		if got := NewRun(Run{Calls: c.calls}, []Result{pass}).Summary.Verdict; got != c.want {
			t.Errorf("%+v: %s", c.calls, got)
		}
	}
	rules := []Rule{{requirement("ORD-001", specs.Refused), check.Check{ID: "ORD-001/a", Run: found(1)}}}
	refused := acceptedCall(0)
	refused.Response.Status = 401
	refused.Response.Body = []byte(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	silent := acceptedCall(0)
	silent.Response = evidence.Response{}
	other := acceptedCall(0)
	other.Request.URL = "https://api.anthropic.com/v1/messages/count_tokens"
	for name, c := range map[string]struct {
		x      []evidence.Exchange
		want   Verdict
		reason string
	}{
		"accepted": {[]evidence.Exchange{refused, acceptedCall(1)}, Pass, ""},
		"refused": {[]evidence.Exchange{refused}, NotTestable,
			`no call was accepted (1 made): request 0 was refused (401, key): invalid x-api-key`},
		"never":        {[]evidence.Exchange{silent}, NotTestable, "no call was accepted (1 made)"},
		"no call":      {[]evidence.Exchange{other}, NotTestable, "no call of a model was made"},
		"body unknown": {[]evidence.Exchange{withoutBody(acceptedCall(0))}, Pass, ""},
	} {
		rec := JudgeRecording(rules, evidence.Recording{Path: "a",
			Evidence: evidence.Evidence{Source: evidence.SourceRecording, Exchanges: c.x}})
		if rec.Verdict != c.want || rec.Reason != c.reason {
			t.Errorf("%s: %s, %q", name, rec.Verdict, rec.Reason)
		}
		checked := NewChecked(Tool{}, Policy{}, []Recording{rec})
		if (checked.Summary.Exit == ExitOK) != (c.want == Pass) ||
			(checked.Summary.Coverage.Seen == 1) != (c.want == Pass) {
			t.Errorf("%s: %+v", name, checked.Summary)
		}
	}
}

func withoutBody(x evidence.Exchange) evidence.Exchange {
	x.Response.Body = nil
	return x
}

// TestOneCauseOneFinding holds that a breach that history repeats, or a habit, is one
// finding with its other places, and that other sentences, rules and consequences stay
// apart.
func TestOneCauseOneFinding(t *testing.T) {
	at := func(x int, form, message, rule string) check.Finding {
		return check.Finding{Check: "SIG-001/a", Exchange: decide.Ordinal(x), Event: -1, Offset: 10,
			Path: "messages[1]", Form: form, Message: message, Rule: rule}
	}
	degraded := at(9, "call %s is lost", "call a is lost", "A-1")
	degraded.Consequence = specs.Degraded
	res := Rule{requirement("SIG-001", specs.Refused), check.Check{ID: "SIG-001/a", Run: found(5,
		at(1, "call %s is lost", "call a is lost", "A-1"), at(2, "call %s is lost", "call a is lost", "A-1"),
		at(3, "call %s is lost", "call b is lost", "A-1"),
		at(3, "call %s is new", "call a is new", "A-1"), at(4, "call %s is lost", "call a is lost", "A-2"), degraded)}}.
		Judge(check.Decode(&evidence.Evidence{Exchanges: []evidence.Exchange{acceptedCall(0)}}))
	if len(res.Findings) != 4 || res.Verdict != Fail {
		t.Fatalf("%d findings, %s", len(res.Findings), res.Verdict)
	}
	want := []Place{{Exchange: 2, Event: -1, Offset: 10, Path: "messages[1]"},
		{Exchange: 3, Event: -1, Offset: 10, Path: "messages[1]", Message: "call b is lost"}}
	if got := res.Findings[0].Places; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestFindingJSON holds that a finding survives JSON and that ordinals which do not
// apply are left out.
func TestFindingJSON(t *testing.T) {
	process := finding("MOD-003", specs.Unsafe, check.Finding{Check: "MOD-003/a", Exchange: -1, Event: -1, Offset: -1,
		Path: "process[0]", Message: "exited 0"})
	full := finding("SIG-001", specs.Refused, breach)
	full.Emitted = &Place{Exchange: 0, Event: -1, Offset: 5}
	full.Places = []Place{{Exchange: 2, Event: -1, Offset: -1, Path: "x", Message: "again"}}
	for _, f := range []Finding{process, full} {
		text, err := json.Marshal(f)
		if err != nil || strings.Contains(string(text), "-1") {
			t.Errorf("%s %v", text, err)
		}
		var back Finding
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, f) {
			t.Errorf("%+v\n%+v\n%v", back, f, err)
		}
	}
}

// Where no case was written for what is asked, what the cases show all the same is counted.
func TestCoverageOfWhatNoCaseIsFor(t *testing.T) {
	sums := tallies{}
	sums.add(&Result{Requirement: "WSK-001", Verdict: Pass, Observed: 2})
	sums.add(&Result{Requirement: "WSK-002", Verdict: NotTestable})
	if got := sums.coverage(nil, nil).String(); got != "1 of 1 requirements seen, 0 not seen" {
		t.Error(got)
	}
	if got := sums.coverage([]string{"SIG-001"}, nil).String(); got != "0 of 1 requirements seen, 1 not seen" {
		t.Error(got)
	}
}
