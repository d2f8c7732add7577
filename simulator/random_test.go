package simulator

import (
	"github.com/meerkat-go/conformance/wires"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// models to talk with: that think or not, show it or not, sign or not.
var talkers = map[string][]string{
	"anthropic": {"claude-opus-4-6", "claude-haiku-4-5", "claude-sonnet-5", "claude-opus-5-5"},
	"openai":    {"gpt-5.5", "gpt-4.1", "gpt-5-mini", "gpt-6-astra"},
	"gemini":    {"gemini-3.5-flash", "gemini-2.5-flash"},
}

// chat is a conversation with one provider, whatever is said in it.
type chat struct {
	provider, model string
	body            map[string]any
}

// url is where the chat goes on.
func (c *chat) url(form string) string {
	switch c.provider {
	case "anthropic":
		return "/anthropic/v1/messages"
	case "openai":
		return "/openai/v1/responses"
	}
	return "/gemini/v1beta/models/" + c.model + map[string]string{"unary": ":generateContent",
		"stream": ":streamGenerateContent?alt=sse", "array": ":streamGenerateContent"}[form]
}

func (c *chat) ask(t *testing.T, h http.Handler, form string) (int, []byte) {
	t.Helper()
	if c.provider != "gemini" {
		c.body["stream"] = form == "stream"
	}
	w := answer(t, h, "POST", c.url(form), asJSON(c.body))
	return w.Code, w.Body.Bytes()
}

// draw is a first request with some prompt and some tools.
func draw(rt *rapid.T, provider string) *chat {
	c := &chat{provider: provider, model: rapid.SampledFrom(talkers[provider]).Draw(rt, "model")}
	prompt := "Hello " + strings.ReplaceAll(rapid.StringN(0, 60, 400).Draw(rt, "prompt"), "\x00", " ")
	schemas := map[string]map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9_]{2,15}`), 0, 3,
		rapid.ID).Draw(rt, "tools") {
		schemas[name] = drawSchema(rt)
		if rapid.Bool().Draw(rt, "named") {
			prompt += " Call " + name + "."
		}
	}
	thinks := rapid.Bool().Draw(rt, "thinks")
	c.first(prompt, schemas, thinks)
	return c
}

// first makes the chat's first request.
func (c *chat) first(prompt string, schemas map[string]map[string]any, thinks bool) {
	switch c.provider {
	case "anthropic":
		c.anthropic(prompt, schemas, thinks)
	case "openai":
		c.openai(prompt, schemas, thinks)
	default:
		c.gemini(prompt, schemas, thinks)
	}
}

func drawSchema(rt *rapid.T) map[string]any {
	properties := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`), 0, 3, rapid.ID).Draw(rt,
		"properties") {
		properties[name] = rapid.SampledFrom([]map[string]any{
			{"type": "string"}, {"type": "integer", "minimum": 3}, {"type": "boolean"}, {"type": "number"},
			{"type": "string", "enum": []string{"a", "b"}},
			{"type": "array", "items": map[string]any{"type": "string"}},
			{"type": "object", "properties": map[string]any{"deep": map[string]any{"type": "string"}}},
		}).Draw(rt, "property")
	}
	return map[string]any{"type": "object", "properties": properties}
}

func (c *chat) anthropic(prompt string, schemas map[string]map[string]any, thinks bool) {
	tools := []any{}
	for _, name := range names(schemas) {
		tools = append(tools, map[string]any{"name": name, "input_schema": schemas[name]})
	}
	c.body = map[string]any{"model": c.model, "max_tokens": 2048, "tools": tools,
		"messages": []any{map[string]any{"role": "user", "content": prompt}}}
	switch {
	case thinks && c.model == "claude-haiku-4-5":
		c.body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": 1024}
	case thinks:
		c.body["thinking"] = map[string]any{"type": "adaptive", "display": "summarized"}
	}
}

func (c *chat) openai(prompt string, schemas map[string]map[string]any, thinks bool) {
	tools := []any{}
	for _, name := range names(schemas) {
		tools = append(tools, map[string]any{"type": "function", "name": name, "parameters": schemas[name]})
	}
	c.body = map[string]any{"model": c.model, "store": false, "tools": tools,
		"input": []any{map[string]any{"role": "user", "content": prompt}}}
	if c.model != "gpt-4.1" {
		c.body["include"] = []any{"reasoning.encrypted_content"}
		if thinks {
			c.body["reasoning"] = map[string]any{"effort": "high", "summary": "auto"}
		}
	}
}

