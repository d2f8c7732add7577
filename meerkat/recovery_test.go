package meerkat_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// picky is a provider that refuses what a test says, and answers everything else with a
// thought, a block of an unknown type and a text.
type picky struct {
	t      *testing.T
	name   string
	refuse func(body string) string // the words of a refusal, "" for none
	status int
	header http.Header

	mu      sync.Mutex
	bodies  []string
	refused map[string]bool
	calls   bool // the next reply calls the tool look
}

var pickyModels = map[string]string{
	"anthropic": "claude-opus-4-6", "openai": "gpt-5.2", "gemini": "gemini-3-flash-preview",
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused[body] && p.header.Get("X-Should-Retry") == "" {
		p.t.Errorf("%s: the refused bytes came again", p.name)
	}
	p.bodies = append(p.bodies, body)
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	if words := p.refuse(body); words != "" {
		p.refused[body] = true
		if p.status == 0 {
			p.status = 400
		}
		w.WriteHeader(p.status)
		_, _ = io.WriteString(w, p.errorBody(words))
		return
	}
	_, _ = io.WriteString(w, p.reply(len(p.bodies)))
}

func (p *picky) errorBody(words string) string {
	if strings.HasPrefix(words, "{") || strings.HasPrefix(words, "<") {
		return words
	}
	switch p.name {
	case "anthropic":
		return fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, words)
	case "openai":
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, words)
	}
	return fmt.Sprintf(`{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, words)
}

func (p *picky) reply(n int) string {
	calls := p.calls
	p.calls = false
	switch p.name {
	case "anthropic":
		end, stop := fmt.Sprintf(`{"type":"text","text":"ok %d"}`, n), "end_turn"
		if calls {
			end, stop = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"look","input":{}}`, n), "tool_use"
		}
		return fmt.Sprintf(
			`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"thinking","thinking":"hm","signature":"EjQK%d"},{"type":"future_block","note":"new"},%s],"stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":1}}`,
			n, n, end, stop,
		)
	case "openai":
		end := fmt.Sprintf(
			`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok %d","annotations":[]}]}`,
			n, n,
		)
		if calls {
			end = fmt.Sprintf(
				`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"look","arguments":"{}","status":"completed"}`,
				n, n,
			)
		}
		return fmt.Sprintf(
			`{"id":"resp_%d","object":"response","status":"completed","model":"gpt-5.2","output":[{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gAAA%d"},{"type":"future_item","id":"fut_%d","note":"new"},%s],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`,
			n, n, n, n, end,
		)
	}
	end := fmt.Sprintf(`{"text":"ok %d","thoughtSignature":"EjQKMgE%d"}`, n, n%10)
	if calls {
		end = fmt.Sprintf(
			`{"functionCall":{"id":"c%d","name":"look","args":{}},"thoughtSignature":"EjQKMgE%d"}`, n, n%10,
		)
	}
	return fmt.Sprintf(
		`{"candidates":[{"content":{"role":"model","parts":[{"futurePart":{"note":"new"}},%s]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"responseId":"r%d"}`,
		end, n,
	)
}

var pixel = []byte("\x89PNG\r\n\x1a\n not really a picture")

// look is a tool whose result may have a picture.
func look(content string, parts ...transcript.Part) tool.Tool {
	return tool.Tool{Def: transcript.ToolDef{
		Name: "look", InputSchema: transcript.RawJSON(`{"type":"object","properties":{}}`),
	}, Func: func(context.Context, []byte) (transcript.ToolResult, error) {
		return transcript.ToolResult{Content: content, Parts: parts}, nil
	}}
}

