package simulator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// plainProvider says each block's text as one event and gives refusals as they are.
type plainProvider struct {
	script.Provider
	frames []string
}

// plainly is the simulation of a wire with plainProvider in the place of its provider.
func plainly(provider string, frames ...string) *script.Simulation {
	s := *script.Simulations()[provider]
	s.Provider = plainProvider{frames: frames}
	return &s
}

func (plainProvider) Header(script.Reply) http.Header { return http.Header{} }
func (plainProvider) Reject(r *rule.Refusal) (int, http.Header, []byte) {
	return r.Status, http.Header{},
		script.JSON(script.Object{"type", r.Type, "code", r.Code, "param", r.Param, "text", r.Message, "details",
			json.RawMessage(append([]byte(nil), or(r.Details, "null")...))})
}

func or(b []byte, otherwise string) []byte {
	if b == nil {
		return []byte(otherwise)
	}
	return b
}

func (v plainProvider) Frames(script.Reply) [][]byte {
	var out [][]byte
	for _, f := range v.frames {
		out = append(out, []byte(f))
	}
	return out
}

// TestRejections holds the status and the form of the delay, and that the same
// request passes in the end.
func TestRejections(t *testing.T) {
	for _, c := range []struct {
		provider, kind, retry string
		status                int
		header, value, text   string
	}{
		{"anthropic", "rate_limit", "seconds", 429, "Retry-After", "1", "rate_limit_error"},
		{"anthropic", "rate_limit", "date", 429, "Retry-After", "Thu, 01 Jan 1970 00:00:01 GMT", "rate_limit_error"},
		{"openai", "rate_limit", "milliseconds", 429, "Retry-After-Ms", "1000", "rate_limit_exceeded"},
		{"openai", "quota", "", 429, "Retry-After", "", "insufficient_quota"},
		{"anthropic", "overloaded", "", 529, "", "", "overloaded_error"},
		{"openai", "server", "", 500, "", "", "server_error"},
		{"anthropic", "timeout", "", 504, "", "", "timeout_error"},
		{"gemini", "rate_limit", "date", 429, "Retry-After", "", `"retryDelay":"1s"`},
		{"gemini", "rate_limit", "seconds", 429, "", "", `Please retry in 1s.`},
		{"gemini", "overloaded", "", 503, "", "", "UNAVAILABLE"},
	} {
		s := &script.Script{Key: seal.NewKey("x"), Now: func() time.Time { return time.Unix(0, 0) },
			Attempts: new(script.Attempts), Scenario: &specs.Scenario{
				Targets: []specs.Target{{Provider: c.provider, Model: "m"}},
				Turns: []specs.Turn{{Emit: []specs.Block{{Kind: specs.KindText, Text: "a"}},
					Refuse: &specs.Rejection{Kind: c.kind, Retry: c.retry, Times: 2}}},
			}}
		ask := func(body string) script.Plan {
			reply, refusal := s.Reply(script.Request{Provider: c.provider, Model: "m", Body: []byte(body)})
			if refusal != nil {
				t.Fatal(refusal)
			}
			return plainly(c.provider, "{}").PlanReply(reply)
		}
		for range 2 {
			if got := ask("q"); got.Status != c.status || got.Header.Get(c.header) != c.value ||
				!bytes.Contains(got.Writes[0], []byte(c.text)) {
				t.Errorf("%s %s %s: %d %v %s", c.provider, c.kind, c.retry, got.Status, got.Header, got.Writes)
			}
		}
		if got := ask("q"); got.Status != http.StatusOK {
			t.Errorf("%s %s: the third time has status %d", c.provider, c.kind, got.Status)
		}
		if got := ask("another"); got.Status != c.status {
			t.Errorf("%s %s: another request has status %d", c.provider, c.kind, got.Status)
		}
		if s.Attempts = nil; ask("q").Status != c.status {
			t.Errorf("%s %s: without memory the status is another", c.provider, c.kind)
		}
	}
}

