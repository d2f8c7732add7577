package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/wire"
)

// line writes items as one short line.
func line(items []wire.Item) string {
	var out []string
	for _, it := range items {
		s := fmt.Sprintf("%s %q", it.What, it.Text+it.Args)
		for _, f := range []string{it.ID, it.ItemID, it.Name, it.Token} {
			if f != "" {
				s += " " + f
			}
		}
		if !it.Done {
			s += " open"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

type replyCase struct {
	name        string
	status      int
	body        string
	end         wire.End
	stop, items string
}

func readsReplies(t *testing.T, provider string, cases []replyCase) {
	t.Helper()
	for _, c := range cases {
		r := wire.ReadReply(provider, c.status, []byte(c.body))
		if r.End != c.end || r.Stop != c.stop || line(r.Items) != c.items {
			t.Errorf("%s: %s %q\n got %s\nwant %s", c.name, r.End, r.Stop, line(r.Items), c.items)
		}
	}
}

func TestReadAnthropicReply(t *testing.T) {
	readsReplies(t, "anthropic", []replyCase{
		{"interleaved blocks", 200, sse(
			`{"type":"message_start","message":{"id":"m","model":"x","content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S1"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S2"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_stop","index":1}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			wire.Complete, "tool_use", `thinking "hm" S1S2; tool call "{\"a\":1}" t1 f`},
		{"no arguments", 200, sse(
			`{"type":"message_start","message":{"content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_stop"}`),
			wire.Complete, "", `tool call "{}" t1 f`},
		{"arguments at the start", 200, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{"q":"x"}}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_stop"}`),
			wire.Complete, "", `tool call "{\"q\":\"x\"}" t1 f`},
		{"content in message_start", 200, sse(
			`{"type":"message_start","message":{"content":[{"type":"tool_use","id":"t1","name":"f","input":{"q":1}}],"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			wire.Complete, "tool_use", `tool call "{\"q\":1}" t1 f`},
		{"cut", 200, sse(
			`{"type":"message_start","message":{"content":[]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ha"}}`) +
			"data: {\"type\":\"mess",
			wire.Cut, "", `text "Ha" open`},
		{"error event", 200, sse(`{"type":"message_start","message":{"content":[]}}`,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, `{"type":"message_stop"}`),
			wire.Failed, "", ``},
		{"refused", 400, `{"type":"error","error":{"message":"no"}}`, wire.Refused, "", ``},
		{"document", 200,
			`{"type":"message","content":[{"type":"redacted_thinking","data":"D"},{"type":"web_search_tool_result","tool_use_id":"s1"}],"stop_reason":"end_turn"}`,
			wire.Complete, "end_turn", `redacted thinking "" D; block ""`},
		{"nothing came", 0, ``, wire.Absent, "", ``},
		{"not JSON", 200, `<html>`, wire.Cut, "", ``},
	})
}

func TestReadOpenAIReply(t *testing.T) {
	readsReplies(t, "openai", []replyCase{
		{"draft and final blob", 200, sse(
			`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"draft","summary":[]}}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"final","summary":[{"type":"summary_text","text":"s"}]}}`,
			`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs_1","encrypted_content":"again","summary":[]}]}}`),
			wire.Complete, "completed", `thinking "s" rs_1 final; tool call "{}" c1 fc_1 f open`},
		{"only in the terminal event", 200, sse(
			`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}]}}`),
			wire.Complete, "completed", `text "ab" msg_1`},
		{"incomplete", 200,
			`{"status":"incomplete","output":[{"type":"function_call","status":"incomplete","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a"}]}`,
			wire.Complete, "incomplete", `tool call "{\"a" c1 fc_1 f open`},
		{"flat error", 200, sse(`{"type":"response.created","response":{}}`,
			`{"type":"error","code":"server_error","message":"x"}`), wire.Failed, "", ``},
		{"failed response", 200, `{"status":"failed","error":{"message":"x"},"output":[]}`, wire.Failed, "failed", ``},
		{"in background", 200, `{"status":"queued","output":[]}`, wire.Pending, "queued", ``},
		{"no status", 200, `{"output":[{"role":"assistant","content":"hi"}]}`, wire.Complete, "", `text "hi"`},
	})
}

func TestReadGeminiReply(t *testing.T) {
	readsReplies(t, "gemini", []replyCase{
		{"signed empty tail", 200, sse(
			`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"U0lH"}]},"finishReason":"STOP"}]}`),
			wire.Complete, "STOP", `text "ab"; text "" U0lH`},
		{"calls", 200, sse(
			`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"a":1},"id":"x1"},"thought_signature":"U0lH"},{"functionCall":{"name":"g"}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`),
			wire.Complete, "STOP", `thinking "hm"; tool call "{\"a\":1}" x1 f U0lH; tool call "{}" g`},
		{"call in pieces", 200, sse(
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a"}],"willContinue":true}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}`),
			wire.Complete, "STOP", `tool call "{}" f`},
		{"text after STOP", 200,
			sse(`{"candidates":[{"finishReason":"STOP","content":{"parts":[{"executableCode":{}}]}}]}`,
				`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"MAX_TOKENS"}]}`),
			wire.Complete, "MAX_TOKENS", `block ""; text "x"`},
		{"blocked prompt", 200, sse(`{"promptFeedback":{"blockReason":"SAFETY"}}`), wire.Complete, "SAFETY", ``},
		{"array", 200,
			`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":1}]}]`, wire.Complete, "", `text "ab"`},
		{"array cut", 200, `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"cand`, wire.Cut, "", `text "a"`},
		{"error without framing", 200, sse(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`) +
			`{"error":{"code":500,"message":"x"}}`, wire.Failed, "", `text "a"`},
		{"document without a reason", 200, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, wire.Complete, "",
			`text "a"`},
	})
}

// TestTokensOfOneItem: OpenAI writes a reasoning item's blob three times.
func TestTokensOfOneItem(t *testing.T) {
	r := wire.ReadReply("openai", 200, []byte(sse(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"draft","summary":[]}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"final","summary":[]}}`,
		`{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"again","summary":[]}]}}`)))
	it := r.Items[0]
	if fmt.Sprintf("%s %s %s", it.Token, it.AlsoTokens, it.DraftTokens) != "final [again] [draft]" {
		t.Errorf("%s %v %v", it.Token, it.AlsoTokens, it.DraftTokens)
	}
	if it.TokenAt.Event != 1 {
		t.Errorf("final blob at event %d", it.TokenAt.Event)
	}
}

func TestTokenKey(t *testing.T) {
	if wire.TokenKey("gemini", "-_8=") != wire.TokenKey("gemini", "+/8") {
		t.Error("two spellings of the same bytes differ")
	}
	if wire.TokenKey("anthropic", "-_8=") == wire.TokenKey("anthropic", "+/8=") {
		t.Error("Anthropic's signatures are compared by character")
	}
}

func FuzzReadReply(f *testing.F) {
	for _, p := range []string{"anthropic", "openai", "gemini"} {
		f.Add(p, []byte(sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{}}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`)))
		f.Add(p, []byte(`[{"candidates":[]},`))
		f.Add(p, []byte(`{"output":[{"type":"reasoning"}],"content":[{}]}`))
	}
	f.Fuzz(func(t *testing.T, provider string, body []byte) {
		r := wire.ReadReply(provider, 200, body)
		for _, it := range r.Items {
			if it.Place.Off < 0 || it.Place.Off > len(body) || it.Place.Event >= len(r.Events) {
				t.Fatalf("item at byte %d, event %d", it.Place.Off, it.Place.Event)
			}
		}
	})
}