// talk gives one prompt after the other in one session, each to an agent of its own as
// separate processes do, and returns the errors.
func (p *picky) talk(change func(n int, b *meerkat.AgentBuilder), prompts ...string) (results []meerkat.RunResult,
	errs []error) {
	p.refused = map[string]bool{}
	server := httptest.NewServer(p)
	defer server.Close()
	store := session.NewMemoryStore()
	var id meerkat.SessionID
	for n, prompt := range prompts {
		b := meerkat.NewAgent().WithKey(p.name,
			fmt.Sprintf("made-up-%d",
				n)).WithModel(pickyModels[p.name]).WithBaseURL(server.URL).WithStore(store).WithUnary().WithRetry(provider.RetryPolicy{})
		if change != nil {
			change(n, b)
		}
		a, err := b.Build()
		if err != nil {
			p.t.Fatal(err)
		}
		var r meerkat.RunResult
		if id == "" {
			r, err = a.Run(context.Background(), prompt)
			id = r.SessionID
		} else {
			r, err = a.Resume(context.Background(), id, prompt)
		}
		a.Close()
		results, errs = append(results, r), append(errs, err)
	}
	return results, errs
}

func has(text string) func(string) bool {
	return func(body string) bool { return strings.Contains(body, text) }
}

// TestRecovery: a refusal is repaired once, in the same run, and the session goes on.
func TestRecovery(t *testing.T) {
	tokenWords := map[string]string{
		"anthropic": "messages.1.content.0: Invalid `signature` in `thinking` block",
		"openai":    "The encrypted content gAAA...xx== could not be verified.",
		"gemini":    "Corrupted thought signature.",
	}
	tokens := map[string]string{"anthropic": "EjQK1", "openai": "gAAA1", "gemini": "EjQKMgE1"}
	opaque := map[string]string{"anthropic": "future_block", "openai": "future_item", "gemini": "futurePart"}
	data := map[string]string{"anthropic": "iVBORw0KGgo", "openai": "iVBORw0KGgo", "gemini": "iVBORw0KGgo"}
	for name, c := range map[string]recoveryCase{
		"tokens": {
			words: func(p string) string { return tokenWords[p] }, when: tokens, rule: "refused-token",
		},
		"opaque, by its name": {
			words: func(p string) string {
				return "Input tag '" + opaque[p] +
					"' does not match any of the expected tags"
			},
			when: opaque, rule: "refused-block",
		},
		"image": {words: func(string) string {
			return "messages.0.content.1.image.source.base64.data: image exceeds 5 MB maximum"
		}, when: data, rule: "refused-media", attach: true},
		"image, a place that is not": {
			words: func(string) string { return "messages.77.content.99: Could not process image" }, when: data,
			rule: "refused-media", attach: true,
		},
		"image, a place with text": {
			words: func(string) string { return "messages.0.content.0: Could not process image" }, when: data,
			rule: "refused-media", attach: true,
		},
		"image in a result": {
			words: func(string) string { return "Unable to process input image" }, when: data, rule: "refused-media",
			calls: true, further: 1,
		},
		"tool by its name": {
			words: func(string) string { return "Invalid schema for function 'look': array schema missing items" },
			when: map[string]string{
				"anthropic": `"name":"look"`, "openai": `"name":"look"`, "gemini": `"name":"look"`,
			},
			rule: "refused-tool",
		},
		"tool by its place": {
			words: func(string) string { return "tools.0.custom.input_schema: JSON schema is invalid" },
			when: map[string]string{
				"anthropic": `"name":"look"`, "openai": `"name":"look"`, "gemini": `"name":"look"`,
			},
			rule: "refused-tool",
		},
		"result without a word": {
			words: func(string) string { return "No." },
			when:  map[string]string{"anthropic": "poison", "openai": "poison", "gemini": "poison"},
			rule:  "refused-message", calls: true, further: 1,
		},
	} {
		for model := range pickyModels {
			t.Run(name+"/"+model, func(t *testing.T) { c.run(t, model) })
		}
	}
}

// recoveryCase is something that a provider refuses until the agent has changed it.
type recoveryCase struct {
	words   func(provider string) string
	when    map[string]string // what a refused body holds
	rule    string
	attach  bool
	calls   bool
	further int // requests beside one for each prompt and one repair
}