// TestContentRefusals holds, for each provider and kind, that a request is refused as
// long as it holds what the kind names, and no longer.
func TestContentRefusals(t *testing.T) {
	for _, c := range []struct{ provider, kind, held, left, words string }{
		{"anthropic", "image", `{"messages":[{"content":[{"type":"image"}]}]}`,
			`{"messages":[{"content":[{"type":"text","text":"\"type\":\"image\""}]}]}`, "process image"},
		{"openai", "image", `{"input":[{"output":[{"type":"input_image"}]}]}`, `{"input":[]}`, "image_parse_error"},
		{"gemini", "image", `{"contents":[{"parts":[{"functionResponse":{"parts":[{"inlineData":{}}]}}]}]}`,
			`{"contents":[]}`, "process input image"},
		{"anthropic", "token", `{"messages":[{"content":[{"type":"thinking","signature":"EjQ"}]}]}`,
			`{"messages":[{"content":[{"type":"thinking","signature":""}]}]}`, "Invalid `signature`"},
		{"openai", "token", `{"input":[{"encrypted_content":"gAAA"}]}`, `{"input":[{"encrypted_content":null}]}`,
			"invalid_encrypted_content"},
		{"gemini", "token", `{"contents":[{"parts":[{"thoughtSignature":"EjQ"}]}]}`,
			`{"contents":[{"parts":[{"thoughtSignature":"skip_thought_signature_validator"}]}]}`,
			"Corrupted thought signature."},
		{"anthropic", "effort", `{"output_config":{"effort":"max"}}`, `{"output_config":{"effort":"high"}}`,
			"effort level 'max'"},
		{"openai", "effort", `{"reasoning":{"effort":"xhigh"}}`, `{"reasoning":{"effort":"medium"}}`,
			"reasoning.effort"},
		{"gemini", "effort", `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high"}}}`, `{}`,
			"Thinking level HIGH"},
		{"anthropic", "tool", `srv__conform_noargs`, "conform_echo", "tools.1.custom.input_schema"},
		{"openai", "tool", `conform_noargs`, "conform_echo", "'conform_noargs'"},
		{"gemini", "tool", `conform_noargs`, "conform_echo", "function_declarations[1]"},
	} {
		ask := func(holds string) script.Plan {
			r := script.Reply{Request: script.Request{Provider: c.provider, Form: script.FormUnary,
				Body: []byte(holds)}, Turn: specs.Turn{Refuse: &specs.Rejection{Kind: c.kind, Times: 1}}}
			if c.kind == "tool" {
				r.Request.Tools, r.Request.Body = []string{"other", holds}, []byte("{}")
			}
			return plainly(c.provider, "{}").PlanReply(r)
		}
		if got := ask(c.held); got.Status != 400 || !got.Injected || !strings.Contains(string(got.Writes[0]), c.words) {
			t.Errorf("%s %s: %d %s", c.provider, c.kind, got.Status, got.Writes)
		}
		if got := ask(c.left); got.Status != 200 {
			t.Errorf("%s %s: what does not hold it is refused", c.provider, c.kind)
		}
	}
}

// TestRefusedWhileItHolds: with a text each request is refused that holds it, and no other.
func TestRefusedWhileItHolds(t *testing.T) {
	s := &script.Script{Key: seal.NewKey("x"), Seed: "s", Now: func() time.Time { return time.Unix(0, 0) },
		Attempts: new(script.Attempts), Scenario: &specs.Scenario{
			Targets: []specs.Target{{Provider: "openai", Model: "m"}},
			Turns: []specs.Turn{{Emit: []specs.Block{{Kind: specs.KindText, Text: "a"}},
				Refuse: &specs.Rejection{Kind: "context", Times: 1, Holds: "the {{nonce}}"}}},
		}}
	held := `{"input":[{"role":"user","content":"all of \u0074he ` + specs.Nonce("s", "") + `."}]}`
	for _, c := range []struct {
		body   string
		status int
	}{{held, 400}, {held, 400}, {`{"input":"the"}`, 200}, {held, 400}} {
		reply, refusal := s.Reply(script.Request{Provider: "openai", Model: "m", Body: []byte(c.body)})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if got := plainly("openai", "{}").PlanReply(reply); got.Status != c.status {
			t.Errorf("%s: status %d, want %d", c.body, got.Status, c.status)
		}
	}
}

