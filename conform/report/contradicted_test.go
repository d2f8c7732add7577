package report

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestContradicted holds for every combination that only the provider's own word, at
// its own host, excuses a breach that it is said to refuse. Whatever URL other
// evidence carries, it excuses nothing.
func TestContradicted(t *testing.T) {
	provenances := []evidence.Provenance{
		evidence.ProvenanceLive, evidence.ProvenanceForeign, evidence.ProvenanceSimulator, evidence.ProvenanceSynthetic,
		evidence.ProvenanceInjected, evidence.ProvenanceUndeclared, evidence.ProvenanceUnknown, "new",
	}
	urls := map[string]bool{ // own hosts
		"https://api.anthropic.com/v1/messages": true, "https://gateway.example.com/v1/messages": false,
		"http://127.0.0.1:8080/v1/messages": false, "https://api.anthropic.com.example.com/v1/messages": false,
		"http://api.anthropic.com/v1/messages": false,
	}
	replies := map[string]struct {
		status   int
		body     string
		accepted bool
	}{
		"answered":  {200, string(acceptedCall(0).Response.Body), true},
		"refused":   {400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, false},
		"empty":     {200, "", false},
		"not ours":  {200, "<html>", false},
		"failed":    {200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", false},
		"no answer": {0, "", false},
	}
	excused := 0
	for _, consequence := range specs.Consequences {
		for _, provenance := range provenances {
			for url, isOwn := range urls {
				for name, reply := range replies {
					for _, missed := range []bool{false, true} {
						x := acceptedCall(0)
						x.Provenance, x.Request.URL, x.Missed = provenance, url, missed
						x.Response.Status, x.Response.Body = reply.status, []byte(reply.body)
						res := Rule{requirement("SIG-001", consequence), check.Check{ID: "SIG-001/x", Run: found(1, check.Finding{Message: "m"})}}.
							Judge(check.Decode(&evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{x}}))
						isWord := provenance == evidence.ProvenanceLive || provenance == evidence.ProvenanceForeign
						want := Warn
						switch {
						case consequence == specs.Refused && isWord && isOwn && reply.accepted && !missed:
							want = Contradicted
							excused++
						case consequence.IsFailure():
							want = Fail
						}
						if res.Verdict != want || len(res.Findings) != 1 || res.Findings[0].Verdict != want {
							t.Errorf("%s, %q, %s, %s, missed %t: %s, want %s", consequence, provenance, url, name, missed, res.Verdict, want)
						}
					}
				}
			}
		}
	}
	if excused != 2 {
		t.Errorf("%d combinations excuse a breach, want live and foreign only", excused)
	}
}

// TestContradictedCountsForNothing holds that a contradicted finding neither reddens
// a recording nor makes it pass, and is counted.
func TestContradictedCountsForNothing(t *testing.T) {
	x := acceptedCall(0)
	x.Provenance = evidence.ProvenanceForeign
	rec := evidence.Recording{Path: "a", Evidence: evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{x}}}
	rule := func(id string, run func(*check.Trace) check.Result) Rule {
		return Rule{requirement(id, specs.Refused), check.Check{ID: id + "/x", Run: run}}
	}
	contradicted := rule("SIG-001", found(1, check.Finding{Check: "SIG-001/x", Message: "m"}))
	for _, c := range []struct {
		name    string
		rules   []Rule
		verdict Verdict
		exit    int
	}{
		{"alone it shows nothing", []Rule{contradicted, rule("SIG-002", found(0))}, Contradicted, ExitIncomplete},
		{"beside a pass", []Rule{contradicted, rule("SIG-002", found(1))}, Pass, ExitOK},
		{"beside a failure", []Rule{contradicted, rule("SIG-002", found(0, check.Finding{Check: "SIG-002/x", Message: "m", Exchange: 7}))}, Fail, ExitFailure},
	} {
		got := NewChecked(Tool{}, Policy{Strict: true, FailOn: Warn}, []Recording{JudgeRecording(c.rules, rec)})
		if got.Summary.Verdict != c.verdict || got.Summary.Exit != c.exit || got.Summary.Findings[Contradicted] != 1 {
			t.Errorf("%s: %s, exit %d, %v", c.name, got.Summary.Verdict, got.Summary.Exit, got.Summary.Findings)
		}
	}
}
