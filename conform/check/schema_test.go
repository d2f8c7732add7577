package check

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// messageEvidence is one exchange with given bodies.
func messageEvidence(provider, request, reply string, status int) *evidence.Evidence {
	url := map[string]string{
		evidence.Anthropic: "https://api.anthropic.com/v1/messages",
		evidence.OpenAI:    "https://api.openai.com/v1/responses",
		evidence.Gemini:    "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:generateContent",
	}[provider]
	return &evidence.Evidence{Source: evidence.SourceSimulator, Exchanges: []evidence.Exchange{{
		Provider: provider, Request: evidence.Request{Method: "POST", URL: url, Body: []byte(request)},
		Response: evidence.Response{Status: status, Body: []byte(reply)},
	}}}
}

// TestFollowsSchema breaks one field for each provider and expects one finding at it;
// the nearest legal request gets none.
func TestFollowsSchema(t *testing.T) {
	for _, c := range []struct{ provider, good, bad, path string }{
		{evidence.Anthropic,
			`{"model":"claude-opus-4-6","max_tokens":1,"messages":[{"role":"user","content":"hi"}],"new_field":1}`,
			`{"model":"claude-opus-4-6","max_tokens":1,"messages":[{"role":"user","content":7}]}`,
			"messages[0].content"},
		{evidence.OpenAI, `{"model":"gpt-5.5","input":"hi","temperature":1}`,
			`{"model":"gpt-5.5","input":"hi","temperature":"1"}`, "temperature"},
		{evidence.Gemini, `{"contents":[{"parts":{"text":"hi"}}]}`, `{"contents":[{"parts":"hi"}]}`,
			"contents[0].parts"},
		{evidence.Gemini, `{"contents":[{"parts":[{"text":""}]}]}`, `{"contents":[{"parts":[{"text":7}]}]}`,
			"contents[0].parts[0].text"},
		{evidence.OpenAI,
			`{"model":"gpt-5.5","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`,
			`{"model":"gpt-5.5","input":[{"type":"function_call","call_id":"c","name":"f","arguments":{}}]}`,
			"input[0].arguments"},
	} {
		for body, want := range map[string]string{c.good: "", c.bad: c.path} {
			var r report
			followsSchema(Decode(messageEvidence(c.provider, body, "", 0)), &r)
			switch {
			case r.Observed != 1:
				t.Errorf("%s: observed %d", body, r.Observed)
			case want == "" && len(r.Findings) > 0:
				t.Errorf("%s: %s", body, r.Findings[0].Message)
			case want != "" && (len(r.Findings) != 1 || r.Findings[0].Path != want || r.Findings[0].Offset < 1):
				t.Errorf("%s: %+v, want one at %s", body, r.Findings, want)
			}
		}
	}
}

// wholeResponse is a reply of OpenAI in one piece with a status.
func wholeResponse(status string) string {
	return `{"id":"r","object":"response","created_at":1,"model":"gpt-5.2","status":"` + status + `","output":[]}`
}

// TestBrokenReply holds streams, documents and refusals of each provider against
// their schemas.
func TestBrokenReply(t *testing.T) {
	for _, c := range []struct {
		provider, reply string
		status          int
		want            string
	}{
		{evidence.Anthropic, "event: ping\ndata: {\"type\":\"ping\"}\n\n", 200, ""},
		{evidence.Anthropic, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\"}\n\n", 200,
			"reply to request 0, document 0, breaks the schema anthropic.event: index is required"},
		{evidence.Anthropic, "data: {\"type\":\"content_block_stop\"", 200, ""}, // cut
		{evidence.Anthropic,
			`{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, 200, ""},
		{evidence.Anthropic,
			`{"id":"m","type":"message","role":"assistant","model":"x","content":"hi","usage":{"input_tokens":1,"output_tokens":1}}`, 200, "anthropic.event: message: "},
		{evidence.Anthropic, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, 529, ""},
		{evidence.Anthropic, `{"type":"error","error":"busy"}`, 529, "anthropic.event: error"},
		{evidence.OpenAI,
			`data: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":1,"sequence_number":1}` + "\n\n", 200, "delta: Invalid type"},
		{evidence.OpenAI, "data: [DONE]\n\n", 200, ""},
		{evidence.OpenAI, `{"id":"r","object":"response","status":"completed","output":"hi"}`, 200,
			"openai.event: response: "},
		{evidence.OpenAI, wholeResponse("completed"), 200, ""},
		{evidence.OpenAI, wholeResponse("incomplete"), 200, ""},
		{evidence.OpenAI, wholeResponse("failed"), 200, ""},
		{evidence.OpenAI, "data: " + `{"type":"response.completed","sequence_number":0,"response":` +
			wholeResponse("incomplete") + "}\n\n", 200, "response.status does not match"},
		{evidence.OpenAI, `{"error":{"message":"no"}}`, 400, ""},
		{evidence.Gemini, `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`, 200, ""},
		{evidence.Gemini, `{"candidates":{}}`, 200, "candidates: Invalid type"},
		{evidence.Gemini, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, 400, ""},
		{evidence.OpenAI, "", 200, ""},
	} {
		got := Decode(messageEvidence(c.provider, `{}`, c.reply, c.status)).BrokenReply()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.reply, got, c.want)
		}
	}
}
