package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/schemas"
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
		"answered": {200, string(acceptedCall(0).Response.Body), true},
		"refused":  {400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, false},
		"empty":    {200, "", false},
		"not ours": {200, "<html>", false},
		"failed": {200,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", false},
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
						res := Rule{requirement("SIG-001", consequence),
							check.Check{ID: "SIG-001/x", Run: found(1, check.Finding{Message: "m"})}}.
							Judge(check.Decode(&evidence.Evidence{Source: evidence.SourceRecording,
								Exchanges: []evidence.Exchange{x}}))
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
							t.Errorf("%s, %q, %s, %s, missed %t: %s, want %s", consequence, provenance, url, name,
								missed, res.Verdict, want)
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

// TestOutcome holds what a report says of a request that a rule says is refused: whether it
// was, whether a recording says that it was accepted, and where to declare that.
func TestOutcome(t *testing.T) {
	const own, other = "https://api.anthropic.com/v1/messages", "https://gateway.example.com/v1/messages"
	rule := Rule{requirement("SIG-001", specs.Refused),
		check.Check{ID: "SIG-001/x", Run: found(1, check.Finding{Check: "SIG-001/x", Message: "cut after byte 4"})}}
	words := `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`
	for _, c := range []struct {
		name       string
		provenance evidence.Provenance
		url        string
		status     int
		verdict    Verdict
		printed    string
		answer     decide.Answer
	}{
		{"refused", evidence.ProvenanceUndeclared, own, 400, Fail, "(refused)", decide.AnswerRefused},
		{"refused by our simulator", evidence.ProvenanceSimulator, own, 400, Fail, "(refused)", decide.AnswerRefused},
		{"refused by a gateway", evidence.ProvenanceUndeclared, other, 400, Fail, "(refused)", decide.AnswerRefused},
		{"too many requests", evidence.ProvenanceUndeclared, own, 429, Fail, "(would be refused)", decide.AnswerNone},
		{"a refusal that was put in", evidence.ProvenanceInjected, own, 400, Fail, "(would be refused)",
			decide.AnswerNone},
		{"accepted, live", evidence.ProvenanceLive, own, 200, Contradicted, "(refused)", decide.AnswerAccepted},
		{"accepted, declared", evidence.ProvenanceForeign, own, 200, Contradicted, "(refused)", decide.AnswerAccepted},
		{"accepted, not declared", evidence.ProvenanceUndeclared, own, 200, Fail,
			"(would be refused; accepted in this recording)", decide.AnswerRecorded},
		{"accepted by another host", evidence.ProvenanceUndeclared, other, 200, Fail, "(would be refused)",
			decide.AnswerNone},
		{"accepted by our simulator", evidence.ProvenanceSimulator, own, 200, Fail, "(would be refused)",
			decide.AnswerSimulated},
		{"scripted", evidence.ProvenanceSynthetic, own, 200, Fail, "(would be refused)", decide.AnswerNone},
		{"put in", evidence.ProvenanceInjected, own, 200, Fail, "(would be refused)", decide.AnswerNone},
		{"no answer", evidence.ProvenanceUndeclared, own, 0, Fail, "(would be refused)", decide.AnswerNone},
	} {
		x := acceptedCall(0)
		x.Provenance, x.Request.URL, x.Response.Status = c.provenance, c.url, c.status
		if c.status != 200 {
			x.Response.Body = []byte(words)
		}
		rec := JudgeRecording([]Rule{rule}, evidence.Recording{Path: "a",
			Evidence: evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{x}}})
		report := NewChecked(Tool{Name: "conform", Version: "1"}, Policy{FailOn: Fail}, []Recording{rec})
		f := report.Recordings[0].Findings[0]
		if f.Verdict != c.verdict || f.Answer != c.answer ||
			strings.HasSuffix(f.Message, "; our simulator answered 200") != (c.answer == decide.AnswerSimulated) {
			t.Errorf("%s: %+v", c.name, f)
		}
		var text, markdown, doc bytes.Buffer
		NewTerminal(&text, false).Checked(report)
		if err := cmp.Or(report.WriteMarkdown(&markdown), WriteJSON(&doc, report),
			schemas.Validate(schemas.Check, doc.Bytes())); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var back Checked
		if err := json.Unmarshal(doc.Bytes(), &back); err != nil || back.Recordings[0].Findings[0].Answer != c.answer {
			t.Errorf("%s: read back as %+v, %v", c.name, back.Recordings, err)
		}
		for form, said := range map[string]string{"terminal": text.String(), "markdown": markdown.String()} {
			if !strings.Contains(said, c.printed) ||
				strings.Contains(said, "--foreign") != (c.answer == decide.AnswerRecorded) {
				t.Errorf("%s, %s: want %s\n%s", c.name, form, c.printed, said)
			}
		}
	}
}

// TestRefusedIsApart holds that a breach that was refused in one request and not in another is
// two findings, and that those that were not refused are one.
func TestRefusedIsApart(t *testing.T) {
	x := []evidence.Exchange{acceptedCall(0), acceptedCall(1), acceptedCall(2)}
	x[0].Response = evidence.Response{Status: 503}
	x[1].Provenance = evidence.ProvenanceUndeclared
	x[2].Response = evidence.Response{Status: 400, Body: []byte(`{"error":{"message":"no"}}`)}
	var list []check.Finding
	for i := range x {
		list = append(list, check.Finding{Check: "SIG-001/x", Exchange: decide.Ordinal(i), Message: "m"})
	}
	got := Rule{requirement("SIG-001", specs.Refused), check.Check{ID: "SIG-001/x", Run: found(3, list...)}}.
		Judge(check.Decode(&evidence.Evidence{Source: evidence.SourceRecording, Exchanges: x})).Findings
	if len(got) != 2 || got[0].Answer != decide.AnswerRecorded || len(got[0].Places) != 1 ||
		got[1].Answer != decide.AnswerRefused {
		t.Errorf("%+v", got)
	}
}

// TestContradictedCountsForNothing holds that a contradicted finding neither reddens
// a recording nor makes it pass, and is counted.
func TestContradictedCountsForNothing(t *testing.T) {
	x := acceptedCall(0)
	x.Provenance = evidence.ProvenanceForeign
	rec := evidence.Recording{Path: "a",
		Evidence: evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{x}}}
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
		{"beside a failure", []Rule{contradicted,
			rule("SIG-002", found(0, check.Finding{Check: "SIG-002/x", Message: "m", Exchange: 7}))}, Fail,
			ExitFailure},
	} {
		got := NewChecked(Tool{}, Policy{Strict: true, FailOn: Warn}, []Recording{JudgeRecording(c.rules, rec)})
		if got.Summary.Verdict != c.verdict || got.Summary.Exit != c.exit || got.Summary.Findings[Contradicted] != 1 {
			t.Errorf("%s: %s, exit %d, %v", c.name, got.Summary.Verdict, got.Summary.Exit, got.Summary.Findings)
		}
	}
}
