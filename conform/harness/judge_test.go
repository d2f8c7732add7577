package harness

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// constantRule is one whose check always says the same.
func constantRule(id string, consequence specs.Consequence, observed int, findings ...string) report.Rule {
	requirement, _, _ := strings.Cut(id, "/")
	r := check.Result{Observed: observed}
	for _, f := range findings {
		r.Findings = append(r.Findings, check.Finding{Check: id, Message: f})
	}
	return report.Rule{
		Requirement: specs.Requirement{ID: requirement, Consequence: consequence},
		Check:       check.Check{ID: id, Requirement: requirement, Run: func(*check.Trace) check.Result { return r }},
	}
}

func finishedRun(deviations ...string) CaseRun {
	return CaseRun{
		Permutation: Permutation{Source: evidence.SourceCassette, Case: Case{
			Scenario: &specs.Scenario{Name: "s", Requirements: []string{"ORD-001", "SIG-001", "SIG-002"}},
			Target:   specs.Target{Provider: "openai", Model: "m"},
		}},
		Name: "s/openai",
		Evidence: &evidence.Evidence{Source: evidence.SourceCassette, Case: "s/openai", Exchanges: []evidence.Exchange{
			{Provider: "openai"}, {Provider: "openai", Index: 1, Missed: true}}},
		Cassette: "openai/s.yaml", Deviations: deviations, Took: 7 * time.Millisecond,
	}
}

func TestJudge(t *testing.T) {
	other := constantRule("SIG-009/only-gemini", specs.Refused, 1, "never judged")
	other.Requirement.Applies.Provider = []string{"gemini"}
	rules := []report.Rule{
		constantRule("ORD-001/seen", specs.Refused, 3),
		constantRule("SIG-001/seen", specs.Refused, 1),
		constantRule("SIG-001/unseen-aspect", specs.Refused, 0),
		constantRule("SIG-002/unseen", specs.Refused, 0),
		constantRule("STR-001/not-covered", specs.Refused, 2),
		constantRule("STR-002/not-covered-unseen", specs.Refused, 0),
		constantRule("STR-003/advice", specs.Degraded, 1, "better not"),
		other,
	}
	wanted := map[string]report.Verdict{
		"ORD-001/seen": report.Pass, "SIG-001/seen": report.Pass, "SIG-002/unseen": report.NotTestable,
		"STR-001/not-covered": report.Pass, "STR-003/advice": report.Warn,
	}
	got := Judge(finishedRun(), rules)
	compareVerdicts(t, got, wanted)
	r := got["ORD-001/seen"]
	if r.Case != "s/openai" || r.Provider != "openai" || r.Evidence != "openai/s.yaml" || r.DurationMS != 7 {
		t.Errorf("%+v", r)
	}
}

