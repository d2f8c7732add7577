package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

const firstThinking = `{"type":"thinking","thinking":"Two lookups are needed.","signature":"EsYBCkYIDBgCKkDcaB1xaB1xaB1xaB1xc3ludGhldGljaB1x=="},`

// TestTextBesideResults: a user message that answers tools continues the turn,
// whatever else it says, so that thinking is still owed.
func TestTextBesideResults(t *testing.T) {
	ev := samples(t)["anthropic-loop"]
	edit(t, &ev, breach{at: "1>", old: `"content":"12:00","is_error":false}`,
		new: `"content":"12:00","is_error":false},{"type":"text","text":"Hurry."}`})
	edit(t, &ev, breach{at: "1>", old: firstThinking})
	if res := find(t, "SIG-002/kept").Run(check.Decode(&ev)); len(res.Findings) == 0 {
		t.Error("nothing found")
	}
}

// TestCutReplyOwesNothing: what a broken reply brought need not be sent back.
func TestCutReplyOwesNothing(t *testing.T) {
	ev := samples(t)["anthropic-loop"]
	whole, _, _ := strings.Cut(string(ev.Exchanges[0].Response.Body), "event: message_delta")
	ev.Exchanges[0].Response.Body = []byte(whole)
	edit(t, &ev, breach{at: "1>", old: firstThinking})
	if res := find(t, "SIG-002/kept").Run(check.Decode(&ev)); len(res.Findings) != 0 {
		t.Errorf("%+v", res.Findings)
	}
}

// TestRedactedValuesRepeat: what a recorder wrote in place of ids is the same
// in unrelated conversations and links none of them.
func TestRedactedValuesRepeat(t *testing.T) {
	ask := func(i int, text, history, reply string) evidence.Exchange {
		return evidence.Exchange{Index: i, Process: -1, Provider: evidence.Anthropic,
			Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
				Body: []byte(`{"model":"claude-opus-4-6","messages":[{"role":"user","content":"` + text + `"}` +
					history + `]}`)},
			Response: evidence.Response{Status: 200,
				Body: []byte(`{"type":"message","role":"assistant","content":[` + reply +
					`],"stop_reason":"tool_use"}`)}}
	}
	call := func(name string) string {
		return `{"type":"tool_use","id":"REDACTED","name":"` + name + `","input":{}}`
	}
	ev := evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{
		ask(0, "First.", "", call("ls")),
		ask(1, "Second.", `,{"role":"assistant","content":[`+call("pwd")+
			`]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"REDACTED","content":"/"}]}`, call("ls")),
	}}
	if got := check.Decode(&ev).Replays(); len(got) != 0 {
		t.Errorf("replays %v", got)
	}
}