// run asks three times, and holds that the agent repairs the conversation once.
func (c recoveryCase) run(t *testing.T, model string) {
	t.Helper()
	image := transcript.Part{Type: "image", MediaType: "image/png", Data: pixel}
	p := &picky{t: t, name: model, calls: c.calls}
	p.refuse = func(body string) string {
		if has(c.when[model])(body) {
			return c.words(model)
		}
		return ""
	}
	results, errs := p.talk(func(n int, b *meerkat.AgentBuilder) {
		content, parts := "seen", []transcript.Part(nil)
		if c.rule == "refused-message" {
			content = "poison"
		}
		if c.rule == "refused-media" && c.calls {
			parts = append(parts, image)
		}
		b.WithTool(look(content, parts...))
		if n == 0 && c.attach {
			b.WithAttached(image)
		}
	}, "one", "two", "three")
	lost := ""
	for i, err := range errs {
		if err != nil {
			t.Errorf("prompt %d: %v", i, err)
		}
		for _, d := range results[i].Degraded {
			lost += " " + d.Rule
		}
	}
	if !strings.Contains(lost, c.rule) {
		t.Errorf("lost%s, want %s", lost, c.rule)
	}
	if n := len(p.refused); n != 1 || len(p.bodies) != 3+1+c.further {
		t.Errorf("%d requests, %d refused", len(p.bodies), n)
	}
}

// TestRefusedForEver: whatever a provider refuses, and however often, no refused bytes
// come again, a run makes few requests, and the next prompt works once the cause is gone.
func TestRefusedForEver(t *testing.T) {
	always := func(words string) func(string) string { return func(string) string { return words } }
	flip := 0
	modes := map[string]struct {
		refuse func(body string) string
		status int
	}{
		"everything, without a word": {refuse: always("No.")},
		"everything, says image":     {refuse: always("messages.0.content.0: Could not process image")},
		"everything, says tokens":    {refuse: always("Invalid `signature` in `thinking` block")},
		"everything, says tool":      {refuse: always("tools.0.custom.input_schema: JSON schema is invalid")},
		"everything, says tool 9":    {refuse: always("tools.99999999999999999999.custom.input_schema: is invalid")},
		"everything, says parameter": {refuse: always("temperature: range: 0..1")},
		"everything, says effort":    {refuse: always("This model does not support the effort parameter.")},
		"everything, says opaque":    {refuse: always("Unknown name \"futurePart\" future_item future_block")},
		"everything, in turn": {
			refuse: func(string) string { flip++; return []string{"image", "`signature`", "tools.0.x", "No."}[flip%4] },
		},
		"everything, an empty object":  {refuse: always("{}")},
		"everything, a page":           {refuse: always("<html><title>Bad Request</title></html>")},
		"everything, unprocessable":    {refuse: always("No."), status: 422},
		"everything, item not found":   {refuse: always("Item with id 'rs_1' not found."), status: 404},
		"everything, unsupported type": {refuse: always("No."), status: 415},
		"an error with status 200": {
			refuse: always(`{"type":"error","error":{"type":"invalid_request_error","message":"No."}}`), status: 200,
		},
		"a long path":      {refuse: always("messages" + strings.Repeat("[0].content", 5000))},
		"a long text":      {refuse: always(strings.Repeat("image ", 20000))},
		"a path of text":   {refuse: always("messages.0.role.content.0.text: Input should be a valid image")},
		"a negative place": {refuse: always("messages.-1.content.0: image")},
		"controls":         {refuse: always("\x1b[2J\x07 image \u202e")},
		"words of all":     {refuse: always("image `signature` tools.0 temperature effort future_block")},
	}
	for name, mode := range modes {
		for model := range pickyModels {
			t.Run(name+"/"+model, func(t *testing.T) {
				p := &picky{t: t, name: model, status: mode.status}
				broken := false
				p.refuse = func(body string) string {
					if broken {
						return mode.refuse(body)
					}
					return ""
				}
				before := 0
				_, errs := p.talk(func(n int, b *meerkat.AgentBuilder) {
					broken = n == 1 || n == 2
					b.WithTool(look("seen")).WithEffort("low")
					if strings.HasSuffix(name, "parameter") { // no model takes both
						b.WithEffort("none").WithTemperature(0.5)
					}
					if n == 1 {
						b.WithAttached(transcript.Part{Type: "image", MediaType: "image/png", Data: pixel})
					}
					if made := len(p.bodies) - before; made > 5 {
						t.Errorf("%d requests for one prompt", made)
					}
					before = len(p.bodies)
				}, "zero", "one", "two", "three", "four")
				for i, err := range errs {
					if wantErr := i == 1 || i == 2; (err != nil) != wantErr {
						t.Errorf("prompt %d: %v", i, err)
					}
				}
				if last := p.bodies[len(p.bodies)-1]; !strings.Contains(last, "four") ||
					!strings.Contains(last, "zero") {
					t.Errorf("the last request lacks what was accepted: %.2000s", last)
				}
			})
		}
	}
}

