package check

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// twoRequests is a conversation of two requests to Anthropic.
func twoRequests(first, second string) *Trace {
	exchange := func(i int, body string) evidence.Exchange {
		return evidence.Exchange{
			Index: i, Provider: evidence.Anthropic,
			Request: evidence.Request{Method: http.MethodPost, URL: "https://api.anthropic.com/v1/messages",
				Body:   []byte(body),
				Header: http.Header{"Anthropic-Version": {"2023-06-01"}, "X-App": {"cli"}}},
			Response: evidence.Response{Status: 200, End: "eof",
				Header: http.Header{"Content-Type": {"application/json"}},
				Body:   []byte(`{"id":"msg_01","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"A heron."}],"stop_reason":"end_turn"}`)},
		}
	}
	return Decode(&evidence.Evidence{Source: evidence.SourceRecording, Case: "x",
		Exchanges: []evidence.Exchange{exchange(0, first), exchange(1, second)}})
}

const (
	firstRequest  = `{"model":"claude-opus-4-5","max_tokens":9,"system":"S","metadata":{"user_id":"u-1"},"messages":[{"role":"user","content":"Name a bird."}]}`
	secondRequest = `{"model":"claude-opus-4-5","max_tokens":9,"system":"S","metadata":{"user_id":"u-1"},"messages":[{"role":"user","content":"Name a bird."},{"role":"assistant","content":"A heron."},{"role":"user","content":"Another."}]}`
)

// TestAssertions holds each kind of assertion to a request that keeps it and to the nearest
// one that does not.
func TestAssertions(t *testing.T) {
	for _, c := range []struct {
		rule     string
		old, new string // breaks the second request; "" for nothing
		observed int
		want     string // of the finding, "" for none
	}{
		{"path: metadata.user_id, present: true", "", "", 2, ""},
		{"path: metadata.user_id, present: true", `"user_id":"u-1"`, `"user":"u-1"`, 2, "there is no metadata.user_id"},
		{"path: top_k, absent: true", "", "", 2, ""},
		{"path: top_k, absent: true", `"max_tokens":9`, `"max_tokens":9,"top_k":null`, 2, "there is a top_k"},
		{"path: max_tokens, equals: 9", `"max_tokens":9`, `"max_tokens":9.0`, 2, ""},
		{"path: max_tokens, equals: 9", `"max_tokens":9`, `"max_tokens":8`, 2, "max_tokens is 8, not 9"},
		{"path: metadata, equals: {user_id: u-1}", `"u-1"`, `"u-2"`, 2,
			`metadata is {"user_id":"u-2"}, not {"user_id":"u-1"}`},
		{"path: 'messages[*].role', matches: '^(user|assistant)$'", "", "", 4, ""},
		{"path: 'messages[*].role', matches: '^user$'", "", "", 4,
			`messages[*].role is "assistant", which does not match ^user$`},
		{"path: metadata, matches: u", "", "", 4, "which does not match u"},
		{"path: system, same: true", "", "", 1, ""},
		{"path: system, same: true", `"S"`, `"s"`, 1,
			`system is not what it was in the request before: was "S", is "s"`},
		{"path: metadata.user_id, same: true", `"metadata":{"user_id":"u-1"},`, "", 1, `was "u-1", is absent`},
		{"header: anthropic-version, equals: '2023-06-01'", "", "", 2, ""},
		{"header: anthropic-version, equals: '2024-01-01'", "", "", 2,
			`header Anthropic-Version is a value of 10 bytes, not "2024-01-01"`},
		{"header: x-team, present: true", "", "", 2, "there is no header X-Team"},
		{"header: x-app, absent: true", "", "", 2, "there is a header X-App"},
		{"path: model, present: true, provider: openai", "", "", 0, ""},
		{"path: metadata.user_ids, matches: u", "", "", 0, ""},
	} {
		rules, err := specs.ParseTeamRules("r.yaml",
			[]byte("- {id: TEAM-001, title: t, consequence: unsafe, "+c.rule+"}"))
		if err != nil {
			t.Fatal(err)
		}
		got := OfTeamRule(rules[0])[0].Run(twoRequests(firstRequest, strings.Replace(secondRequest, c.old, c.new, 1)))
		said := ""
		if len(got.Findings) > 0 {
			said = got.Findings[0].Message
		}
		if got.Observed != c.observed && c.rule != "path: metadata, matches: u" || (said == "") != (c.want == "") ||
			!strings.Contains(said, c.want) {
			t.Errorf("%s: observed %d, %q; want %d, %q", c.rule, got.Observed, said, c.observed, c.want)
		}
	}
}

// TestUnseenAssertion holds that a rule which matches nothing says where it stands and what
// was probably meant.
func TestUnseenAssertion(t *testing.T) {
	for rule, want := range map[string]string{
		"path: metadata.user_ids, matches: u":              "r.yaml:1: TEAM-001: matches nothing: no metadata.user_ids in 2 requests; did you mean user_id?",
		"header: anthropic-versions, equals: x":            "did you mean Anthropic-Version?",
		"path: model, present: true, provider: openai":     "r.yaml:1: TEAM-001: matches nothing: there is no request that it speaks of",
		"path: zzzzzzzzzz, matches: u, provider: [gemini]": "there is no request that it speaks of",
	} {
		rules, err := specs.ParseTeamRules("r.yaml",
			[]byte("- {id: TEAM-001, title: t, consequence: unsafe, "+rule+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := OfTeamRule(rules[0])[0].Run(twoRequests(firstRequest, secondRequest)); !strings.Contains(got.Unseen, want) {
			t.Errorf("%s: %q", rule, got.Unseen)
		}
	}
}

// TestRestatedCheck holds that a restated check finds what its own does, under its own id.
func TestRestatedCheck(t *testing.T) {
	rules, err := specs.ParseTeamRules("r.yaml", []byte("- {id: TEAM-001, title: our words, uses: PAR-006}"))
	if err != nil {
		t.Fatal(err)
	}
	trace := twoRequests(firstRequest, strings.Replace(secondRequest, `"system"`, `"sistem"`, 1))
	findings := 0
	for _, c := range OfTeamRule(rules[0]) {
		for _, f := range c.Run(trace).Findings {
			findings++
			if f.Check != c.ID || !strings.HasPrefix(f.Check, "TEAM-001/") ||
				!strings.HasPrefix(f.Message, "our words: ") {
				t.Errorf("%+v", f)
			}
		}
	}
	if findings == 0 {
		t.Error("nothing is found")
	}
}
