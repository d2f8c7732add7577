package check_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAskedModelAnswers: another model than the one that was asked for is named, by the reply
// or by a header; one that the request allows, or whose name says nothing, is not.
func TestAskedModelAnswers(t *testing.T) {
	const openAI, anthropic, gemini = `{"id":"resp_1","status":"completed","output":[],"model":"MODEL"}`,
		`{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"MODEL"}`,
		`{"candidates":[],"modelVersion":"MODEL"}`
	for name, tt := range map[string]struct{ provider, asked, more, reply, answered, header, host, want string }{
		"another": {provider: "openai", asked: "gpt-6-astra", reply: openAI, answered: "gpt-5.5-2026-04-23",
			want: `"gpt-6-astra" was asked for, and the reply is of "gpt-5.5-2026-04-23"`},
		"a snapshot": {provider: "openai", asked: "gpt-5.5", reply: openAI, answered: "gpt-5.5-2026-04-23"},
		"by the header": {provider: "openai", asked: "gpt-5.3-codex", reply: openAI, answered: "gpt-5.3-codex",
			header: "gpt-5.2", want: `the header openai-model is of "gpt-5.2"`},
		"the same header": {provider: "openai", asked: "gpt-5.3-codex", reply: openAI, answered: "gpt-5.3-codex",
			header: "gpt-5.3-codex"},
		"of a gateway": {provider: "openai", asked: "gpt-5.5", reply: openAI, answered: "glm-5",
			host: "gateway.example", want: "its host may have names of its own"},
		"a gateway's name": {provider: "openai", asked: "fast", reply: openAI, answered: "glm-5",
			host: "gateway.example"},
		"a deployment": {provider: "openai", asked: "my-gpt-4o", reply: openAI, answered: "gpt-4.1",
			host: "gateway.example"},
		"another of Claude": {provider: "anthropic", asked: "claude-fable-5", reply: anthropic,
			answered: "claude-opus-4-8", want: "claude-opus-4-8"},
		"a fallback": {provider: "anthropic", asked: "claude-fable-5",
			more: `"fallbacks":[{"model":"claude-opus-4-8"}],`, reply: anthropic, answered: "claude-opus-4-8"},
		"another of Gemini": {provider: "gemini", asked: "gemini-3-pro-preview", reply: gemini,
			answered: "gemini-3-flash-preview", want: "gemini-3-flash-preview"},
		"with its folder": {provider: "gemini", asked: "gemini-2.5-pro", reply: gemini,
			answered: "models/gemini-2.5-pro"},
		"nothing said": {provider: "openai", asked: "gpt-5.5", reply: openAI, answered: ""},
	} {
		body := map[string]string{"openai": `"input":"hi"}`,
			"anthropic": `"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			"gemini":    `"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`}[tt.provider]
		x := asked(0, tt.provider, `{"model":"`+tt.asked+`",`+tt.more+body, 200,
			strings.Replace(tt.reply, "MODEL", tt.answered, 1))
		if tt.header != "" {
			x.Response.Header = http.Header{"Openai-Model": {tt.header}}
		}
		if tt.host != "" {
			x.Request.URL = "https://" + tt.host + "/v1/responses"
		}
		res := find(t, "MOD-004/answers").Run(recording(x))
		if (len(res.Findings) > 0) != (tt.want != "") ||
			tt.want != "" && !strings.Contains(res.Findings[0].Message, tt.want) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}