func compareVerdicts(t *testing.T, got map[string]report.Result, want map[string]report.Verdict) {
	t.Helper()
	for id, r := range got {
		if want[id] != r.Verdict {
			t.Errorf("%s: %s (%s), want %q", id, r.Verdict, r.Reason, want[id])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d results, want %d", len(got), len(want))
	}
}

// TestExplainedDeviation holds that a finding explains why the case broke off, so
// that the rest is not blamed on the agent.
func TestExplainedDeviation(t *testing.T) {
	rules := []report.Rule{
		constantRule("ORD-001/fine", specs.Refused, 3),
		constantRule("SIG-001/broken", specs.Refused, 1, "the signature is gone"),
		constantRule("STR-001/not-covered", specs.Refused, 2),
	}
	got := Judge(finishedRun("request 1 was not recorded"), rules)
	compareVerdicts(t, got, map[string]report.Verdict{
		"ORD-001/fine": report.NotTestable, "SIG-001/broken": report.Fail, "STR-001/not-covered": report.Pass,
	})
	if why := got["ORD-001/fine"].Reason; !strings.Contains(why, "request 1 was not recorded") {
		t.Errorf("reason %q", why)
	}
}

// TestUnexplainedDeviation holds that a case that breaks off is never a success.
func TestUnexplainedDeviation(t *testing.T) {
	rules := []report.Rule{constantRule("STR-001/not-covered", specs.Refused, 1),
		constantRule("SIG-002/advice", specs.Degraded, 1), constantRule("SIG-001/fine", specs.Refused, 3),
		constantRule("ORD-001/fine", specs.Refused, 3)}
	got := Judge(finishedRun("request 1 was not recorded", "step 0 exited 1"), rules)
	compareVerdicts(t, got, map[string]report.Verdict{
		"STR-001/not-covered": report.Pass, "SIG-002/advice": report.NotTestable, "ORD-001/fine": report.Fail,
		"SIG-001/fine": report.NotTestable,
	})
	f := got["ORD-001/fine"].Findings
	if len(f) != 1 || f[0].Exchange != 1 || !strings.Contains(f[0].Message, "step 0 exited 1") ||
		f[0].Requirement != "ORD-001" {
		t.Errorf("%+v", f)
	}
}

func TestHarnessErrorIsNotTheAgents(t *testing.T) {
	run := finishedRun()
	run.Err, run.Evidence = errors.New("cassette is damaged"), nil
	got := Judge(run, []report.Rule{constantRule("ORD-001/a", specs.Refused, 1),
		constantRule("STR-001/b", specs.Refused, 1)})
	compareVerdicts(t, got, map[string]report.Verdict{"ORD-001/a": report.HarnessError})
	if got["ORD-001/a"].Reason != "cassette is damaged" {
		t.Errorf("%+v", got)
	}
}

// TestSimulatorExcusesNothing holds over the committed cassettes, which were recorded
// by MITM and carry the providers' own URLs, that what the simulator accepted never
// contradicts a rule.
func TestSimulatorExcusesNothing(t *testing.T) {
	refuse := report.Rule{
		Requirement: specs.Requirement{ID: "SIG-001", Consequence: specs.Refused},
		Check: check.Check{ID: "SIG-001/x", Run: func(trace *check.Trace) (r check.Result) {
			for _, x := range trace.Evidence().Exchanges {
				r.Findings = append(r.Findings,
					check.Finding{Check: "SIG-001/x", Exchange: decide.Ordinal(x.Index), Message: "refused"})
			}
			return r
		}},
	}
	judged := 0
	for _, found := range evidence.FindFS(cassettes.FS, "cassettes") {
		rec, err := found.Read()
		if err != nil {
			continue // no recording
		}
		for _, x := range rec.Evidence.Exchanges {
			if !x.IsOwnHost() {
				t.Errorf("%s: exchange %d is not at the provider's own host; this proves nothing", rec.Path, x.Index)
			}
		}
		rec.Evidence.Source = evidence.SourceCassette
		for _, res := range report.Judge([]report.Rule{refuse}, &rec.Evidence) {
			judged++
			if res.Verdict != report.Fail || res.Findings[0].Verdict != report.Fail {
				t.Errorf("%s: %s", rec.Path, res.Verdict)
			}
		}
	}
	if judged < 30 {
		t.Errorf("only %d cassettes were judged", judged)
	}
}

// TestOurFaultIsNotTheAgents holds that a reply of the cassette or the simulator that
// breaks its schema is an error of the harness that names it, and no verdict on the
// agent.
func TestOurFaultIsNotTheAgents(t *testing.T) {
	for _, c := range []struct{ cassette, want string }{
		{"openai/s.yaml",
			"cassettes/openai/s.yaml: the reply to request 0, document 0, breaks the schema openai.event: "},
		{"", "the simulator: the reply to request 0"},
	} {
		run := finishedRun()
		run.Cassette = c.cassette
		run.Evidence.Exchanges[0].Response = evidence.Response{Status: 200,
			Body: []byte(`{"object":"response","output":"hi"}`)}
		got := Judge(run, []report.Rule{constantRule("ORD-001/a", specs.Refused, 1, "broken"),
			constantRule("STR-001/b", specs.Refused, 1)})
		compareVerdicts(t, got, map[string]report.Verdict{"ORD-001/a": report.HarnessError})
		if why := got["ORD-001/a"].Reason; !strings.HasPrefix(why, c.want) ||
			!strings.Contains(why, "not of the agent") {
			t.Errorf("%q, want %q", why, c.want)
		}
		got = Judge(run, []report.Rule{constantRule("PAR-001/not-covered", specs.Refused, 1)})
		compareVerdicts(t, got, map[string]report.Verdict{"PAR-001/not-covered": report.HarnessError})
		run.Case.Scenario.Turns = []specs.Turn{{Grease: []specs.Grease{specs.GreaseEvent}}}
		got = Judge(run, []report.Rule{constantRule("ORD-001/a", specs.Refused, 1)})
		compareVerdicts(t, got,
			map[string]report.Verdict{"ORD-001/a": report.Pass}) // the scenario asks for what no schema knows
	}
}

// TestOrderedRepliesAreNotTheAgents holds that a stream which a scenario breaks on purpose
// is no finding of the agent that got it, while what the agent sent still is one.
func TestOrderedRepliesAreNotTheAgents(t *testing.T) {
	ofSource := constantRule("STR-003/a", specs.Degraded, 1, "message_start comes twice")
	ofSource.Check.Source = true
	rules := []report.Rule{ofSource, constantRule("ORD-001/a", specs.Refused, 1, "broken")}
	run := finishedRun()
	run.Source, run.Evidence.Source = evidence.SourceSimulator, evidence.SourceSimulator
	got, _ := judgeCalls(run, rules, false)
	compareVerdicts(t, got, map[string]report.Verdict{"ORD-001/a": report.Fail})
	run.Source = evidence.SourceCassette
	got, _ = judgeCalls(run, rules, false)
	compareVerdicts(t, got, map[string]report.Verdict{"STR-003/a": report.Warn, "ORD-001/a": report.Fail})
}

// TestOwnRulesBindRkat holds that the allowlist and the choice of a store bind only the
// agent that they were written for.
func TestOwnRulesBindRkat(t *testing.T) {
	own := []string{"MOD-003/no-traffic", "SIG-012/stateless"}
	rules := []report.Rule{constantRule(own[0], "unsafe", 1, "asked another model"),
		constantRule(own[1], "degraded", 1, "store is not false"),
		constantRule("SIG-012/asked-for", "degraded", 1, "lost")}
	ev := evidence.Evidence{Process: []evidence.Process{{Args: []string{"agent", "--model",
		"vendor/model-of-another-maker"}}}}
	run := CaseRun{Permutation: Permutation{Case: Case{Scenario: &specs.Scenario{Name: "s"},
		Target: specs.Target{Provider: "anthropic"}}, Source: evidence.SourceSimulator}, Evidence: &ev}
	for _, holdsAll := range []bool{true, false} {
		results, _ := judgeCalls(run, rules, holdsAll)
		for _, id := range own {
			if _, judged := results[id]; judged != holdsAll {
				t.Errorf("holds all %v: judged by %s: %v", holdsAll, id, judged)
			}
		}
		if _, judged := results["SIG-012/asked-for"]; !judged {
			t.Error("not judged by what binds every agent")
		}
	}
}
