package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// talk is how one provider is asked, and answered with what it said before.
type talk struct {
	url string
	// ask is the first request.
	ask string
	// reply is the next request: the first one, what the model said, and the
	// result "a heron came back".
	reply func(ask, said map[string]any) map[string]any
	// seals are the names of the tokens in what a model says.
	seal string
	// broken is what a provider says of a token that was altered.
	broken string
}

const echoSchema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

var talks = map[string]talk{
	"anthropic": {
		url: "/anthropic/v1/messages",
		ask: `{"model":"claude-opus-4-6","max_tokens":2048,"thinking":{"type":"adaptive"},
			"tools":[{"name":"bash","input_schema":` + echoSchema + `},{"name":"echo","input_schema":` + echoSchema + `}],
			"messages":[{"role":"user","content":"Echo the word \"heron\"."}]}`,
		reply: func(ask, said map[string]any) map[string]any {
			content := said["content"].([]any)
			call := content[len(content)-1].(map[string]any)
			result := map[string]any{"type": "tool_result", "tool_use_id": call["id"], "content": "a heron came back"}
			ask["messages"] = append(ask["messages"].([]any), map[string]any{"role": "assistant", "content": content},
				map[string]any{"role": "user", "content": []any{result}})
			return ask
		},
		seal: "signature", broken: "messages.1.content.0: Invalid `signature` in `thinking` block",
	},
	"openai": {
		url: "/openai/v1/responses",
		ask: `{"model":"gpt-5.5","store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},
			"tools":[{"type":"function","name":"bash","parameters":` + echoSchema + `},{"type":"function","name":"echo","parameters":` + echoSchema + `}],
			"input":[{"role":"user","content":"Echo the word \"heron\"."}]}`,
		reply: func(ask, said map[string]any) map[string]any {
			output := said["output"].([]any)
			call := output[len(output)-1].(map[string]any)
			ask["input"] = append(append(ask["input"].([]any), output...),
				map[string]any{"type": "function_call_output", "call_id": call["call_id"],
					"output": "a heron came back"})
			return ask
		},
		seal: "encrypted_content", broken: "could not be verified",
	},
	"gemini": {
		url: "/gemini/v1beta/models/gemini-3.5-flash:generateContent",
		ask: `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},
			"tools":[{"functionDeclarations":[{"name":"bash","parametersJsonSchema":` + echoSchema + `},{"name":"echo","parametersJsonSchema":` + echoSchema + `}]}],
			"contents":[{"role":"user","parts":[{"text":"Echo the word \"heron\"."}]}]}`,
		reply: func(ask, said map[string]any) map[string]any {
			content := said["candidates"].([]any)[0].(map[string]any)["content"].(map[string]any)
			var response map[string]any
			for _, p := range content["parts"].([]any) {
				if call, ok := p.(map[string]any)["functionCall"].(map[string]any); ok {
					response = map[string]any{"name": call["name"], "id": call["id"],
						"response": map[string]any{"output": "a heron came back"}}
				}
			}
			ask["contents"] = append(ask["contents"].([]any), content,
				map[string]any{"role": "user", "parts": []any{map[string]any{"functionResponse": response}}})
			return ask
		},
		seal: "thoughtSignature", broken: "thought signature",
	},
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func asJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestTalk holds that without a script each provider thinks, calls the tool that
// the prompt names, and reports; and that it refuses a token that was altered.
func TestTalk(t *testing.T) {
	h := New(Config{Seed: "talk"})
	for name, c := range talks {
		first := answer(t, h, "POST", c.url, c.ask)
		if first.Code != 200 || !strings.Contains(strings.ReplaceAll(first.Body.String(), " ", ""),
			`{"text":"heron"}`) &&
			!strings.Contains(first.Body.String(), `{\"text\":\"heron\"}`) &&
			!strings.Contains(first.Body.String(), `"text": "heron"`) {
			t.Errorf("%s calls no tool: %d %s", name, first.Code, first.Body)
			continue
		}
		again := c.reply(object(t, c.ask), object(t, first.Body.String()))
		if second := answer(t, h, "POST", c.url, asJSON(again)); second.Code != 200 ||
			!strings.Contains(second.Body.String(), "a heron came back") {
			t.Errorf("%s does not report: %d %s", name, second.Code, second.Body)
		}
		if altered := answer(t, h, "POST", c.url, alter(t, asJSON(again), c.seal)); altered.Code != 400 ||
			!strings.Contains(altered.Body.String(), c.broken) {
			t.Errorf("%s takes an altered token: %d %s", name, altered.Code, altered.Body)
		}
	}
}

// TestReminders holds that what agents write beside results is not a new prompt.
func TestReminders(t *testing.T) {
	h := New(Config{})
	text := map[string]any{"type": "text", "text": "<system-reminder>Go on.</system-reminder>"}
	for name, key := range map[string][2]string{"anthropic": {"messages", "content"}, "gemini": {"contents", "parts"}} {
		c := talks[name]
		first := answer(t, h, "POST", c.url, c.ask)
		again := c.reply(object(t, c.ask), object(t, first.Body.String()))
		said := again[key[0]].([]any)
		last := said[len(said)-1].(map[string]any)
		if last[key[1]] = append(last[key[1]].([]any), text); name == "gemini" {
			delete(text, "type")
		}
		if w := answer(t, h, "POST", c.url, asJSON(again)); w.Code != 200 ||
			!strings.Contains(w.Body.String(), "a heron came back") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		text["type"] = "text"
	}
}

// alter changes one character in the middle of the first token called name.
func alter(t *testing.T, body, name string) string {
	t.Helper()
	_, token, ok := strings.Cut(body, `"`+name+`":"`)
	token, _, _ = strings.Cut(token, `"`)
	if !ok || len(token) < 100 {
		t.Fatalf("no %s in %s", name, body)
	}
	at := len(token) / 2
	other := "A"
	if token[at] == 'A' {
		other = "B"
	}
	return strings.ReplaceAll(body, token, token[:at]+other+token[at+1:])
}

// TestAccounts holds that a token does not verify under another account's key.
func TestAccounts(t *testing.T) {
	h := New(Config{})
	c := talks["anthropic"]
	first := answer(t, h, "POST", c.url, c.ask)
	again := asJSON(c.reply(object(t, c.ask), object(t, first.Body.String())))
	own := credentials["anthropic"]
	credentials["anthropic"] = http.Header{"X-Api-Key": {"fake@other"}, "Anthropic-Version": {"2023-06-01"}}
	defer func() { credentials["anthropic"] = own }()
	if other := answer(t, h, "POST", c.url, again); other.Code != 400 ||
		!strings.Contains(other.Body.String(), c.broken) {
		t.Errorf("%d %s", other.Code, other.Body)
	}
}

// TestSwitchedOff holds that a rule that is off refuses nothing.
func TestSwitchedOff(t *testing.T) {
	const body = `{"model":"claude-opus-4-6","max_tokens":2048,"messages":[{"role":"user","content":"x"}],"foo":1}`
	if w := answer(t, New(Config{}), "POST", "/anthropic/v1/messages", body); w.Code != 400 {
		t.Errorf("an unknown field is taken: %d", w.Code)
	}
	if w := answer(t, New(Config{Off: []string{"A-5"}}), "POST", "/anthropic/v1/messages", body); w.Code != 200 {
		t.Errorf("switched off, it is refused: %d %s", w.Code, w.Body)
	}
}

// TestSides holds that a script sees the main loop only: titles, probes, counts
// and lists are answered beside it.
func TestSides(t *testing.T) {
	h := New(Config{Scenario: everyScenario(t)})
	for _, c := range []struct{ url, body, want string }{
		{"/anthropic/v1/messages",
			`{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`,
			`"stop_reason":"max_tokens"`},
		{"/anthropic/v1/messages",
			`{"model":"claude-haiku-4-5","max_tokens":200,"system":"Generate a concise, sentence-case title (3-7 words).","messages":[{"role":"user","content":"Mend the clock"}]}`, `"Mend the clock"`},
		{"/openai/v1/responses",
			`{"model":"gpt-5.5","instructions":"You are a title generator.","input":"Mend the clock"}`,
			`"Mend the clock"`},
		{"/gemini/v1beta/models/gemini-3.5-flash:generateContent",
			`{"systemInstruction":{"parts":[{"text":"You are a Task Routing AI."}]},"contents":[{"role":"user","parts":[{"text":"Mend the clock"}]}]}`, `"Mend the clock"`},
		{"/anthropic/v1/messages/count_tokens",
			`{"model":"claude-opus-4-6","messages":[{"role":"user","content":"quota"}]}`, `{"input_tokens":`},
		{"/openai/v1/responses/input_tokens", `{"model":"gpt-5.5","input":"x"}`,
			`{"object":"response.input_tokens","input_tokens":`},
		{"/gemini/v1beta/models/gemini-3.5-flash:countTokens", `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
			`"totalTokens":`},
	} {
		if w := answer(t, h, "POST", c.url, c.body); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.url, c.body, w.Code, w.Body)
		}
	}
	const main = `{"model":"claude-opus-4-6","max_tokens":2048,"messages":[{"role":"user","content":"go"}]}`
	if w := answer(t, h, "POST", "/anthropic/v1/messages", main); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "no tool of the request ends in conform_echo") {
		t.Errorf("the main loop is taken for something else: %d %s", w.Code, w.Body)
	}
}

func TestModels(t *testing.T) {
	h := New(Config{})
	for url, want := range map[string]string{
		"/anthropic/v1/models?limit=2":           `"has_more":true`,
		"/anthropic/v1/models/claude-opus-4-5":   `"id":"claude-opus-4-5-20251101"`,
		"/openai/v1/models":                      `"id":"gpt-5.2"`,
		"/openai/v1/models/gpt-5.2":              `"object":"model"`,
		"/gemini/v1beta/models?pageSize=2":       `"nextPageToken"`,
		"/gemini/v1beta/models/gemini-3.5-flash": `"name": "models/gemini-3.5-flash"`,
		"/gemini/v1/models/gemini-3.5-flash":     `"generateContent"`,
	} {
		if w := answer(t, h, "GET", url, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) ||
			w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}

// TestHeaders holds that every answer says what real ones say.
func TestHeaders(t *testing.T) {
	h := New(Config{})
	for url, want := range map[string][]string{
		"/anthropic/v1/models": {"Request-Id", "Anthropic-Organization-Id", "Date"},
		"/anthropic/v1/what":   {"Request-Id"},
		"/openai/v1/models": {"X-Request-Id", "Openai-Version", "Openai-Processing-Ms",
			"X-Ratelimit-Limit-Requests"},
		"/openai/v1/what":       {"X-Request-Id", "Openai-Version"},
		"/gemini/v1beta/models": {"Server-Timing", "Server", "Vary"},
		"/gemini/v1beta/what":   {"Vary"},
	} {
		w := answer(t, h, "GET", url, "")
		for _, name := range want {
			if w.Header().Get(name) == "" {
				t.Errorf("%s %d: no %s in %v", url, w.Code, name, w.Header())
			}
		}
	}
}

// TestRefusalIDs holds that Anthropic's id of a request is the same in header and
// body, and another for another refusal.
func TestRefusalIDs(t *testing.T) {
	h, seen := New(Config{}), map[string]bool{}
	own := credentials["anthropic"]
	defer func() { credentials["anthropic"] = own }()
	for _, key := range []string{"fake", "sk-ant-" + longKey, "invalid", ""} {
		credentials["anthropic"] = http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}
		w := answer(t, h, "POST", "/anthropic/v1/messages", "{}")
		id := w.Header().Get("Request-Id")
		if said := object(t, w.Body.String())["request_id"]; w.Code < 400 || said != id || seen[id] {
			t.Errorf("key %q: %d, header %s, body %s", key, w.Code, id, w.Body)
		}
		seen[id] = true
	}
}

// FuzzAnything holds that any body gets an answer of the provider's shape.
func FuzzAnything(f *testing.F) {
	for _, c := range talks {
		f.Add([]byte(c.ask))
	}
	for _, s := range []string{"", "null", "[]", "{}", `{"model":1}`,
		`{"model":"gpt-5.5","input":[{"type":"reasoning","id":"rs_1"}],"previous_response_id":"x"}`,
		`{"model":"gpt-5.5","input":"x","background":true,"store":null}`} {
		f.Add([]byte(s))
	}
	h := New(Config{})
	lenient := New(Config{Level: 2, ForeignTokens: true})
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, c := range talks {
			for _, url := range []string{c.url, map[string]string{
				"anthropic": "/anthropic/v1/messages/count_tokens", "openai": "/openai/v1/responses/input_tokens",
				"gemini": "/gemini/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse"}[name]} {
				for _, server := range []http.Handler{h, lenient} {
					w := answer(t, server, "POST", url, string(body))
					if w.Code != 200 && !inShape(name, w.Code, w.Body.Bytes()) {
						t.Fatalf("%s: %d %q", url, w.Code, w.Body)
					}
				}
			}
		}
	})
}