// TestRefusedPrompt: a prompt that is refused is not sent again, not even when it is
// given once more.
func TestRefusedPrompt(t *testing.T) {
	p := &picky{t: t, name: "anthropic", refuse: func(body string) string {
		if strings.Contains(body, "poison") {
			return "No."
		}
		return ""
	}}
	_, errs := p.talk(nil, "poison", "poison", "", "a good one", "poison", "another")
	for i, want := range []string{"No.", "refused before", "refused the last prompt", "", "No.", ""} {
		if got := fmt.Sprint(errs[i]); want == "" && errs[i] != nil || !strings.Contains(got, want) {
			t.Errorf("prompt %d: %v, want %q", i, errs[i], want)
		}
	}
	if last := p.bodies[len(p.bodies)-1]; strings.Contains(last, "poison") || !strings.Contains(last, "a good one") {
		t.Error(last)
	}
}

// tooLong is what each provider says of a prompt that is too long (A-45, A-49, O-27, G-29).
var tooLong = map[string]string{
	"anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
	"openai":    `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
	"gemini":    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}

// TestRefusedForWhatItSays: a prompt that is too long, or that a filter stops, is left out of
// what follows, with every provider: the session still works.
func TestRefusedForWhatItSays(t *testing.T) {
	for name, c := range map[string]struct {
		words  map[string]string // "": words of all
		status int
	}{
		"too long": {words: tooLong},
		"too large": {
			words: map[string]string{"": "<html><h1>413 Request Entity Too Large</h1></html>"}, status: 413,
		},
		"a filter": {words: map[string]string{"": "Output blocked by content filtering policy"}},
		"a policy": {
			words: map[string]string{
				"": `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}`,
			},
		},
		"a dead address": {
			words: map[string]string{"": "Unable to download the file. Please verify the URL and try again."},
		},
	} {
		for model := range pickyModels {
			t.Run(name+"/"+model, func(t *testing.T) {
				p := &picky{t: t, name: model, status: c.status}
				p.refuse = func(body string) string {
					if !strings.Contains(body, "poison") {
						return ""
					}
					return cmp.Or(c.words[model], c.words[""])
				}
				_, errs := p.talk(
					nil, "poison", "", "a good one", "poison that is longer than all before", "", "another",
				)
				for i, fails := range []bool{true, true, false, true, true, false} {
					if (errs[i] != nil) != fails || fails && errs[i].Error() == "" {
						t.Errorf("prompt %d: %v", i, errs[i])
					}
				}
				if last := p.bodies[len(p.bodies)-1]; len(p.bodies) != 4 || strings.Contains(last, "poison") ||
					!strings.Contains(last, "a good one") {
					t.Errorf("%d requests, the last: %s", len(p.bodies), last)
				}
			})
		}
	}
}

// TestTooLongIsSummarisedLater: where the summary of what was too long fails, the next run
// asks for it at once, without sending the refused bytes again.
func TestTooLongIsSummarisedLater(t *testing.T) {
	p := &picky{t: t, name: "gemini"}
	overloaded := true
	p.refuse = func(body string) string {
		switch asksForSummary := strings.Contains(body, "Summarise the conversation"); {
		case asksForSummary && overloaded:
			overloaded = false
			return `{"error":{"code":400,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
		case !asksForSummary && strings.Contains(body, "once upon a time") && strings.Contains(body, "more"):
			return tooLong["gemini"]
		}
		return ""
	}
	_, errs := p.talk(func(_ int, b *meerkat.AgentBuilder) {
		// it may come again
		maps.DeleteFunc(p.refused, func(body string, _ bool) bool { return strings.Contains(body, "Summarise") })
		b.WithCompaction(agent.Compaction{Threshold: 0.8})
	},
		strings.Repeat("once upon a time ", 100), "more", "")
	for i, fails := range []bool{false, true, false} {
		if (errs[i] != nil) != fails {
			t.Errorf("prompt %d: %v", i, errs[i])
		}
	}
	if last := p.bodies[len(p.bodies)-1]; !strings.Contains(last, "more") || strings.Contains(last, "once upon") {
		t.Error(last)
	}
}

