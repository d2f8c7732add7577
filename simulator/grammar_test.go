package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/specs"
)

// event is one server-sent event, cut by the strictest reading of its
// provider's framing.
type event struct {
	name string
	data map[string]any
	raw  []byte
}

func (e event) str(path ...string) string {
	s, _ := e.at(path...).(string)
	return s
}

func (e event) at(path ...string) any {
	var v any = e.data
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func (e event) num(path ...string) int {
	f, ok := e.at(path...).(float64)
	if !ok {
		return -1
	}
	return int(f)
}

// events reads a body whose events are "event: NAME" and "data: JSON" lines
// with an empty line after them; gemini has no names and ends lines with CRLF.
func events(t *testing.T, provider string, body []byte) []event {
	t.Helper()
	end := "\n\n"
	if provider == "gemini" {
		end = "\r\n\r\n"
	}
	blocks := strings.Split(string(body), end)
	if last := blocks[len(blocks)-1]; last != "" {
		t.Fatalf("the stream ends inside an event: %q", last)
	}
	var all []event
	for _, block := range blocks[:len(blocks)-1] {
		var e event
		data := block
		if provider != "gemini" {
			name, rest, ok := strings.Cut(block, "\n")
			if !ok || !strings.HasPrefix(name, "event: ") {
				t.Fatalf("no event line: %q", block)
			}
			e.name, data = strings.TrimPrefix(name, "event: "), rest
		}
		text, ok := strings.CutPrefix(data, "data: ")
		if !ok || strings.ContainsAny(text, "\r\n") {
			t.Fatalf("not one data line: %q", data)
		}
		if err := json.Unmarshal([]byte(text), &e.data); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if provider != "gemini" && e.str("type") != e.name {
			t.Fatalf("event %s carries type %s", e.name, e.str("type"))
		}
		e.raw = []byte(text)
		all = append(all, e)
	}
	return all
}

// eachReply calls f with every turn of every embedded scenario that runs to
// its end, as a stream.
func eachReply(t *testing.T, f func(t *testing.T, s *specs.Scenario, provider string, turn int, body []byte)) {
	t.Helper()
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, target := range s.Targets {
			for turn, script := range s.Turns {
				t.Run(fmt.Sprintf("%s/%s/%d", s.Name, target.Provider, turn), func(t *testing.T) {
					body := stream1(t, only(s, turn), target)
					if script.Cut == nil {
						f(t, s, target.Provider, turn, body)
						return
					}
					whole := only(s, turn)
					whole.Turns[0].Cut = nil
					if complete := stream1(t, whole, target); len(body) >= len(complete) || !bytes.HasPrefix(complete, body) {
						t.Errorf("the cut stream has %d bytes, the whole one %d; it must be a shorter beginning", len(body), len(complete))
					}
				})
			}
		}
	}
}

// only is s reduced to one turn, which then answers a first request.
func only(s *specs.Scenario, turn int) *specs.Scenario {
	one := *s
	one.Turns = slices.Clone(s.Turns[turn : turn+1])
	one.Turns[0].Prompts = 0
	return &one
}

