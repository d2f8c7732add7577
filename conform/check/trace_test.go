package check_test

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// TestReplacedExchanges judges the same *Evidence twice, with other exchanges
// the second time: the new breach is found, and the first trace stays as it was.
func TestReplacedExchanges(t *testing.T) {
	ev := samples(t)["anthropic-loop"]
	kept := find(t, "SIG-002/kept")
	before := check.Decode(&ev)
	if res := kept.Run(before); len(res.Findings) != 0 {
		t.Fatalf("good evidence: %+v", res.Findings)
	}

	// The edit writes into the list of ev and keeps every length.
	exchanges := slices.Clone(ev.Exchanges)
	edit(t, &ev, breach{at: "1>", old: `"type":"thinking"`, new: `"type":"thinkinG"`})
	if res := kept.Run(check.Decode(&ev)); len(res.Findings) == 0 {
		t.Error("the evidence was replaced and the breach is not found")
	}
	if res := kept.Run(before); len(res.Findings) != 0 || !reflect.DeepEqual(before.Evidence().Exchanges, exchanges) {
		t.Errorf("the first trace changed with the evidence: %+v", res.Findings)
	}
	before.Evidence().Exchanges[1] = evidence.Exchange{}
	if !reflect.DeepEqual(before.Evidence().Exchanges, exchanges) {
		t.Error("the trace gives its own list away")
	}
}

// TestDecodedOnce judges two recordings by every check in turn: each body is
// read once, however many checks there are.
func TestDecodedOnce(t *testing.T) {
	cases := []evidence.Evidence{samples(t)["anthropic-loop"], samples(t)["gemini-loop"]}
	reads := make([]int, len(cases))
	traces := make([]*check.Trace, len(cases))
	for i := range cases {
		traces[i] = check.DecodeCounted(&cases[i], func() { reads[i]++ })
	}
	for _, c := range check.All() {
		for i, trace := range traces {
			if res := c.Run(trace); len(res.Findings) > 0 {
				t.Errorf("%s: %s: %s", cases[i].Case, c.ID, res.Findings[0].Message)
			}
		}
	}
	for i, n := range reads {
		if want := 2 * len(cases[i].Exchanges); n != want {
			t.Errorf("%s: %d bodies read, want %d", cases[i].Case, n, want)
		}
	}
}

// TestTraceIsShared runs every check on one trace from several goroutines; the
// race detector sees what they would write.
func TestTraceIsShared(t *testing.T) {
	ev := samples(t)["openai-loop"]
	trace := check.Decode(&ev)
	want := runAll(trace)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := runAll(trace); !reflect.DeepEqual(got, want) {
				t.Errorf("another result: %v", got)
			}
		})
	}
	group.Wait()
}

func runAll(trace *check.Trace) (all []check.Result) {
	for _, c := range check.All() {
		all = append(all, c.Run(trace))
	}
	return all
}

// TestBrokenDecoder: a decoder that panics is an error of the referee, not of
// the recording, and does not end the program.
func TestBrokenDecoder(t *testing.T) {
	ev := samples(t)["openai-loop"]
	trace := check.DecodeBroken(&ev)
	for _, rule := range catalogue(t) {
		if res := rule.Judge(trace); res.Verdict != report.HarnessError && res.Verdict != report.NotApplicable {
			t.Errorf("%s: %s", res.Check, res.Verdict)
		}
	}
}
