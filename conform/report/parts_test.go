package report

import (
	"bytes"
	"fmt"
	"slices"
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
		Tool: Tool{"conform", "v0"}, Subject: Subject{Name: "a", Kind: "command", Control: "L2"}, Set: NewSet("current", []string{"ORD-001"}),
		Source: []string{"simulator"}, Ingress: []string{"base-url"}, Policy: Policy{FailOn: Fail}, Seed: "s", Filter: "ORD", Shard: &Shard{1, 2}, Repeat: 2,
		Cases:     []CaseSummary{{Name: "a/b", Verdict: Pass, Provider: "b", Ingress: "mitm", Source: "simulator", DurationMS: 1, Deviations: []string{"d"}, Effects: []string{"e"}, Reason: "r"}},
		Hosts:     []Host{{"example.com", 2, "telemetry"}},
		Isolation: &Isolation{Enforced: true, Reason: "r"},
		Baseline:  []UsedExcuse{{Excuse{"SIG-001/**", "r", "https://example.com/1", "2027-01-01", true, false}, KnownFail, 1, "p"}},
	}, []Result{{Requirement: "ORD-001", Consequence: "refused", Verdict: KnownFail, Excused: Flaky, Runs: Counts{Pass: 1, Fail: 1}, Findings: []Finding{}}})
	var doc bytes.Buffer
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
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
	r.Shard = &Shard{}
	if got := r.notSeen(); got != nil {
		t.Errorf("a shard: %q", got)
	}
}