// stream1 sends a first streamed request without a network. A cut panics, as it
// does in a server.
func stream1(t *testing.T, s *specs.Scenario, target specs.Target) []byte {
	t.Helper()
	r := asks[target.Provider]("http://sim", 0, true)
	body, _ := io.ReadAll(r.Body)
	for _, model := range []string{"claude-opus-4-6", "gpt-5.5", "gemini-3.5-flash"} {
		body = bytes.ReplaceAll(body, []byte(`"`+model+`"`), []byte(`"`+target.Model+`"`))
		r.URL.Path = strings.ReplaceAll(r.URL.Path, model, target.Model)
	}
	body = bytes.Replace(body, []byte(`"tools":[{"name":`), []byte(`"tools":[{"name":"conform_fail","input_schema":{"type":"object"}},{"name":`), 1)
	body = bytes.Replace(body, []byte(`"tools":[{"type":`), []byte(`"tools":[{"type":"function","name":"conform_fail","parameters":{"type":"object"}},{"type":`), 1)
	body = bytes.Replace(body, []byte(`"functionDeclarations":[`), []byte(`"functionDeclarations":[{"name":"conform_fail","description":"Fails."},`), 1)
	body = bytes.Replace(body, []byte(`{"type":"adaptive"}`), []byte(`{"type":"adaptive","display":"summarized"}`), 1)
	if strings.Contains(target.Model, "-4-5") {
		body = bytes.Replace(body, []byte(`"adaptive"`), []byte(`"enabled","budget_tokens":1024`), 1)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }()
		New(Config{Scenario: s, Seed: "grammar"}).ServeHTTP(w, r)
	}()
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// TestSchemas holds every event against the providers' schemas.
func TestSchemas(t *testing.T) {
	names := map[string]schemas.Name{"anthropic": schemas.AnthropicEvent, "openai": schemas.OpenAIEvent, "gemini": schemas.GeminiChunk}
	eachReply(t, func(t *testing.T, _ *specs.Scenario, provider string, _ int, body []byte) {
		for _, e := range events(t, provider, body) {
			if err := schemas.Validate(names[provider], e.raw); err != nil {
				t.Errorf("%s: %v", e.raw, err)
			}
		}
	})
}

// TestGrammar holds the order of events (reference §3).
func TestGrammar(t *testing.T) {
	eachReply(t, func(t *testing.T, s *specs.Scenario, provider string, turn int, body []byte) {
		all := events(t, provider, body)
		fails := s.Turns[turn].Fail != nil
		switch provider {
		case "anthropic":
			anthropicGrammar(t, all, fails)
		case "openai":
			openaiGrammar(t, all, fails)
		default:
			geminiGrammar(t, all, fails)
		}
	})
}

func anthropicGrammar(t *testing.T, all []event, fails bool) {
	t.Helper()
	open, next, pings, deltas := -1, 0, 0, ""
	for i, e := range all {
		switch {
		case (i == 0) != (e.name == "message_start"):
			t.Errorf("event %d is %s", i, e.name)
		case e.name == "content_block_start":
			if open >= 0 || e.num("index") != next {
				t.Errorf("block %d starts while %d is open and %d is next", e.num("index"), open, next)
			}
			open, deltas = next, e.str("content_block", "type")+":"
		case e.name == "ping":
			if pings++; open != 0 || deltas[len(deltas)-1] != ':' {
				t.Error("ping is not right after the first content_block_start")
			}
		case e.name == "content_block_delta":
			if e.num("index") != open {
				t.Errorf("delta for block %d while %d is open", e.num("index"), open)
			}
			deltas += strings.TrimSuffix(e.str("delta", "type"), "_delta")[:1]
			if first := e.str("delta", "partial_json"); strings.HasSuffix(deltas, ":i") && first != "" {
				t.Errorf("the first input_json_delta is %q, not empty", first)
			}
		case e.name == "content_block_stop":
			if !oneOf(deltas, "thinking:t*s", "redacted_thinking:", "text:t+", "tool_use:i+") {
				t.Errorf("block is %q", deltas)
			}
			open, next = -1, next+1
		}
	}
	last := all[len(all)-1].name
	if want := map[bool]string{true: "error", false: "message_stop"}[fails]; last != want || !fails && all[len(all)-2].name != "message_delta" {
		t.Errorf("ends with %s, want %s", last, want)
	}
	if pings != 1 {
		t.Errorf("%d pings", pings)
	}
}

// oneOf matches a block's deltas: x* is any number of x, x+ one or more.
func oneOf(s string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		head, tail, star := strings.Cut(p, "*")
		if star {
			return strings.HasPrefix(s, head[:len(head)-1]) && strings.HasSuffix(s, tail)
		}
		head, _, plus := strings.Cut(p, "+")
		return s == p || plus && strings.TrimRight(s, head[len(head)-1:]) == head[:len(head)-1] && strings.HasPrefix(s, head)
	})
}

