package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

// client is the plainest agent there is: it speaks one provider's wire over
// HTTP, runs the tools it is asked for and sends back what came as it came.
type client struct {
	t      *testing.T
	http   *http.Client
	url    string
	target specs.Target
	stream bool
	hosted bool // offers the provider's own tools
	edit   func(body map[string]any)
	said   []any
}

// heard is a reply as the client understood it.
type heard struct {
	status int
	header http.Header
	body   []byte
	err    error // of the connection
	own    []map[string]any
	stop   string
	text   string
	calls  []called
}

type called struct {
	id, name, args string
	partial        bool
}

func (h heard) kinds() string {
	var all []string
	for _, b := range h.own {
		kind, _ := b["type"].(string)
		for _, name := range []string{"text", "functionCall", "toolCall", "toolResponse", "executableCode",
			"codeExecutionResult", "futurePart"} {
			if _, ok := b[name]; ok && kind == "" {
				kind = name
			}
		}
		all = append(all, kind)
	}
	return strings.Join(slices.Compact(all), " ")
}

// prompt adds what the user says.
func (c *client) prompt(text string) {
	switch c.target.Provider {
	case "gemini":
		c.said = append(c.said, map[string]any{"role": "user", "parts": []any{map[string]any{"text": text}}})
	default:
		c.said = append(c.said, map[string]any{"role": "user", "content": text})
	}
}

var ownTools = []string{"conform_echo", "conform_fail", "conform_noargs", "look"}

