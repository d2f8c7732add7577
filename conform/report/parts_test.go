package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/schemas"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "2/4": {2, 4}, "10000/10000": {10000, 10000}} {
		if got, err := ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "0/4", "5/4", "-1/4", "1/0", "1/10001", "a/b", "1/2/3", "1 /2", "1/2 "} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if (Shard{}).String() != "" {
		t.Error("the whole run has a name")
	}
}

// Each case lies in exactly one shard, whatever other cases there are.
func TestShardsShareOut(t *testing.T) {
	const cases = 500
	for _, of := range []int{1, 2, 7, 1000} {
		sizes := make([]int, of)
		for n := range cases {
			name := fmt.Sprintf("scenario-%d/anthropic", n)
			held := 0
			for i := range of {
				if (Shard{i + 1, of}).Holds(name) {
					held++
					sizes[i]++
				}
			}
			if held != 1 {
				t.Fatalf("%s lies in %d of %d shards", name, held, of)
			}
		}
		if of == 7 {
			for i, size := range sizes {
				if size < cases/of/2 {
					t.Errorf("shard %d/%d holds %d of %d cases", i+1, of, size, cases)
				}
			}
		}
	}
	if !(Shard{}).Holds("any") {
		t.Error("the whole run lacks a case")
	}
	// The hash is part of the interface: another one would move every case.
	if !(Shard{4, 4}).Holds("thinking-tool-loop/anthropic") {
		for i := range 4 {
			if (Shard{i + 1, 4}).Holds("thinking-tool-loop/anthropic") {
				t.Errorf("the case has moved to %d/4", i+1)
			}
		}
	}
}

// The optional members are valid in the schema.
func TestOptionalMembers(t *testing.T) {
	r := NewRun(Run{
		Tool: Tool{"conform", "v0"}, Subject: Subject{Name: "a", Kind: "command", Control: "L2"},
		Set:    NewSet("current", []string{"ORD-001"}),
		Source: []string{"simulator"}, Ingress: []string{"base-url"}, Policy: Policy{FailOn: Fail}, Seed: "s",
		Filter: "ORD", Shard: &Shard{1, 2}, Repeat: 2,
		Cases: []CaseSummary{{Name: "a/b", Verdict: Pass, Provider: "b", Ingress: "mitm", Source: "simulator",
			DurationMS: 1, Deviations: []string{"d"}, Effects: []string{"e"}, Reason: "r"}},
		Calls:     &Calls{Made: 3, Accepted: 3, Thinking: 1, Plain: 2},
		Hosts:     []Host{{"example.com", 2, "telemetry"}},
		Isolation: &Isolation{Enforced: true, Reason: "r"},
		Baseline: []UsedExcuse{{Excuse{"SIG-001/**", "r", "https://example.com/1", "2027-01-01", true, false},
			KnownFail, 1, "p"}},
	}, []Result{{Requirement: "ORD-001", Consequence: "refused", Verdict: KnownFail, Excused: Flaky,
		Runs: Counts{Pass: 1, Fail: 1}, Findings: []Finding{}}})
	var doc bytes.Buffer
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	if err := schemas.Validate(schemas.Report, doc.Bytes()); err != nil {
		t.Error(err)
	}
}

// A finding of a gateway that follows from another one is valid in the schema: ids of duties are no
// longer than GW-7.
func TestCauseOfADuty(t *testing.T) {
	result := func(id string, rule string) Result {
		return Result{
			Requirement: id, Case: "hello/anthropic", Verdict: Fail, Consequence: "crash", Runs: Counts{Fail: 1},
			Findings: []Finding{{Requirement: id, Consequence: "crash", Check: id, Rule: rule, Verdict: Fail,
				Message: "m", Path: "usage"}},
		}
	}
	r := NewRun(Run{
		Tool: Tool{"conform", "v0"}, Set: NewSet("current", []string{"GW-7"}),
		Subject: Subject{Name: "g", Kind: "gateway", Control: "L2"},
		Source:  []string{"simulator"}, Ingress: []string{"base-url"}, Policy: Policy{FailOn: Fail}, Seed: "s",
	}, []Result{result("GW-7", "GW-7"), result("SV-A8", "")})
	var doc bytes.Buffer
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(doc.String(), `"cause": "GW-7#0"`) {
		t.Errorf("no finding has a cause:\n%s", doc.String())
	}
	if err := schemas.Validate(schemas.Report, doc.Bytes()); err != nil {
		t.Error(err)
	}
}

// TestNotSeen: what a run did not see is listed with what is missing for it, together where
// the same is missing. A shard says nothing: another one may show it.
func TestNotSeen(t *testing.T) {
	r := NewRun(Run{Set: NewSet("s", []string{"BET-003", "ORD-001", "SRV-002", "SRV-003", "TEAM-001"})}, nil)
	want := []string{
		"not seen, 1 requirement: Claude is not called on Vertex AI or Amazon Bedrock (BET-003)",
		"not seen, 1 requirement: " + noCaseShows + " (ORD-001)",
		"not seen, 2 requirements: no program in a container calls a tool (SRV-002, SRV-003)",
	}
	if got := r.notSeen(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Set, r.Summary.Coverage.Unseen = NewSet("s", nil), nil
	for _, c := range []struct {
		agent string
		calls Calls
		want  string
	}{
		{"claude-code", Calls{Made: 3, Plain: 2},
			"none of 2 calls asked the model to think; claude-code is asked to with --effort high"},
		{"claude", Calls{Made: 3, Plain: 2}, "claude is asked to with --effort high"},
		{"my-agent", Calls{Made: 1, Plain: 1},
			"give the command the option by which the agent asks for it, or name it in effort: of a profile"},
		{"my-agent", Calls{Made: 2, Plain: 1, Thinking: 1}, ""},
		{"my-agent", Calls{Made: 2}, ""},
	} {
		r.Subject.Name, r.Calls = c.agent, &c.calls
		if got := strings.Join(r.notSeen(), "\n"); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s, %+v: %q, want %q", c.agent, c.calls, got, c.want)
		}
	}
	r.Calls, r.Shard = nil, &Shard{}
	if got := r.notSeen(); got != nil {
		t.Errorf("a shard: %q", got)
	}
}