func openaiGrammar(t *testing.T, all []event, fails bool) {
	t.Helper()
	added, done, text := map[int]string{}, 0, map[string]string{}
	for i, e := range all {
		if e.num("sequence_number") != i {
			t.Errorf("event %d has sequence number %d", i, e.num("sequence_number"))
		}
		kind := strings.TrimPrefix(e.name, "response.")
		switch {
		case kind == "output_item.added":
			if e.num("output_index") != len(added) || len(added) != done {
				t.Errorf("item %d is added after %d, %d done", e.num("output_index"), len(added), done)
			}
			added[e.num("output_index")] = e.str("item", "id") + e.str("item", "encrypted_content")
		case kind == "output_item.done":
			if enc := e.str("item", "encrypted_content"); enc != "" && added[done] == e.str("item", "id")+enc || !strings.HasPrefix(added[done], e.str("item", "id")) {
				t.Errorf("item %d has the same encrypted content, or another id, when done", done)
			}
			done++
		case strings.HasSuffix(kind, ".delta"):
			key := strings.TrimSuffix(kind, ".delta") + fmt.Sprint(e.num("output_index"), e.num("summary_index"))
			text[key] += e.str("delta")
			if len(e.str("delta")+e.str("obfuscation"))%16 != 0 {
				t.Errorf("%s: obfuscation does not pad to 16", e.raw)
			}
		case strings.HasSuffix(kind, "text.done"), kind == "function_call_arguments.done":
			key := strings.TrimSuffix(kind, ".done") + fmt.Sprint(e.num("output_index"), e.num("summary_index"))
			if got := text[key]; got != e.str("text")+e.str("arguments") {
				t.Errorf("deltas of %s join to %q, done says %q", key, got, e.str("text")+e.str("arguments"))
			}
		}
	}
	last := all[len(all)-1]
	if fails {
		if all[len(all)-2].name != "error" || last.name != "response.failed" || last.str("response", "error", "code") == "" {
			t.Errorf("fails with %s, %s", all[len(all)-2].name, last.name)
		}
		return
	}
	output, _ := last.at("response", "output").([]any)
	if last.name != "response.completed" || len(output) != done || last.num("response", "usage", "total_tokens") <= 0 {
		t.Errorf("%s repeats %d of %d items", last.name, len(output), done)
	}
}

func geminiGrammar(t *testing.T, all []event, fails bool) {
	t.Helper()
	id, signatures, calls, total := all[0].str("responseId"), 0, 0, 0
	for i, e := range all {
		if fails && i == len(all)-1 {
			if e.num("error", "code") < 400 {
				t.Errorf("the last chunk is no error: %s", e.raw)
			}
			return
		}
		candidate, _ := e.at("candidates").([]any)[0].(map[string]any)
		c := event{data: candidate}
		part := event{data: c.at("content", "parts").([]any)[0].(map[string]any)}
		if part.str("thoughtSignature") != "" {
			signatures++
			if part.at("functionCall") == nil && part.at("text") == nil {
				t.Errorf("a signature on %s", e.raw)
			}
		}
		if part.at("functionCall") != nil {
			if calls++; calls == 1 && part.str("thoughtSignature") == "" {
				t.Error("the first call is not signed")
			}
		}
		if (c.str("finishReason") != "") != (i == len(all)-1) {
			t.Errorf("chunk %d of %d has finish reason %q", i, len(all), c.str("finishReason"))
		}
		if now := e.num("usageMetadata", "totalTokenCount"); now < total {
			t.Errorf("usage falls from %d to %d", total, now)
		} else {
			total = now
		}
		if e.str("responseId") != id {
			t.Error("responseId changes")
		}
	}
	if signatures != 1 {
		t.Errorf("%d signatures in one turn", signatures)
	}
}
