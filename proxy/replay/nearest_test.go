package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// explained plays a cassette, asks what it does not hold, and returns what was
// logged.
func explained(t *testing.T, cfg Config, body string, ins ...cassette.Interaction) string {
	t.Helper()
	var log []string
	cfg.Log = func(line string) { log = append(log, line) }
	w, _ := ask(newReplayer(t, cfg, ins...), endpoint, body)
	if w.Code != 400 {
		t.Errorf("status %d", w.Code)
	}
	return strings.Join(log, "\n")
}

// The nearest is the one with the most in common, wherever it is, not the one
// with the fewest places that differ.
func TestNearestHasMostInCommon(t *testing.T) {
	long := strings.Repeat("a conversation of some length, ", 40)
	var ins []cassette.Interaction
	for i := range 300 {
		ins = append(ins, pair(fmt.Sprintf(`{"messages":"%d"}`, i), "other"))
	}
	ins[200] = pair(`{"messages":"`+long+`","temperature":1,"top_p":1}`, "it")
	got := explained(t, Config{}, `{"messages":"`+long+`and more","temperature":2,"top_p":2}`, ins...)
	if !strings.Contains(got,
		"interaction 200 is nearest (99 % the same), it differs in messages, temperature, top_p") {
		t.Errorf("log %q", got)
	}
	if want := `messages: recorded …ion of some length, ", now …ion of some length, and more"`; !strings.Contains(got, want) {
		t.Errorf("log %q, want %q", got, want)
	}
}

// Of two that are equally near the one not yet played is meant.
func TestNearestIsNotYetPlayed(t *testing.T) {
	var log []string
	p := newReplayer(t, Config{Log: func(line string) { log = append(log, line) }}, pair(`{"a":"x1"}`, "1"),
		pair(`{"a":"x2"}`, "2"))
	ask(p, endpoint, `{"a":"x1"}`)
	ask(p, endpoint, `{"a":"x3"}`)
	ask(p, endpoint, `{"a":"x2"}`)
	ask(p, endpoint, `{"a":"x3"}`)
	got := strings.Join(log, "\n")
	if !strings.Contains(got, "interaction 1 is nearest (8") ||
		!strings.Contains(got, "interaction 0 is nearest (83 % the same and played already)") {
		t.Errorf("log %q", got)
	}
}

// A request is never explained by one to another place.
func TestNothingNearElsewhere(t *testing.T) {
	other := pair(`{"a":1}`, "ok")
	other.Request.URL = "https://api.openai.com/v1/responses?key=k3yk3yk3yk3y"
	got := explained(t, Config{Match: Nth}, `{"a":1}`, other)
	if strings.Contains(got, "nearest") || strings.Contains(got, "k3y") ||
		!strings.Contains(got, "all that was recorded went elsewhere: POST https://api.openai.com/v1/responses") {
		t.Errorf("log %q", got)
	}
}

// What the rules allow is not what a request failed by.
func TestVolatileIsNoDifference(t *testing.T) {
	got := explained(t, Config{}, `{"a":2,"metadata":2}`, pair(`{"a":1,"metadata":1}`, "ok"))
	if strings.Contains(got, "metadata") || !strings.Contains(got, "it differs in a") {
		t.Errorf("log %q", got)
	}
}

func TestAdvice(t *testing.T) {
	in := pair(`{"system":"S","messages":[{"role":"user","content":"a"}]}`, "ok")
	for body, want := range map[string]string{
		`{"system":"T","messages":[{"role":"user","content":"a"}]}`:           "--match anchored would accept interaction 0 for it",
		`{"system":"T","top_p":1,"messages":[{"role":"user","content":"a"}]}`: "--match shape would accept interaction 0 for it",
		`{"messages":[]}`: "--match nth would accept interaction 0 for it, which answers whatever is asked",
		`{"system":"S","messages":[{"role":"user","content":"b"}]}`: "--match nth would accept interaction 0",
	} {
		got := explained(t, Config{Record: "record it"}, body, in)
		if !strings.Contains(got, want) || !strings.HasSuffix(got, "to record what is missing: record it") {
			t.Errorf("%s: log %q", body, got)
		}
	}
	if got := explained(t, Config{}, `{"model":"n"}`, in); strings.Contains(got, "--match") ||
		strings.Contains(got, "to record") {
		t.Errorf("log %q", got)
	}
}

