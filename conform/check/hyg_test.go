package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// nested is a request whose prompt is so many lists deep.
func nested(levels int) string {
	return `{"input":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
}

const modelKey = "heron-kite-0123456789"

// TestHygiene: each check finds its breach at its place, and nothing in the nearest legal
// request.
func TestHygiene(t *testing.T) {
	const openAI, anthropic, gemini = "https://api.openai.com/v1/responses", "https://api.anthropic.com/v1/messages",
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:generateContent"
	bearer := http.Header{"Authorization": {"Bearer " + modelKey}}
	for _, c := range []struct {
		name, check, url, body, path string
		header                       http.Header
	}{
		{"twice in an item", "HYG-002/member-once", openAI, `{"input":[{"role":"user","role":"user","content":"a"}]}`,
			"input[0].role", nil},
		{"twice at the top", "HYG-002/member-once", gemini, `{"contents":[],"contents":[]}`, "contents", nil},
		{"the model's own arguments", "HYG-002/member-once", anthropic,
			`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":1,"x":2}}]}]}`, "", nil},
		{"one in each of two", "HYG-002/member-once", openAI,
			`{"input":[{"role":"user","content":"a"},{"role":"user","content":"a"}]}`, "", nil},
		{"a byte order mark", "HYG-003/one-document", openAI, "\xEF\xBB\xBF" + `{"input":"a"}`, "-", nil},
		{"a raw control character", "HYG-003/one-document", openAI, "{\"input\":\"a\x07\"}", "-", nil},
		{"two documents", "HYG-003/one-document", openAI, `{"input":"a"}{"input":"b"}`, "-", nil},
		{"cut", "HYG-003/one-document", openAI, `{"input":"a`, "-", nil},
		{"nested 502 levels deep", "HYG-003/one-document", openAI, nested(501), "-", nil},
		{"nested 501 levels deep", "HYG-003/one-document", openAI, nested(500), "", nil},
		{"white space around it", "HYG-003/one-document", openAI, "\n {\"input\":\"a\\u0007\"}\r\n", "", nil},
		{"a parameter", "HYG-004/key-in-url", openAI + "?api_key=x", `{"input":"a"}`, "url", nil},
		{"a password", "HYG-004/key-in-url", "https://me:" + modelKey + "@api.openai.com/v1/responses", `{"input":"a"}`,
			"url", nil},
		{"as Gemini documents it", "HYG-004/key-in-url", gemini + "?alt=sse&key=x", `{"contents":[]}`, "", nil},
		{"another parameter", "HYG-004/key-in-url", openAI + "?beta=true", `{"input":"a"}`, "", nil},
		{"in a prompt", "HYG-004/key-in-body", openAI, `{"instructions":"x","input":[{"role":"user","content":"key=` +
			modelKey + `"}]}`, "input[0].content", bearer},
		{"another key", "HYG-004/key-in-body", openAI, `{"input":"key=kite-heron-0123456789"}`, "", bearer},
		{"taken out by the recorder", "HYG-004/key-in-body", openAI, `{"input":"REDACTED"}`, "",
			http.Header{"Authorization": {"REDACTED"}}},
		{"of Anthropic", "HYG-005/own-headers", openAI, `{"input":"a"}`, "x-api-key", http.Header{"X-Api-Key": {"a"}}},
		{"at a gateway", "HYG-005/own-headers", "https://gateway.example/v1/responses", `{"input":"a"}`, "",
			http.Header{"X-Api-Key": {"a"}}},
		{"both", "HYG-006/one-key", anthropic, `{"messages":[]}`, "x-api-key",
			http.Header{"X-Api-Key": {"a"}, "Authorization": {"Bearer b"}}},
		{"one header twice", "HYG-006/one-key", anthropic, `{"messages":[]}`, "x-api-key",
			http.Header{"X-Api-Key": {"a", "b"}}},
		{"the same in both places", "HYG-006/one-key", gemini + "?key=a", `{"contents":[]}`, "",
			http.Header{"X-Goog-Api-Key": {"a"}}},
		{"two in both places", "HYG-006/one-key", gemini + "?key=a", `{"contents":[]}`, "x-goog-api-key",
			http.Header{"X-Goog-Api-Key": {"b"}}},
	} {
		provider := map[bool]string{true: evidence.OpenAI,
			false: evidence.Anthropic}[strings.Contains(c.url, "responses")]
		if strings.Contains(c.url, "generateContent") {
			provider = evidence.Gemini
		}
		x := evidence.Exchange{Provider: provider,
			Request: evidence.Request{Method: http.MethodPost, URL: c.url, Header: c.header, Body: []byte(c.body)}}
		res := find(t, c.check).Run(recording(x))
		path := strings.TrimPrefix(c.path, "-")
		switch {
		case c.path == "" && len(res.Findings) > 0:
			t.Errorf("%s: %s: minds a legal request: %s", c.check, c.name, res.Findings[0].Message)
		case c.path != "" && (len(res.Findings) != 1 || res.Findings[0].Path != path || res.Observed == 0):
			t.Errorf("%s: %s: %+v", c.check, c.name, res)
		}
		for _, f := range res.Findings {
			if strings.Contains(f.Message, modelKey) {
				t.Errorf("%s: %s: the message shows the key", c.check, c.name)
			}
		}
	}
}
