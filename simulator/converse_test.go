package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"

	"github.com/meerkat-go/conformance/specs"
)

// eachProvider calls f with a client for every provider, streamed and whole, of
// a simulator without a script.
func eachProvider(t *testing.T, f func(t *testing.T, c *client)) {
	t.Helper()
	server, http := serve(t, New(Config{Seed: "converse"}))
	for _, target := range []specs.Target{{Provider: "anthropic", Model: "claude-opus-4-6"},
		{Provider: "openai", Model: "gpt-5.5"}, {Provider: "gemini", Model: "gemini-3.5-flash"}} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%t", target.Provider, stream), func(t *testing.T) {
				f(t, &client{t: t, http: http, url: server.URL, target: target, stream: stream})
			})
		}
	}
}

// TestConversation holds that any client gets a sensible answer: with tools they
// are called and their results reported, in turn after turn; without them the
// prompt is answered.
func TestConversation(t *testing.T) {
	eachProvider(t, func(t *testing.T, c *client) {
		all := c.loop(`Call conform_echo and look with "heron".`)
		if len(all) != 2 || len(all[0].calls) != 2 || all[0].calls[0].args != `{"text":"heron"}` ||
			!strings.Contains(all[1].text, "The tool conform_echo answered: heron.") {
			t.Errorf("with tools: %+v", all)
		}
		all = c.loop(`Now conform_noargs.`)
		if len(all) != 2 || all[0].calls[0].name != "conform_noargs" ||
			!strings.Contains(all[1].text, "conform_noargs answered: ok.") {
			t.Errorf("again: %+v", all)
		}
		bare := *c
		bare.said = nil
		bare.prompt(`What is a heron?`)
		if h := bare.hear(bare.request(false)); h.status != http.StatusOK ||
			!strings.HasPrefix(h.text, "You wrote: What is a heron?") {
			t.Errorf("without tools: %d %s", h.status, h.body)
		}
	})
}

// TestStructured holds that an answer that must have a form has it, in each
// provider's way of asking for one.
func TestStructured(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`,
		`{"type":"object","properties":{"list":{"type":"array","minItems":2,"items":{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]},"on":{"type":"boolean"}},"required":["kind","on"],"additionalProperties":false}}},"required":["list"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","properties":{"b":{"type":"number"}},"required":["b"],"additionalProperties":false}]}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"at":{"type":"string","format":"date-time"}},"required":["at"],"additionalProperties":false}`,
	} {
		eachProvider(t, func(t *testing.T, c *client) {
			c.edit = func(body map[string]any) { structure(t, c.target.Provider, body, schema) }
			c.prompt("Describe a heron.")
			h := c.hear(c.request(false))
			if h.status != http.StatusOK {
				t.Fatalf("status %d: %s", h.status, h.body)
			}
			result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema),
				gojsonschema.NewStringLoader(h.text))
			if err != nil || !result.Valid() {
				t.Errorf("%s is not of %s: %v", h.text, schema, err)
			}
		})
	}
}

func structure(t *testing.T, provider string, body map[string]any, schema string) {
	t.Helper()
	s := json.RawMessage(schema)
	switch provider {
	case "anthropic":
		body["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": s}}
	case "openai":
		body["text"] = map[string]any{"format": map[string]any{"type": "json_schema", "name": "answer", "strict": true,
			"schema": s}}
	case "gemini":
		config := body["generationConfig"].(map[string]any)
		config["responseMimeType"], config["responseJsonSchema"] = "application/json", s
	}
}