// TestNotAboutForm: money, keys and filters are no matter of form: the same request may
// come again.
func TestNotAboutForm(t *testing.T) {
	p := &picky{
		t: t, name: "anthropic", header: http.Header{"X-Should-Retry": {"false"}},
		refuse: func(string) string { return "Your credit balance is too low to access the Anthropic API." },
	}
	p.header = nil
	broke := true
	words := p.refuse
	p.refuse = func(body string) string {
		if broke {
			broke = false
			delete(p.refused, body)
			return words(body)
		}
		return ""
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.refused = map[string]bool{}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	store := session.NewMemoryStore()
	a, err := meerkat.NewAgent().WithAnthropic("made-up").WithModel(pickyModels["anthropic"]).WithBaseURL(server.URL).WithStore(store).WithUnary().Build()
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Run(context.Background(), "hello")
	if err == nil {
		t.Fatal("no error")
	}
	if _, err := a.Resume(
		context.Background(), r.SessionID, "",
	); err != nil || len(p.bodies) != 2 || p.bodies[0] != p.bodies[1] {
		t.Errorf("%v, %d requests", err, len(p.bodies))
	}
}

// TestNewKey: a new key of the same kind keeps the tokens; another host, organization or
// name does not. Sessions of earlier builds keep theirs.
func TestNewKey(t *testing.T) {
	for model, token := range map[string]string{"anthropic": "EjQK1", "openai": "gAAA1", "gemini": "EjQKMgE1"} {
		for name, c := range map[string]struct {
			change func(n int, p *picky, b *meerkat.AgentBuilder)
			keeps  bool
		}{
			"another key":   {func(int, *picky, *meerkat.AgentBuilder) {}, true},
			"the same name": {func(_ int, _ *picky, b *meerkat.AgentBuilder) { b.WithAccount("work") }, true},
			"another name": {
				func(n int, _ *picky, b *meerkat.AgentBuilder) { b.WithAccount(fmt.Sprint("work", n)) }, false,
			},
			"a key of old": {func(n int, _ *picky, b *meerkat.AgentBuilder) {
				if n == 0 {
					b.WithAccount("8f434346648f6b96")
				}
			}, true},
		} {
			t.Run(name+"/"+model, func(t *testing.T) {
				p := &picky{t: t, name: model, refuse: func(string) string { return "" }}
				results, errs := p.talk(func(n int, b *meerkat.AgentBuilder) { c.change(n, p, b) }, "one", "two")
				if errs[0] != nil || errs[1] != nil {
					t.Fatal(errs)
				}
				if got := strings.Contains(p.bodies[1], token); got != c.keeps ||
					got == (len(results[1].Degraded) > 0) {
					t.Errorf("token sent: %t, degraded %v\n%s", got, results[1].Degraded, p.bodies[1])
				}
			})
		}
	}
}

// TestOrganization: replies that name another organization end what the key was taken
// for.
func TestOrganization(t *testing.T) {
	for model, header := range map[string]string{
		"anthropic": "Anthropic-Organization-Id", "openai": "Openai-Organization",
	} {
		p := &picky{t: t, name: model, refuse: func(string) string { return "" }}
		_, errs := p.talk(func(n int, _ *meerkat.AgentBuilder) {
			p.header = http.Header{header: {fmt.Sprintf("org_%d", min(n, 1))}}
			p.calls = n == 1
		}, "one", "two", "three")
		for _, err := range errs {
			if err != nil && !strings.Contains(err.Error(), "look") {
				t.Fatal(err)
			}
		}
		token := map[string]string{"anthropic": "EjQK1", "openai": "gAAA1"}[model]
		if !strings.Contains(p.bodies[1], token) {
			t.Errorf("%s: nothing said yet that the organization is another one", model)
		}
	}
}