func (c *chat) gemini(prompt string, schemas map[string]map[string]any, thinks bool) {
	declarations := []any{}
	for _, name := range names(schemas) {
		declarations = append(declarations,
			map[string]any{"name": name, "description": "A tool.", "parametersJsonSchema": schemas[name]})
	}
	c.body = map[string]any{"generationConfig": map[string]any{"thinkingConfig": map[string]any{"includeThoughts": thinks}},
		"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}}}
	if len(declarations) > 0 {
		c.body["tools"] = []any{map[string]any{"functionDeclarations": declarations}}
	}
}

// outcome is what every call comes back with.
const outcome = "It is done, and nothing more is to be said of it."

// next puts an answer and the results of its calls into the chat; false when it
// calls nothing.
func (c *chat) next(unary []byte) bool {
	d := (&judge{}).document(unary)
	var turn, results []any
	list := map[string]string{"anthropic": "messages", "openai": "input", "gemini": "contents"}[c.provider]
	switch c.provider {
	case "anthropic":
		for _, b := range d.list("content") {
			if b.str("type") == "tool_use" {
				results = append(results, map[string]any{"type": "tool_result", "tool_use_id": b.str("id"),
					"content": outcome})
			}
		}
		turn = []any{map[string]any{"role": "assistant", "content": d.at("content")},
			map[string]any{"role": "user", "content": results}}
	case "openai":
		for _, item := range d.list("output") {
			if item.str("type") == "function_call" {
				results = append(results, map[string]any{"type": "function_call_output", "call_id": item.str("call_id"),
					"output": outcome})
			}
		}
		output, _ := d.at("output").([]any)
		turn = slices.Concat(output, results)
	default:
		content := d.list("candidates")[0].under("content")
		for _, p := range content.list("parts") {
			if call := p.under("functionCall"); call.data != nil {
				response := map[string]any{"name": call.str("name"), "response": map[string]any{"output": outcome}}
				if call.has("id") {
					response["id"] = call.str("id")
				}
				results = append(results, map[string]any{"functionResponse": response})
			}
		}
		turn = []any{content.data, map[string]any{"role": "user", "parts": results}}
	}
	c.body[list] = append(c.body[list].([]any), turn...)
	return len(results) > 0
}

// TestGrammarRandom holds that whatever is prompted and offered, the answers of
// the conversation without a script keep to the grammar, in every form, and
// agree; that tokens add up; and that the results are taken back.
func TestGrammarRandom(t *testing.T) {
	h := New(Config{Seed: "random"})
	for _, provider := range schematised() {
		t.Run(provider, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				c := draw(rt, provider)
				spent := 0
				for turn := range 3 {
					unary, now := judgeAll(t, rt, h, c)
					if now <= spent {
						rt.Fatalf("turn %d: the prompt grew, its tokens went from %d to %d", turn, spent, now)
					}
					if spent = now; !c.next(unary) {
						break
					}
				}
			})
		})
	}
}

// judgeAll asks in every form and returns the unary answer and the tokens of its
// prompt.
func judgeAll(t *testing.T, rt *rapid.T, h http.Handler, c *chat) (unary []byte, input int) {
	t.Helper()
	var spoken speech
	for _, form := range []string{"unary", "stream", "array"} {
		if form == "array" && c.provider != "gemini" {
			continue
		}
		status, body := c.ask(t, h, form)
		if status != 200 {
			rt.Fatalf("%s: status %d: %s\nfor %s", form, status, body, asJSON(c.body))
		}
		for _, b := range judged(c.provider, form, leave{}, body) {
			rt.Errorf("%s: %s: %s\nfor %s", form, b.rule, b.what, asJSON(c.body))
		}
		said := saidIn(c.provider, form, body)
		if form == "unary" {
			unary, spoken, input = body, said, promptTokens(c.provider, (&judge{}).document(body))
		} else if diff := cmp.Diff(spoken, said); diff != "" {
			rt.Errorf("unary and %s differ: %s", form, diff)
		}
		if got, want := spentOn(c.provider, form, body), input; got != want {
			rt.Errorf("the prompt has %d tokens in unary, %d in %s", want, got, form)
		}
	}
	return unary, input
}

// promptTokens are those of the whole prompt, cached or not.
func promptTokens(provider string, d event) int {
	u := d.under("usage")
	switch provider {
	case "anthropic":
		return u.num("input_tokens") + u.num("cache_creation_input_tokens") + u.num("cache_read_input_tokens")
	case "openai":
		return u.num("input_tokens")
	}
	return d.num("usageMetadata", "promptTokenCount")
}

// spentOn is promptTokens of an answer in any form.
func spentOn(provider, form string, body []byte) int {
	j := &judge{}
	var all []event
	switch form {
	case "unary":
		return promptTokens(provider, j.document(body))
	case "array":
		all = j.array(body)
	default:
		all = j.sse(provider, body)
	}
	switch provider {
	case "anthropic":
		return promptTokens(provider, all[0].under("message"))
	case "openai":
		return promptTokens(provider, all[len(all)-1].under("response"))
	}
	return promptTokens(provider, all[len(all)-1])
}

