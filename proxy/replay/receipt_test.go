package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func TestReceipt(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	p := newReplayer(t, Config{Match: Anchored, Clock: clock},
		pair(`{"system":"S","messages":[],"metadata":1}`, "1"), pair(`{"a":1}`, "2"), pair(`{"secret":"unused"}`, "3"))
	ask(p, endpoint, `{"system":"T","messages":[],"metadata":1}`)
	ask(p, endpoint, `{"a":1}`)
	ask(p, endpoint, `{"a":2}`)
	got := p.Receipt()
	if got.Cassette.Digest != p.cfg.Cassette.Digest() || got.Cassette.Path != p.cfg.Cassette.Name() {
		t.Errorf("played %+v", got.Cassette)
	}
	got.Cassette.Digest, got.Cassette.Path = "", ""
	want := Receipt{
		Schema: "recorder.receipt.v1", Started: "2026-11-21T12:00:01Z", Ended: "2026-11-21T12:00:02Z",
		Cassette: Played{Interactions: 3, Provenance: "synthetic"}, Match: "anchored",
		Served: 2, Missed: 1, Levels: map[string]int{"exact": 1, "anchored": 1, "shape": 0, "nth": 0},
		Relaxed: map[string]int{}, RelaxedRequests: 1,
		RelaxedAnswers: []RelaxedAnswer{{Interaction: 0, Method: "POST", URL: endpoint, Level: "anchored",
			Differences: []string{`system: recorded "S", now "T"`}}},
		Unused: 1, UnusedInteractions: []Unused{{2, "POST", endpoint}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Strict is what nothing was relaxed for, and what nothing was missed in.
func TestStrict(t *testing.T) {
	for name, c := range map[string]struct {
		bodies  []string
		strict  bool
		summary string
	}{
		"equal":   {[]string{`{"a":1}`}, true, "served 1, missed 0, unused 0, relaxed 0, egress 0"},
		"spelled": {[]string{`{ "a" : 1 }`}, true, "served 1, missed 0, unused 0, relaxed 0, egress 0"},
		"rule": {[]string{`{"a":1,"metadata":1}`}, false,
			"served 1, missed 0, unused 0, relaxed 1, egress 0 (not strict: anthropic.metadata 1)"},
		"level": {[]string{`{"a":1,"system":1}`}, false,
			"served 1, missed 0, unused 0, relaxed 1, egress 0 (not strict: anchored 1)"},
		"missed":     {[]string{`{"a":1}`, `{"a":1}`}, false, "served 1, missed 1, unused 0, relaxed 0, egress 0"},
		"never used": {nil, false, "served 0, missed 0, unused 1, relaxed 0, egress 0"},
	} {
		p := newReplayer(t, Config{Match: Anchored}, pair(`{"a":1}`, "ok"))
		for _, body := range c.bodies {
			ask(p, endpoint, body)
		}
		if got := p.Receipt(); got.Strict != c.strict || got.Summary() != c.summary {
			t.Errorf("%s: strict %t, %q; want %t, %q", name, got.Strict, got.Summary(), c.strict, c.summary)
		}
	}
}

// Each relaxed answer is named with its difference, the first hundred of them.
func TestRelaxedAnswersAreListed(t *testing.T) {
	p := newReplayer(t, Config{Match: Nth}, many(maxListed+5)...)
	for i := range maxListed + 5 {
		ask(p, endpoint+"?key=s3cr3ts3cr3t", fmt.Sprintf(`{"n":%d,"metadata":1}`, i+1000*(i%2)))
	}
	got := p.Receipt()
	if got.RelaxedRequests != maxListed+5 || len(got.RelaxedAnswers) != maxListed {
		t.Fatalf("%d of %d listed", len(got.RelaxedAnswers), got.RelaxedRequests)
	}
	rule, level := got.RelaxedAnswers[0], got.RelaxedAnswers[1]
	if want := (RelaxedAnswer{0, "POST", endpoint, "exact", []string{"anthropic.metadata"},
		[]string{"metadata: now 1, not recorded"}}); cmp.Diff(want, rule) != "" {
		t.Error(cmp.Diff(want, rule))
	}
	if want := (RelaxedAnswer{1, "POST", endpoint, "nth", nil,
		[]string{"metadata: now 1, not recorded", "n: recorded 1, now 1001"}}); cmp.Diff(want, level) != "" {
		t.Error(cmp.Diff(want, level))
	}
}

// The list of unused interactions is bounded, and no credentials.
func TestUnusedAreListed(t *testing.T) {
	const n = maxListed + 20
	var all []string
	p := newReplayer(t, Config{}, many(n)...)
	for _, u := range p.Receipt().UnusedInteractions {
		all = append(all, u.URL)
	}
	if len(all) != maxListed || p.Receipt().Unused != n {
		t.Errorf("%d of %d listed", len(all), p.Receipt().Unused)
	}
	text, err := json.Marshal(p.Receipt())
	if err != nil || strings.Contains(string(text), "k3y") {
		t.Errorf("a key was listed, or %v: %s", err, text)
	}
}

func many(n int) (ins []cassette.Interaction) {
	for i := range n {
		in := pair(fmt.Sprintf(`{"n":%d}`, i), fmt.Sprint("answer ", i))
		in.Request.URL += "?key=k3yk3yk3yk3y"
		ins = append(ins, in)
	}
	return ins
}
