package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/specs"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the difference, then run with -update\n%s", name, got)
	}
}

func requirement(id string, consequence specs.Consequence, checks ...string) specs.Requirement {
	return specs.Requirement{ID: id, Title: "t", Consequence: consequence, Status: specs.Stable, Checks: checks}
}

func finding(id string, consequence specs.Consequence, f check.Finding) Finding {
	return Rule{Requirement: specs.Requirement{ID: id, Consequence: consequence}}.NewFinding(f, specs.Place{})
}

func found(n int, findings ...check.Finding) func(*check.Trace) check.Result {
	return func(*check.Trace) check.Result { return check.Result{Observed: n, Findings: findings} }
}

var breach = check.Finding{
	Check: "SIG-001/signature-bytes", Exchange: 1, Event: 14, Offset: 3021, Path: "messages[3].content[0].signature",
	Rule: "A-34", Message: "differs <here>", Fix: "keep it",
	Compare: &decide.Comparison{Expected: "…abXcd…", Actual: "…abYcd…", Mark: 3, Differs: 420, ExpectedBytes: 424,
		ActualBytes: 424},
}

func TestRulesPairCatalogueAndChecks(t *testing.T) {
	withdrawn := requirement("ORD-002", specs.Refused, "ORD-002/a")
	withdrawn.Status = specs.Withdrawn
	catalogue := []specs.Requirement{requirement("ORD-001", specs.Refused, "ORD-001/a", "ORD-001/b"), withdrawn}
	checks := []check.Check{{ID: "ORD-001/b"}, {ID: "ORD-001/a"}, {ID: "ORD-002/a"}}
	rules, err := Rules(catalogue, checks)
	if err != nil || len(rules) != 2 || rules[0].Check.ID != "ORD-001/a" {
		t.Fatal(rules, err)
	}
	if _, err := Rules(catalogue, checks[1:]); err == nil ||
		!strings.Contains(err.Error(), "ORD-001: check ORD-001/b does not exist") {
		t.Error(err)
	}
	renamed := []check.Check{{ID: "ORD-001/bc"}, {ID: "ORD-001/a"}, {ID: "ORD-002/a"}}
	if _, err := Rules(catalogue, renamed); err == nil ||
		!strings.Contains(err.Error(), "correct the catalogue; did you mean ORD-001/bc?") {
		t.Error(err)
	}
	if _, err := Rules(catalogue, append(checks, check.Check{ID: "SIG-001/x"})); err == nil ||
		!strings.Contains(err.Error(), "SIG-001/x: no requirement names this check") {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	ev := &evidence.Evidence{Source: evidence.SourceRecording, Case: "c",
		Exchanges: []evidence.Exchange{{Provider: "openai"}, {Provider: "anthropic"}}}
	only := func(a specs.Applies) specs.Requirement {
		r := requirement("SIG-001", specs.Refused)
		r.Applies = a
		return r
	}
	for _, c := range []struct {
		name string
		req  specs.Requirement
		run  func(*check.Trace) check.Result
		want Verdict
		why  string
	}{
		{"held", requirement("SIG-001", specs.Refused), found(3), Pass, ""},
		{"broken must", requirement("SIG-001", specs.Refused), found(3, breach), Fail, ""},
		{"broken should", requirement("SIG-001", specs.Degraded), found(3, breach), Warn, ""},
		{"wasteful", requirement("SIG-001", specs.Wasteful), found(3, breach), Warn, ""},
		{"nothing seen", requirement("SIG-001", specs.Refused), found(0), NotTestable, "nothing was seen"},
		{"nothing seen of the wasteful", requirement("SIG-001", specs.Wasteful), found(0), NotTestable,
			"nothing was seen"},
		{"other provider", only(specs.Applies{Provider: []string{"gemini"}}), found(1, breach), NotApplicable,
			"anthropic, openai"},
		{"one of the providers", only(specs.Applies{Provider: []string{"gemini", "openai"}}), found(1), Pass, ""},
		{"other source", only(specs.Applies{Source: []string{"cassette", "live"}}), found(1, breach), NotApplicable,
			"evidence from a recording"},
		{"panic", requirement("SIG-001", specs.Refused), func(*check.Trace) check.Result { panic("oops") },
			HarnessError, "oops"},
	} {
		res := Rule{c.req, check.Check{ID: "SIG-001/x", Run: c.run}}.Judge(check.Decode(ev))
		if res.Verdict != c.want || !strings.Contains(res.Reason, c.why) {
			t.Errorf("%s: %s (%s)", c.name, res.Verdict, res.Reason)
		}
		if res.Provider != "anthropic,openai" || res.Case != "c" || res.Area() != "SIG" {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
}

// sample is a run with one result of every verdict.
func sample() *Run {
	results := []Result{
		{Requirement: "ORD-001", Consequence: specs.Refused, Check: "ORD-001/answered", Case: "tools/openai",
			Provider: "openai", Verdict: Pass, Observed: 4, DurationMS: 12},
		{Requirement: "SIG-001", Consequence: specs.Refused, Check: "SIG-001/signature-bytes", Case: "tools/anthropic",
			Provider: "anthropic", Verdict: Fail, Observed: 2,
			Findings: []Finding{finding("SIG-001", specs.Refused, breach)}, Evidence: "cassettes/a.yaml"},
		{Requirement: "SIG-002", Consequence: specs.Degraded, Check: "SIG-002/kept", Case: "tools/anthropic",
			Verdict: Warn, Observed: 1,
			Findings: []Finding{finding("SIG-002", specs.Degraded, check.Finding{Check: "SIG-002/kept", Exchange: -1,
				Event: -1, Offset: -1, Path: "process[1]", Message: "moved"})}},
		{Requirement: "SIG-003", Consequence: specs.Wasteful, Check: "SIG-003/note", Case: "tools/anthropic",
			Verdict: Warn, Observed: 1,
			Findings: []Finding{finding("SIG-003", specs.Wasteful,
				check.Finding{Check: "SIG-003/note", Event: -1, Offset: -1, Message: "could be shorter"})}},
		{Requirement: "RES-001", Consequence: specs.Refused, Check: "RES-001/a", Case: "resume/gemini",
			Verdict: HarnessError, Reason: "the check panicked: oops"},
		{Requirement: "RES-002", Consequence: specs.Refused, Check: "RES-002/a", Case: "resume/gemini",
			Verdict: NotApplicable, Reason: "does not apply to gemini"},
		{Requirement: "RES-003", Consequence: specs.Refused, Check: "RES-003/a", Case: "resume/gemini",
			Verdict: KnownFail, Reason: "issue 7"},
		{Requirement: "RES-004", Consequence: specs.Refused, Check: "RES-004/a", Case: "resume/gemini", Verdict: Stale,
			Reason: "passes now"},
		{Requirement: "RES-005", Consequence: specs.Refused, Check: "RES-005/a", Case: "resume/gemini", Verdict: Flaky,
			Reason: "2 of 3"},
	}
	for i := range results {
		if results[i].Findings == nil {
			results[i].Findings = []Finding{}
		}
	}
	return NewRun(Run{
		Tool: Tool{"conform", "v0"}, Subject: Subject{Name: "rkat", Kind: "in-process"}, Source: []string{"cassette"},
		Ingress:  []string{"mitm"},
		Expected: []string{"SIG-001", "ORD-001", "ORD-999"}, Policy: Policy{FailOn: Fail},
		Calls:   &Calls{Made: 7, Accepted: 6},
		Set:     NewSet("default", []string{"SIG-001", "ORD-001", "ORD-999", "ORD-001"}),
		Started: time.Date(2026, 12, 1, 2, 3, 4, 0, time.UTC), DurationMS: 1234,
	}, results)
}

func TestRunReport(t *testing.T) {
	r := sample()
	if r.Summary.Verdict != HarnessError || r.Summary.Exit != ExitHarness || r.Summary.Counts[NotTestable] != 1 {
		t.Errorf("%+v", r.Summary)
	}
	var text, doc, junit bytes.Buffer
	NewTerminal(&text, false).Run(r)
	golden(t, "run.txt", text.Bytes())
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.json", doc.Bytes())
	if err := schemas.Validate(schemas.Report, doc.Bytes()); err != nil {
		t.Error(err)
	}
	if err := r.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.xml", junit.Bytes())
	for dec := xml.NewDecoder(&junit); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSetDigest(t *testing.T) {
	a, b, c := NewSet("x", []string{"B", "A", "B"}), NewSet("y", []string{"A", "B"}), NewSet("x", []string{"A"})
	if a.Digest != b.Digest || a.Digest == c.Digest || strings.Join(a.Requirements, " ") != "A B" {
		t.Error(a, b, c)
	}
}

// acceptedCall is a call that was answered, by nobody knows whom.
func acceptedCall(i int) evidence.Exchange {
	return evidence.Exchange{
		Index: i, Provider: "anthropic",
		Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Header: http.Header{"User-Agent": {"claude-cli/2.1.0"}}, Body: []byte(`{"model":"claude-opus-4-6"}`)},
		Response: evidence.Response{Status: 200,
			Body: []byte(`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)},
	}
}

func recording(path string, n int) evidence.Recording {
	rec := evidence.Recording{Path: path, Format: evidence.FormatHAR,
		Evidence: evidence.Evidence{Source: evidence.SourceRecording, Case: path}}
	for i := range n {
		rec.Evidence.Exchanges = append(rec.Evidence.Exchanges, acceptedCall(i))
	}
	if n == 0 {
		rec.Skipped = []evidence.Skip{{Exchange: 0, What: "GET example.com/", Reason: "unknown provider"}}
	}
	return rec
}

// rules: SIG-001 breaks in recordings of two exchanges, ORD-001 sees something
// in those of three, STR-001 never sees anything, MOD-001 does not apply.
func rules() []Rule {
	mod := requirement("MOD-001", specs.Refused)
	mod.Applies.Source = []string{"cassette"}
	return []Rule{
		{requirement("SIG-001", specs.Refused),
			check.Check{ID: "SIG-001/signature-bytes", Run: func(tr *check.Trace) check.Result {
				if len(tr.Evidence().Exchanges) == 2 {
					return check.Result{Observed: 1, Findings: []check.Finding{breach}}
				}
				return check.Result{}
			}}},
		{requirement("ORD-001", specs.Refused), check.Check{ID: "ORD-001/a", Run: func(tr *check.Trace) check.Result {
			return check.Result{Observed: len(tr.Evidence().Exchanges) / 3}
		}}},
		{requirement("STR-001", specs.Refused), check.Check{ID: "STR-001/a", Run: found(0)}},
		{mod, check.Check{ID: "MOD-001/a", Run: found(1, breach)}},
	}
}

func judged(recs ...evidence.Recording) []Recording {
	var out []Recording
	for _, r := range recs {
		out = append(out, JudgeRecording(rules(), r))
	}
	return out
}

func TestCheckedReport(t *testing.T) {
	c := NewChecked(Tool{"conform", "v0"}, Policy{FailOn: Fail},
		append(judged(recording("b", 2), recording("a", 3), recording("quiet", 1), recording("foreign.har", 0)),
			Unreadable("torn.yaml", errors.New("torn.yaml: is empty; record it again")),
			Unreadable("zcase", errors.New("zcase/01.request.json: unreadable JSON; fetch the case again"))))
	c.PassedOver = []string{"compose.yaml", "notes.yaml"}
	var text, doc bytes.Buffer
	NewTerminal(&text, false).Checked(c)
	golden(t, "check.txt", text.Bytes())
	if err := WriteJSON(&doc, c); err != nil {
		t.Fatal(err)
	}
	golden(t, "check.json", doc.Bytes())
	if err := schemas.Validate(schemas.Check, doc.Bytes()); err != nil {
		t.Error(err)
	}
}

func TestManySilentRecordingsAreCounted(t *testing.T) {
	var recs []evidence.Recording
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		recs = append(recs, recording(name, 1))
	}
	var text bytes.Buffer
	NewTerminal(&text, false).Checked(NewChecked(Tool{}, Policy{}, judged(recs...)))
	if got := text.String(); !strings.Contains(got, "a: keeps no request") ||
		!strings.Contains(got, "the same in: b; c; d; e; 2 more\n") {
		t.Error(got)
	}
}

func TestExitOfChecks(t *testing.T) {
	torn := Unreadable("torn", errors.New("torn: x"))
	for _, c := range []struct {
		name string
		recs []Recording
		want int
	}{
		{"held", judged(recording("a", 3)), ExitOK},
		{"broken", judged(recording("a", 3), recording("b", 2)), ExitFailure},
		{"showed nothing", judged(recording("a", 1)), ExitIncomplete},
		{"one showed nothing", judged(recording("a", 3), recording("b", 1)), ExitIncomplete},
		{"one is torn", append(judged(recording("a", 3)), torn), ExitIncomplete},
		{"broken and torn", append(judged(recording("b", 2)), torn), ExitFailure},
		{"all torn", []Recording{torn}, ExitUsage},
		{"no provider", judged(recording("a", 0)), ExitUsage},
		{"none", nil, ExitUsage},
	} {
		if got := NewChecked(Tool{}, Policy{}, c.recs).Summary.Exit; got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPaintKeepsColumns(t *testing.T) {
	var plain, painted bytes.Buffer
	NewTerminal(&plain, false).Run(sample())
	NewTerminal(&painted, true).Run(sample())
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(painted.String(), ""); got != plain.String() ||
		!strings.Contains(painted.String(), "\x1b[31mfail") {
		t.Errorf("colours move the text, or red is missing:\n%q", painted.String())
	}
	painted.Reset()
	p := NewTerminal(&painted, false)
	p.Width = 60
	p.Checked(NewChecked(Tool{}, Policy{}, judged(recording("quiet", 1))))
	if got := painted.String(); !strings.Contains(got,
		"can be read, so\n      that only the replies of the source were judged;\n") {
		t.Errorf("lines do not break at words:\n%s", got)
	}
}

func TestFindingsCarryNoExtraEscapes(t *testing.T) {
	var doc bytes.Buffer
	if err := WriteJSON(&doc, sample()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(doc.String(), "differs <here>") || !json.Valid(doc.Bytes()) {
		t.Error("HTML escapes in a report")
	}
}