const anySchema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`

func (c *client) request(tools bool) *http.Request {
	body, path, header := map[string]any{}, "", []string{}
	var offered []any
	schema := json.RawMessage(anySchema)
	for _, name := range ownTools {
		switch c.target.Provider {
		case "anthropic":
			offered = append(offered, map[string]any{"name": name, "input_schema": schema})
		case "openai":
			offered = append(offered, map[string]any{"type": "function", "name": name, "parameters": schema})
		case "gemini":
			offered = append(offered, map[string]any{"name": name, "description": name, "parametersJsonSchema": schema})
		}
	}
	switch c.target.Provider {
	case "anthropic":
		path, header = "/v1/messages", []string{"x-api-key", "fake", "anthropic-version", "2023-06-01"}
		body = map[string]any{"model": c.target.Model, "max_tokens": 2048, "stream": c.stream, "messages": c.said,
			"thinking": map[string]any{"type": "adaptive", "display": "summarized"}}
		if c.hosted {
			offered = append(offered, object(c.t, `{"type":"web_search_20250305","name":"web_search"}`),
				object(c.t, `{"type":"code_execution_20250825","name":"code_execution"}`))
		}
	case "openai":
		path, header = "/v1/responses", []string{"Authorization", "Bearer fake"}
		body = map[string]any{"model": c.target.Model, "store": false, "stream": c.stream, "input": c.said,
			"include": []string{"reasoning.encrypted_content", "code_interpreter_call.outputs",
				"web_search_call.action.sources"}, "reasoning": map[string]any{"effort": "high", "summary": "auto"}}
		if c.hosted {
			offered = append(offered, object(c.t, `{"type":"web_search"}`),
				object(c.t, `{"type":"code_interpreter","container":{"type":"auto"}}`))
		}
	case "gemini":
		method := map[bool]string{true: "streamGenerateContent?alt=sse", false: "generateContent"}[c.stream]
		path, header = "/v1beta/models/"+c.target.Model+":"+method, []string{"x-goog-api-key", "fake"}
		body = map[string]any{"contents": c.said,
			"generationConfig": map[string]any{"thinkingConfig": map[string]any{"includeThoughts": true}}}
		offered = []any{map[string]any{"functionDeclarations": offered}}
		if c.hosted {
			offered = append(offered, object(c.t, `{"googleSearch":{}}`), object(c.t, `{"codeExecution":{}}`))
			body["toolConfig"] = object(c.t, `{"includeServerSideToolInvocations":true}`)
		}
	}
	if tools {
		body["tools"] = offered
	}
	if c.edit != nil {
		c.edit(body)
	}
	return post(c.url+path, asJSON(body), header...)
}

// ask sends what was said and hears the reply.
func (c *client) ask() heard { return c.hear(c.request(true)) }

func (c *client) hear(r *http.Request) heard {
	c.t.Helper()
	resp, err := c.http.Do(r)
	if err != nil {
		return heard{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	h := heard{status: resp.StatusCode, header: resp.Header}
	h.body, h.err = io.ReadAll(resp.Body)
	holdsRules(c.t, c.target.Provider, r, h)
	if h.status != http.StatusOK {
		return h
	}
	if !c.stream {
		var doc map[string]any
		if h.err == nil {
			h.err = json.Unmarshal(h.body, &doc)
		}
		c.read(&h, doc)
		return h
	}
	for block := range strings.SplitSeq(strings.ReplaceAll(string(h.body), "\r\n", "\n"), "\n\n") {
		_, data, found := strings.Cut(block, "data: ")
		var event map[string]any
		if found && json.Unmarshal([]byte(data), &event) == nil {
			c.read(&h, event)
		}
	}
	return h
}

// read takes in a document, or one event of a stream.
func (c *client) read(h *heard, e map[string]any) {
	switch c.target.Provider {
	case "anthropic":
		readAnthropic(h, e)
	case "openai":
		readOpenAI(h, e)
	case "gemini":
		readGemini(h, e)
	}
}

func readAnthropic(h *heard, e map[string]any) {
	d := dict(e)
	if e["type"] == "message" {
		for _, b := range d.list("content") {
			h.own = append(h.own, b)
			h.block(b)
		}
		h.stop = d.str("stop_reason")
		return
	}
	if stop := d.dict("delta").str("stop_reason"); stop != "" {
		h.stop = stop
	}
	last := func() dict { return h.own[len(h.own)-1] }
	switch e["type"] {
	case "message_start":
		h.own = nil // it may come twice
	case "content_block_start":
		h.own = append(h.own, d.dict("content_block"))
	case "content_block_delta":
		for field, to := range map[string]string{"text": "text", "thinking": "thinking", "signature": "signature",
			"partial_json": "\x00input"} {
			if piece := d.dict("delta").str(field); piece != "" {
				last()[to] = last().str(to) + piece
			}
		}
	case "content_block_stop":
		b := last()
		if b.str("type") == "tool_use" || b.str("type") == "server_tool_use" {
			var input map[string]any
			if b.str("\x00input") != "" && json.Unmarshal([]byte(b.str("\x00input")), &input) != nil {
				h.calls = append(h.calls, called{b.str("id"), b.str("name"),
					strings.ReplaceAll(b.str("\x00input"), `": "`, `":"`), true})
				return
			}
			if delete(b, "\x00input"); input != nil {
				b["input"] = input
			}
		}
		h.block(b)
	}
}

func (h *heard) block(b dict) {
	switch b.str("type") {
	case "text":
		h.text += b.str("text")
	case "tool_use":
		h.calls = append(h.calls, called{b.str("id"), b.str("name"), asJSON(b["input"]), false})
	}
}

func readOpenAI(h *heard, e map[string]any) {
	r := dict(e)
	if r.dict("response") != nil {
		r = r.dict("response")
	}
	if r.str("object") != "response" || r.str("status") == "in_progress" {
		return
	}
	h.stop = strings.TrimSuffix(r.str("status")+"/"+r.dict("incomplete_details").str("reason"), "/")
	for _, item := range r.list("output") {
		h.own = append(h.own, item)
		switch item.str("type") {
		case "message":
			for _, part := range item.list("content") {
				h.text += part.str("text")
				if part.str("type") == "refusal" {
					h.text, h.stop = h.text+part.str("refusal"), "refusal"
				}
			}
		case "function_call":
			h.calls = append(h.calls, called{item.str("call_id"), item.str("name"),
				strings.ReplaceAll(item.str("arguments"), `": "`, `":"`), item.str("status") != "completed"})
		}
	}
}

func readGemini(h *heard, e map[string]any) {
	if reason := dict(e).dict("promptFeedback").str("blockReason"); reason != "" {
		h.stop = reason
	}
	for _, candidate := range dict(e).list("candidates") {
		for _, p := range candidate.dict("content").list("parts") {
			h.own = append(h.own, p)
			if p["thought"] != true {
				h.text += p.str("text")
			}
			if call := p.dict("functionCall"); call != nil {
				h.calls = append(h.calls, called{call.str("id"), call.str("name"), asJSON(call["args"]), false})
			}
		}
		if reason := candidate.str("finishReason"); reason != "" {
			h.stop = reason
		}
	}
}

// keep stores a reply, as it came.
func (c *client) keep(h heard) {
	own := make([]any, len(h.own))
	for i, b := range h.own {
		own[i] = b
	}
	switch c.target.Provider {
	case "anthropic":
		c.said = append(c.said, map[string]any{"role": "assistant", "content": own})
	case "openai":
		c.said = append(c.said, own...)
	case "gemini":
		c.said = append(c.said, map[string]any{"role": "model", "parts": own})
	}
}

// run runs the calls of a reply and adds their results.
func (c *client) run(h heard) {
	var results []any
	for _, call := range h.calls {
		result := "ok"
		if strings.HasSuffix(call.name, "echo") {
			var args struct{ Text string }
			_ = json.Unmarshal([]byte(call.args), &args)
			result = args.Text
		}
		switch c.target.Provider {
		case "anthropic":
			results = append(results, map[string]any{"type": "tool_result", "tool_use_id": call.id, "content": result})
		case "openai":
			c.said = append(c.said, map[string]any{"type": "function_call_output", "call_id": call.id,
				"output": result})
		case "gemini":
			response := map[string]any{"name": call.name, "response": map[string]any{"output": result}}
			if call.id != "" {
				response["id"] = call.id
			}
			results = append(results, map[string]any{"functionResponse": response})
		}
	}
	if results != nil {
		c.said = append(c.said, map[string]any{"role": "user",
			map[string]string{"anthropic": "content", "gemini": "parts"}[c.target.Provider]: results})
	}
}

// loop runs one prompt to its end: until no tool is called. Everything must
// have status 200.
func (c *client) loop(text string) []heard {
	c.t.Helper()
	c.prompt(text)
	var all []heard
	for range 8 {
		h := c.ask()
		if h.status != http.StatusOK || h.err != nil {
			c.t.Fatalf("status %d, %v: %s", h.status, h.err, h.body)
		}
		all = append(all, h)
		c.keep(h)
		if len(h.calls) == 0 {
			return all
		}
		c.run(h)
	}
	c.t.Fatal("it does not end")
	return nil
}

// eachSimulated calls f with a client for every provider of a scenario that is
// for the simulator alone, streamed and whole.
func eachSimulated(t *testing.T, name string, f func(c *client)) {
	t.Helper()
	all := scenariosToDrill(t)
	i := slices.IndexFunc(all, func(s *specs.Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("%s: no such scenario", name)
	}
	for _, target := range all[i].Targets {
		if asks[target.Provider] == nil {
			continue // package client plays the scenarios of the wire
		}
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%s/stream=%t", name, target.Provider, stream), func(t *testing.T) {
				now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
				server, http := serve(t, New(Config{Scenario: all[i], Seed: "drill", Now: now}))
				f(&client{t: t, http: http, url: server.URL, target: target, stream: stream})
			})
		}
	}
}

// is picks what a provider says.
func (c *client) is(anthropic, openai, gemini string) string {
	return map[string]string{"anthropic": anthropic, "openai": openai, "gemini": gemini}[c.target.Provider]
}

// has fails unless the body holds a text.
func (h heard) has(t *testing.T, text string) {
	t.Helper()
	if !bytes.Contains(h.body, []byte(text)) {
		t.Errorf("no %s in %s", text, h.body)
	}
}