// A rule is named where it would have answered, and only if it is needed.
func TestScrubAdvice(t *testing.T) {
	in := pair(`{"messages":[{"role":"user","content":"On 2026-11-23 at 10:11:12 in 7f9c24e8-3b12-4fef-91e0-5d1c2b3a4f5e."}]}`, "ok")
	for now, want := range map[string]string{
		"On 2027-01-02 at 10:11:12 in 7f9c24e8-3b12-4fef-91e0-5d1c2b3a4f5e.": "  --scrub date would accept interaction 0 for it",
		"On 2027-01-02 at 11:11:12 in 7f9c24e8-3b12-4fef-91e0-5d1c2b3a4f5e.": "  --scrub time --scrub date would accept",
		"On 2026-11-23 at 10:11:12 in 11111111-3b12-4fef-91e0-5d1c2b3a4f5e.": "  --scrub uuid would accept",
		"In 2027-01-02 at 10:11:12 in 7f9c24e8-3b12-4fef-91e0-5d1c2b3a4f5e.": "",
	} {
		got := explained(t, Config{}, `{"messages":[{"role":"user","content":"`+now+`"}]}`, in)
		if want == "" && strings.Contains(got, "--scrub") || !strings.Contains(got, want) {
			t.Errorf("%s: log %q, want %q", now, got, want)
		}
	}
}

// A miss lists what its level counts: who allows another system prompt is not
// told that it differs.
func TestMissListsWhatItsLevelCounts(t *testing.T) {
	recorded := pair(`{"model":"m","system":"S","top_p":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, "ok")
	now := `{"model":"m","system":"T","top_p":2,"messages":[{"role":"user","content":"A"},{"role":"assistant","content":"b"},{"role":"user","content":"C"}]}`
	for l, want := range map[Level]string{
		Exact:    "it differs in messages[0].content, messages[2].content, system, top_p\n",
		Anchored: "it differs in messages[0].content, messages[2].content, top_p\n",
		Shape:    "it differs in messages[2].content\n",
	} {
		if got := explained(t, Config{Match: l}, now, recorded); !strings.Contains(got, want) {
			t.Errorf("%s: log %q, want %q", l, got, want)
		}
	}
	if got := explained(t, Config{Match: Nth}, strings.Replace(now, `"m"`, `"n"`, 1), recorded); !strings.Contains(got, "it differs in model\n") {
		t.Errorf("nth: log %q", got)
	}
}

// A request that was recorded and answered is not called unknown, at whatever
// level it is the same.
func TestExhaustedAtItsLevel(t *testing.T) {
	p := newReplayer(t, Config{Match: Anchored}, pair(`{"system":"S","messages":[]}`, "ok"))
	ask(p, endpoint, `{"system":"T","messages":[]}`)
	if w, _ := ask(p, endpoint, `{"system":"U","messages":[]}`); w.Header().Get("X-Cassette-Miss") != missExhausted {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

// A miss is told in a few lines, and a thousand of them are not a thousand
// searches.
func TestMissesDoNotFlood(t *testing.T) {
	words := func(first int) string {
		var b []string
		for i := range 200 {
			b = append(b, fmt.Sprintf(`"%s%d"`, strings.Repeat("y", 500), first+i))
		}
		return `{"a":[` + strings.Join(b, ",") + `]}`
	}
	var log []string
	p := newReplayer(t, Config{Log: func(line string) { log = append(log, line) }}, pair(words(0), "ok"))
	w, _ := ask(p, endpoint, words(5000))
	if len(log) > 20 || len(strings.Join(log, "\n")) > 8<<10 || w.Body.Len() > 1<<10 {
		t.Errorf("%d lines, %d bytes, and a reply of %d", len(log), len(strings.Join(log, "\n")), w.Body.Len())
	}
	log = nil
	for i := range 2 * maxMissesSearched {
		ask(p, endpoint, fmt.Sprintf(`{"b":%d}`, i))
	}
	if last := log[len(log)-1]; strings.Contains(last, "nearest") || len(log) > 5*maxMissesSearched {
		t.Errorf("%d lines, the last is %q", len(log), last)
	}
}