func TestStall(t *testing.T) {
	turn := specs.Turn{Stall: &specs.After{"openai": 2}}
	for form, want := range map[script.Form]int{script.FormSSE: 2, script.FormUnary: 0} {
		frames := []string{"a", "b", "c"}
		if form == script.FormUnary {
			frames = frames[:1]
		}
		got := plainly("openai",
			frames...).PlanReply(script.Reply{Request: script.Request{Provider: "openai", Form: form}, Turn: turn})
		if !got.Stall || len(got.Writes) != want || got.Document() {
			t.Errorf("form %d: %+v", form, got)
		}
	}
}

// TestGrease holds what is added, and that every event stays JSON.
func TestGrease(t *testing.T) {
	streams := map[string][]string{
		"anthropic": {"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
			"event: ping\ndata: {}\n\n"},
		"openai": {"event: response.created\ndata: {\"sequence_number\":0}\n\n",
			"event: response.completed\ndata: {\"text\":\"\\\"sequence_number\\\":1\",\"sequence_number\":1}\n\n"},
		"gemini": {"data: {\"a\": {\"b\": 1}}\r\n\r\n", "data: {\"c\": 2}\r\n\r\n"},
	}
	for _, c := range []struct {
		provider string
		grease   []specs.Grease
		want     []string // one substring of each frame
	}{
		{"anthropic", []specs.Grease{specs.GreaseStart}, []string{"message_start", "message_start", "ping"}},
		{"anthropic", []specs.Grease{specs.GreaseEvent}, []string{"message_start", "future_event", "ping"}},
		{"anthropic", []specs.Grease{specs.GreaseField},
			[]string{`"message":{},"x_future_field"`, `{"x_future_field"`}},
		{"openai", []specs.Grease{specs.GreaseEvent},
			[]string{`"sequence_number":0`, `"sequence_number":1`, `\"sequence_number\":1","sequence_number":2`}},
		{"gemini", []specs.Grease{specs.GreaseEvent, specs.GreaseField},
			[]string{`"a": {"b": 1},"x_future_field"`, `"futureUpdate"`, `"c": 2,"x_future_field"`}},
		{"gemini", nil, []string{`"a"`, `"c"`}},
	} {
		r := script.Reply{Request: script.Request{Provider: c.provider}, Turn: specs.Turn{Grease: c.grease}}
		got := plainly(c.provider, streams[c.provider]...).PlanReply(r).Writes
		if len(got) != len(c.want) {
			t.Fatalf("%s %v: %d frames, want %d", c.provider, c.grease, len(got), len(c.want))
		}
		for i, frame := range got {
			_, data, _ := strings.Cut(string(frame), "data: ")
			if !strings.Contains(string(frame), c.want[i]) || !json.Valid([]byte(data)) {
				t.Errorf("%s %v: frame %d is %q, want %s", c.provider, c.grease, i, frame, c.want[i])
			}
		}
	}
	one := plainly("openai",
		"{\n  \"a\": 1\n}\n").PlanReply(script.Reply{Request: script.Request{Form: script.FormUnary,
		Provider: "openai"}, Turn: specs.Turn{Grease: []specs.Grease{specs.GreaseEvent, specs.GreaseField}}}).Writes
	if len(one) != 1 || !json.Valid(one[0]) || !bytes.Contains(one[0], []byte("x_future_field")) {
		t.Errorf("a document becomes %s", one)
	}
}