// TestForms holds the forms that only some providers know.
func TestForms(t *testing.T) {
	gemini := func(config string) func(*testing.T, map[string]any) {
		return func(t *testing.T, body map[string]any) {
			t.Helper()
			body["generationConfig"] = object(t, config)
		}
	}
	for _, c := range []struct {
		provider string
		edit     func(*testing.T, map[string]any)
		want     string
	}{
		{"openai", func(t *testing.T, body map[string]any) {
			t.Helper()
			body["text"] = object(t, `{"format":{"type":"json_object"}}`)
			body["instructions"] = "Answer in JSON."
		}, "{}"},
		{"gemini", gemini(`{"responseMimeType":"application/json"}`), "{}"},
		{"gemini",
			gemini(`{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"},"s":{"type":"STRING"}},"required":["n"],"propertyOrdering":["n","s"]}}`), `{"n":1}`},
		{"gemini",
			gemini(`{"responseMimeType":"application/json","responseSchema":{"type":"ARRAY","items":{"type":"STRING"},"minItems":"2"}}`), `["example","example"]`},
		{"gemini",
			gemini(`{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["heron","kestrel"]}}`),
			"heron"},
	} {
		eachProvider(t, func(t *testing.T, cl *client) {
			if cl.target.Provider != c.provider {
				return
			}
			cl.edit = func(body map[string]any) { c.edit(t, body) }
			cl.prompt("Describe a heron as JSON.")
			if h := cl.hear(cl.request(false)); h.status != http.StatusOK || h.text != c.want {
				t.Errorf("status %d, %q, want %q: %s", h.status, h.text, c.want, h.body)
			}
		})
	}
}

// TestAsides holds that what agents ask beside their main loop is answered
// politely, in the form that is asked for.
func TestAsides(t *testing.T) {
	const form = `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}`
	for _, c := range []struct {
		name, system, prompt, schema, want string
		limit                              int
	}{
		{"a title", "You are a title generator. You output ONLY a thread title.", "Mend the parser of dates, please",
			"", "Mend the parser of dates", 0},
		{"a title with a form", "Generate a concise, sentence-case title for this coding session.", "Mend the parser",
			form, `{"title":"Mend the parser"}`, 0},
		{"a topic", "Analyze if this message indicates a new conversation topic.", "Herons", "", "Herons", 0},
		{"a probe", "", "quota", "", "OK", 1},
	} {
		eachProvider(t, func(t *testing.T, cl *client) {
			if c.limit > 0 && cl.target.Provider == "openai" {
				return // takes no limit below 16
			}
			cl.edit = func(body map[string]any) {
				if c.schema != "" {
					structure(t, cl.target.Provider, body, c.schema)
				}
				limited(cl.target.Provider, body, c.system, c.limit)
			}
			cl.prompt(c.prompt)
			if h := cl.hear(cl.request(false)); h.status != http.StatusOK || h.text != c.want {
				t.Errorf("%s: status %d, %q, want %q: %s", c.name, h.status, h.text, c.want, h.body)
			}
		})
	}
}

// limited sets what is said before the prompt, and how long the answer may be.
func limited(provider string, body map[string]any, system string, limit int) {
	switch provider {
	case "anthropic":
		if body["system"] = system; limit > 0 {
			body["max_tokens"] = limit
		}
	case "openai":
		if body["instructions"] = system; limit > 0 {
			body["max_output_tokens"] = limit
		}
	case "gemini":
		body["systemInstruction"] = map[string]any{"parts": []any{map[string]any{"text": system}}}
		if config := body["generationConfig"].(map[string]any); limit > 0 {
			config["maxOutputTokens"] = limit
		}
	}
}

// TestShort holds that an answer that may not be long ends where it must and
// says why, in words as in a call, and counts no more tokens than that.
func TestShort(t *testing.T) {
	eachProvider(t, func(t *testing.T, c *client) {
		for _, limit := range []int{17, 24, 40, 50, 70} {
			for _, tools := range []bool{false, true} {
				c.said = nil
				c.edit = func(body map[string]any) { limited(c.target.Provider, body, "", limit) }
				c.prompt(`Call conform_echo with "` + strings.Repeat("heron ", 30) + `".`)
				h := c.hear(c.request(tools))
				if want := c.is("max_tokens", "incomplete/max_output_tokens", "MAX_TOKENS"); h.status != http.StatusOK || h.stop != want {
					t.Fatalf("limit %d, tools %t: status %d, stop %q, want %q: %s", limit, tools, h.status, h.stop,
						want, h.body)
				}
				for _, call := range h.calls {
					if !call.partial && c.stream && c.target.Provider != "gemini" {
						t.Errorf("limit %d: a whole call: %+v", limit, call)
					}
				}
			}
		}
		c.edit = func(body map[string]any) { limited(c.target.Provider, body, "", 2000) }
		c.said = nil
		if all := c.loop("Tell me of herons with look."); len(all) != 2 {
			t.Errorf("with room enough: %+v", all)
		}
	})
}