// TestCounts holds that a request to count tokens is answered with what a reply
// to the same prompt says it cost.
func TestCounts(t *testing.T) {
	h := New(Config{})
	for name, c := range talks {
		ask := object(t, c.ask)
		status, reply := (&chat{provider: name, model: "gemini-3.5-flash", body: ask}).ask(t, h, "unary")
		if status != 200 {
			t.Fatalf("%s: %d %s", name, status, reply)
		}
		want := promptTokens(name, (&judge{}).document(reply))
		url := c.url + "/count_tokens"
		delete(ask, "stream")
		switch name {
		case "anthropic":
			delete(ask, "max_tokens")
		case "openai":
			url = c.url + "/input_tokens"
			delete(ask, "store")
			delete(ask, "include")
		case "gemini":
			ask["model"] = "models/gemini-3.5-flash"
			ask = map[string]any{"generateContentRequest": ask}
			url = strings.Replace(c.url, "generateContent", "countTokens", 1)
		}
		w := answer(t, h, "POST", url, asJSON(ask))
		d := (&judge{}).document(w.Body.Bytes())
		if got := max(d.num("input_tokens"), d.num("totalTokens")); w.Code != 200 || got != want {
			t.Errorf("%s counts %d tokens, a reply to it %d: %s", name, got, want, w.Body)
		}
	}
}

// TestTokensGrow holds that whatever makes a prompt longer makes it cost more,
// about a token for four letters, and that what is said costs at least that.
func TestTokensGrow(t *testing.T) {
	h := New(Config{})
	const letters = 4000
	long := strings.Repeat("word ", letters/5)
	for _, provider := range schematised() {
		cost := func(prompt, description, system string) (input, output int) {
			c := &chat{provider: provider, model: talkers[provider][0]}
			c.first(prompt+"Call look_up.",
				map[string]map[string]any{"look_up": {"type": "object", "description": description}}, true)
			switch provider {
			case "anthropic":
				c.body["system"] = system
			case "openai":
				c.body["instructions"] = system
			default:
				c.body["systemInstruction"] = map[string]any{"parts": []any{map[string]any{"text": system}}}
			}
			status, reply := c.ask(t, h, "unary")
			if status != 200 {
				t.Fatalf("%s: %d %s", provider, status, reply)
			}
			d := (&judge{}).document(reply)
			return promptTokens(provider, d), max(d.num("usage", "output_tokens"),
				d.count("usageMetadata", "candidatesTokenCount")+d.count("usageMetadata", "thoughtsTokenCount"))
		}
		least, said := cost("", "short", "short")
		if said < 20 {
			t.Errorf("%s: a thought, a text and a call cost %d tokens", provider, said)
		}
		for i, texts := range [][3]string{{long, "short", "short"}, {"", long, "short"}, {"", "short", long}} {
			if more, _ := cost(texts[0], texts[1], texts[2]); more-least < letters/5 || more-least > letters/3 {
				t.Errorf("%s: %d letters more in text %d cost %d tokens", provider, letters, i, more-least)
			}
		}
	}
}

// TestCaches holds what of a long prompt counts as cached: nothing at first,
// then what came before the model's last words, never more than there is.
func TestCaches(t *testing.T) {
	h := New(Config{})
	long := strings.Repeat("A sentence that is long enough to be cached. ", 200)
	for _, provider := range schematised() {
		for _, marked := range []bool{true, false} {
			c := &chat{provider: provider, model: talkers[provider][0]}
			schemas := map[string]map[string]any{"look_up": {"type": "object"}}
			switch provider {
			case "anthropic":
				c.anthropic("Call look_up.", schemas, true)
				system := map[string]any{"type": "text", "text": long}
				if marked {
					system["cache_control"] = map[string]any{"type": "ephemeral", "ttl": "1h"}
				}
				c.body["system"] = []any{system}
			case "openai":
				c.openai("Call look_up.", schemas, true)
				c.body["instructions"] = long
			default:
				c.gemini("Call look_up.", schemas, true)
				c.body["systemInstruction"] = map[string]any{"parts": []any{map[string]any{"text": long}}}
			}
			for turn := range 2 {
				status, unary := c.ask(t, h, "unary")
				if status != 200 {
					t.Fatalf("%s: %d %s", provider, status, unary)
				}
				sound(t, judged(provider, "unary", leave{}, unary))
				read, written := cachedTokens(provider, (&judge{}).document(unary))
				if marks := marked || provider != "anthropic"; (read > 1000) != (marks && turn == 1) ||
					(written > 1000) != (marked && turn == 0 && provider == "anthropic") {
					t.Errorf("%s, turn %d, marked %t: %d read, %d written", provider, turn, marked, read, written)
				}
				if !c.next(unary) && turn == 0 {
					t.Fatalf("%s calls nothing: %s", provider, unary)
				}
			}
		}
	}
}

func cachedTokens(provider string, d event) (read, written int) {
	u := d.under("usage")
	switch provider {
	case "anthropic":
		return u.num("cache_read_input_tokens"), u.count("cache_creation", "ephemeral_1h_input_tokens")
	case "openai":
		return u.num("input_tokens_details", "cached_tokens"), 0
	}
	return d.count("usageMetadata", "cachedContentTokenCount"), 0
}

// schematised are the providers whose requests have a JSON Schema, from which these tests draw.
func schematised() []string {
	return slices.DeleteFunc(Providers(), func(name string) bool { return wires.Find(name).RequestSchema == "" })
}
