package simulator

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// A mutant is a good answer with one thing broken. It names the rule of the
// grammar that must find it.
type mutant struct {
	name, rule string
	provider   string
	form       string // "" for stream
	turn       int    // of the scenario "everything"
	change     func(frames []string) []string
}

// The changes. Each looks for the first frame that holds text.

func at(frames []string, text string) int {
	i := slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, text) })
	if i < 0 {
		panic("no frame holds " + text)
	}
	return i
}

func drop(text string) func([]string) []string {
	return func(f []string) []string { i := at(f, text); return slices.Delete(f, i, i+1) }
}

func repeat(text string) func([]string) []string {
	return func(f []string) []string { i := at(f, text); return slices.Insert(f, i, f[i]) }
}

// move puts a frame before another.
func move(text, before string) func([]string) []string {
	return func(f []string) []string {
		i := at(f, text)
		moved := f[i]
		f = slices.Delete(f, i, i+1)
		return slices.Insert(f, at(f, before), moved)
	}
}

// edit replaces what is first in a frame.
func edit(text, old, new string) func([]string) []string {
	return func(f []string) []string {
		i := at(f, text)
		f[i] = strings.Replace(f[i], old, new, 1)
		return f
	}
}

// rewrite replaces what an expression finds first in a frame.
func rewrite(text, expression, new string) func([]string) []string {
	return func(f []string) []string {
		i := at(f, text)
		found := regexp.MustCompile(expression).FindString(f[i])
		f[i] = strings.Replace(f[i], found, regexp.MustCompile(expression).ReplaceAllString(found, new), 1)
		return f
	}
}

func insert(before, frame string) func([]string) []string {
	return func(f []string) []string { return slices.Insert(f, at(f, before), frame) }
}

func cutOff(n int) func([]string) []string {
	return func(f []string) []string { return f[:len(f)-n] }
}

const (
	start, block, delta, stop = `event: message_start`, `"content_block_start"`, `"content_block_delta"`,
		`"content_block_stop"`
	ping        = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	added, done = `output_item.added`, `output_item.done`
)

var mutants = []mutant{
	{"an event line is lost", "frame", "anthropic", "", 0, edit(ping, "event: ping\n", "")},
	{"another event line", "frame", "anthropic", "", 0, edit(start, start, "event: ping")},
	{"the end is cut", "frame", "anthropic", "", 0, edit("message_stop", "}\n\n", "}\n")},
	{"a line is broken", "frame", "anthropic", "", 0, edit("text_delta", `"index"`, "\n\"index\"")},
	{"no JSON", "frame", "anthropic", "", 0, edit("text_delta", `"index"`, "index")},
	{"no index", "schema", "anthropic", "", 0, edit("text_delta", `"index":1`, `"indexes":1`)},
	{"no message_start", "start", "anthropic", "", 0, drop(start)},
	{"two message_starts", "start", "anthropic", "", 0, repeat(start)},
	{"a reason to stop at the start", "start", "anthropic", "", 0,
		edit(start, `"stop_reason":null`, `"stop_reason":"end_turn"`)},
	{"another id", "start", "anthropic", "", 0, edit(start, `"id":"msg_01`, `"id":"gen_`)},
	{"no ping", "ping", "anthropic", "", 0, drop(ping)},
	{"two pings", "ping", "anthropic", "", 0, repeat(ping)},
	{"a ping before the first block", "ping", "anthropic", "", 0, move(ping, block)},
	{"an index is skipped", "index", "anthropic", "",
		0, edit(`"content_block_start","index":1`, `"index":1`, `"index":2`)},
	{"a block does not stop", "index", "anthropic", "", 0, drop(stop)},
	{"a block stops twice", "index", "anthropic", "", 0, repeat(stop)},
	{"a delta of another block", "index", "anthropic", "", 0, edit("text_delta", `"index":1`, `"index":0`)},
	{"a delta before its block", "index", "anthropic", "", 0, move("text_delta", `"content_block_start","index":1`)},
	{"a text in a thought", "delta", "anthropic", "",
		0, edit("thinking_delta", `"type":"thinking_delta","thinking"`, `"type":"text_delta","text"`)},
	{"no signature", "delta", "anthropic", "", 0, drop("signature_delta")},
	{"two signatures", "delta", "anthropic", "", 0, repeat("signature_delta")},
	{"a thought after its signature", "delta", "anthropic", "", 0, move("signature_delta", "thinking_delta")},
	{"an empty signature", "delta", "anthropic", "", 0,
		rewrite("signature_delta", `"signature":"[^"]+"`, `"signature":""`)},
	{"redacted thinking without data", "delta", "anthropic", "", 0,
		rewrite("redacted_thinking", `"data":"[^"]+"`, `"data":""`)},
	{"a text that starts with text", "delta", "anthropic", "", 0,
		edit(`"content_block_start","index":1`, `"text":""`, `"text":"x"`)},
	{"an empty text_delta", "delta", "anthropic", "", 0, rewrite("text_delta", `"text":"[^"]+"`, `"text":""`)},
	{"no first empty delta of a call", "delta", "anthropic", "", 0, drop(`"partial_json":""`)},
	{"a call without an id", "delta", "anthropic", "", 0, rewrite(`"tool_use"`, `"id":"[^"]+"`, `"id":""`)},
	{"input that is lost", "concat", "anthropic", "", 1000, drop(`"partial_json":"{`)},
	{"no message_delta", "end", "anthropic", "", 0, drop("event: message_delta")},
	{"no message_stop", "end", "anthropic", "", 0, drop("event: message_stop")},
	{"message_delta in a block", "end", "anthropic", "", 0, move("event: message_delta", stop)},
	{"something after the end", "end", "anthropic", "", 0, func(f []string) []string { return append(f, ping) }},
	{"an error", "error", "anthropic", "", 0, insert("event: message_delta",
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}\n\n")},
	{"an unknown event", "type", "anthropic", "", 0, insert(stop, "event: hm\ndata: {\"type\":\"hm\"}\n\n")},
	{"an unknown block", "type", "anthropic", "",
		0, edit("redacted_thinking", `"type":"redacted_thinking"`, `"type":"hm"`)},
	{"an unknown reason to stop", "stop", "anthropic", "", 0, edit("event: message_delta", `"tool_use"`, `"hm"`)},
	{"an end of the turn after a call", "stop", "anthropic", "", 0,
		edit("event: message_delta", `"tool_use"`, `"end_turn"`)},
	{"a call that is none", "stop", "anthropic", "", 1, edit("event: message_delta", `"end_turn"`, `"tool_use"`)},
	{"input tokens change", "usage", "anthropic", "", 0, rewrite(start, `"input_tokens":\d+`, `"input_tokens":1`)},
	{"output tokens shrink", "usage", "anthropic", "", 0,
		rewrite("event: message_delta", `"output_tokens":\d+`, `"output_tokens":1`)},
	{"more thinking than output", "usage", "anthropic", "", 0,
		rewrite("event: message_delta", `"thinking_tokens":\d+`, `"thinking_tokens":9999`)},
	{"a cache that does not add up", "usage", "anthropic", "unary", 0,
		rewrite("usage", `"ephemeral_5m_input_tokens":\d+`, `"ephemeral_5m_input_tokens":7`)},
	{"no service tier", "usage", "anthropic", "unary", 0, edit("usage", `"service_tier"`, `"tier"`)},
	{"an empty text in a document", "content", "anthropic", "unary", 0,
		rewrite("usage", `"type":"text","text":"[^"]+"`, `"type":"text","text":""`)},
	{"a thought without a signature", "content", "anthropic", "unary", 0,
		rewrite("usage", `"signature":"[^"]+"`, `"signature":""`)},
	{"a document cut short", "frame", "anthropic", "unary", 0, rewrite("usage", `\}$`, ``)},

	{"a number is skipped", "sequence", "openai", "", 0, drop("output_text.delta")},
	{"no created", "start", "openai", "", 0, drop("response.created")},
	{"in_progress before created", "start", "openai", "", 0, move("response.in_progress", "response.created")},
	{"usage at the start", "start", "openai", "", 0, edit("response.created", `"usage":null`, `"usage":{}`)},
	{"an item before in_progress", "start", "openai", "",
		0, move("event: response.in_progress", "event: response.reasoning_summary_part.added")},
	{"another response", "id", "openai", "", 0, rewrite("response.completed", `"id":"resp_\w+"`, `"id":"resp_1"`)},
	{"another item", "id", "openai", "", 0, rewrite(done, `"id":"rs_\w+"`, `"id":"rs_1"`)},
	{"a delta of another item", "id", "openai", "", 0,
		rewrite("output_text.delta", `"item_id":"msg_\w+"`, `"item_id":"msg_1"`)},
	{"an id of another kind", "id", "openai", "", 0, rewrite(added, `"id":"rs_`, `"id":"fc_`)},
	{"an item is not done", "index", "openai", "", 0, drop(done)},
	{"an item is done twice", "index", "openai", "", 0, repeat(done)},
	{"an index of an item is skipped", "index", "openai", "",
		0, edit(`output_item.added","item":{"id":"msg`, `"output_index":1`, `"output_index":2`)},
	{"a delta after its item", "index", "openai", "",
		0, move(`output_item.done","item":{"id":"msg`, "output_text.delta")},
	{"a text in a call", "item", "openai", "", 0, func(f []string) []string {
		return move("event: response.content_part.added", "event: response.reasoning_summary_part.added")(f)
	}},
	{"a part is not added", "item", "openai", "", 0, drop("content_part.added")},
	{"a part is not done", "item", "openai", "", 0, drop("content_part.done")},
	{"a delta after its text", "item", "openai", "", 0, move("output_text.done", "output_text.delta")},
	{"an empty delta", "item", "openai", "", 0, rewrite("output_text.delta", `"delta":"[^"]*"`, `"delta":""`)},
	{"arguments at the start", "item", "openai", "", 0,
		edit(`output_item.added","item":{"id":"fc`, `"arguments":""`, `"arguments":"{}"`)},
	{"a text is lost", "concat", "openai", "", 0, drop("output_text.delta")},
	{"another text", "concat", "openai", "", 0, rewrite("output_text.done", `"text":"[^"]*"`, `"text":"x"`)},
	{"another part", "concat", "openai", "", 0, rewrite("content_part.done", `"text":"[^"]*"`, `"text":"x"`)},
	{"another summary", "concat", "openai", "", 0,
		edit(`output_item.done","item":{"id":"rs`, `"text":"First`, `"text":"Last`)},
	{"other arguments", "concat", "openai", "", 0, drop("function_call_arguments.delta")},
	{"no end of the arguments", "concat", "openai", "", 0, drop("function_call_arguments.done")},
	{"the same seal when done", "sealed", "openai", "", 0, func(f []string) []string {
		return edit(done, sealIn(f[at(f, done)]), sealIn(f[at(f, added)]))(f)
	}},
	{"the same seal when completed", "sealed", "openai", "", 0, func(f []string) []string {
		return edit("response.completed", sealIn(f[at(f, "response.completed")]), sealIn(f[at(f, done)]))(f)
	}},
	{"a seal is lost", "sealed", "openai", "", 0, func(f []string) []string {
		return edit(done, `"encrypted_content":"`+sealIn(f[at(f, done)])+`"`, `"encrypted_content":""`)(f)
	}},
	{"an item is not repeated", "completed", "openai", "", 0,
		rewrite("response.completed", `"output":\[.*\],"parallel`, `"output":[],"parallel`)},
	{"an item is repeated in other words", "completed", "openai", "",
		0, edit("response.completed", `"name":"conform_echo"}`, `"name":"conform_Echo"}`)},
	{"no end", "terminal", "openai", "", 0, drop("event: response.completed")},
	{"something follows", "terminal", "openai", "", 0, func(f []string) []string { return append(f, f[1]) }},
	{"another end", "terminal", "openai", "",
		0, rewrite("response.completed", `response.completed`, `response.incomplete`)},
	{"no reason", "terminal", "openai", "", 2, edit("event: response.incomplete",
		`"incomplete_details":{"reason":"max_output_tokens"}`, `"incomplete_details":null`)},
	{"no padding", "obfuscation", "openai", "", 0,
		rewrite("output_text.delta", `"obfuscation":"\w+"`, `"obfuscation":""`)},
	{"a total that does not add up", "usage", "openai", "", 0,
		rewrite("response.completed", `"total_tokens":[1-9]\d*`, `"total_tokens":1`)},
	{"more reasoning than output", "usage", "openai", "unary", 0,
		rewrite("usage", `"reasoning_tokens":\d+`, `"reasoning_tokens":99999`)},
	{"more cached than input", "usage", "openai", "unary", 0,
		rewrite("usage", `"cached_tokens":\d+`, `"cached_tokens":99999`)},
	{"an unknown event of a response", "type", "openai", "", 0, insert("event: response.completed",
		"event: response.hm\ndata: {\"type\":\"response.hm\",\"sequence_number\":0}\n\n")},
	{"an unknown item", "type", "openai", "unary", 0, edit("usage", `"type":"reasoning"`, `"type":"hm"`)},
	{"an error in a response", "error", "openai", "", 0,
		insert("event: response.completed",
			"event: error\ndata: {\"type\":\"error\",\"sequence_number\":0,\"error\":{\"code\":\"x\",\"message\":\"x\",\"type\":\"x\",\"param\":null}}\n\n")},
	{"no item id", "schema", "openai", "", 0, edit("output_text.delta", `"output_index":1`, `"output_index":"1"`)},
	{"a name that is not its type", "frame", "openai", "", 0,
		edit("output_text.done", "event: response.output_text.done", "event: response.output_text")},

	{"LF", "frame", "gemini", "", 0, edit("data", "\r\n\r\n", "\n\n")},
	{"an event line", "frame", "gemini", "", 0, edit("data", "data: ", "event: x\r\ndata: ")},
	{"parts of another type", "schema", "gemini", "", 0, edit("data", `"text": "`, `"text": 1, "x": "`)},
	{"another responseId", "id", "gemini", "", 0, rewrite("functionCall", `"responseId": "\w+"`, `"responseId": "x"`)},
	{"another model", "id", "gemini", "", 0, rewrite("functionCall", `"modelVersion": "[^"]+"`, `"modelVersion": "x"`)},
	{"an id of a call that is too long", "id", "gemini", "", 0, edit("functionCall", `"id": "`, `"id": "zz`)},
	{"no finishReason", "finish", "gemini", "", 0, cutOff(1)},
	{"two finishReasons", "finish", "gemini", "",
		0, edit("functionCall", `"index": 0`, `"finishReason": "STOP","index": 0`)},
	{"an unknown finishReason", "finish", "gemini", "", 0, edit("finishReason", `"STOP"`, `"HM"`)},
	{"no finishMessage", "finish", "gemini", "", 0, rewrite("finishReason", `,"finishMessage": "[^"]+"`, ``)},
	{"no candidate", "finish", "gemini", "", 0, edit("functionCall", `"candidates"`, `"candidate"`)},
	{"the user speaks", "content", "gemini", "", 0, edit("functionCall", `"role": "model"`, `"role": "user"`)},
	{"no parts", "content", "gemini", "", 0, rewrite("functionCall", `"parts": \[.*\],"role"`, `"parts": [],"role"`)},
	{"two data", "content", "gemini", "", 0, edit("functionCall", `{"functionCall"`, `{"text": "x","functionCall"`)},
	{"a call without a name", "content", "gemini", "", 0, edit("functionCall", `"name"`, `"Name"`)},
	{"the first call is unsigned", "signature", "gemini", "",
		0, rewrite("functionCall", `,"thoughtSignature": "[^"]+"`, ``)},
	{"a thought is signed", "signature", "gemini", "", 0,
		edit("data", `"thought": true`, `"thought": true,"thoughtSignature": "Eg=="`)},
	{"a text is unsigned", "signature", "gemini", "unary", 5, rewrite("text", `,\s*"thoughtSignature": "[^"]+"`, ``)},
	{"a second signature", "signature", "gemini", "",
		0, edit("finishReason", `{"text": ""`, `{"text": "","thoughtSignature": "Eg=="`)},
	{"usage falls", "usage", "gemini", "", 0, move("finishReason", "data")},
	{"usage does not add up", "usage", "gemini", "", 0,
		rewrite("functionCall", `"totalTokenCount": \d+`, `"totalTokenCount": 999999`)},
	{"details do not add up", "usage", "gemini", "unary", 0, rewrite("text", `"tokenCount": \d+`, `"tokenCount": 1`)},
	{"more cached than there is", "usage", "gemini", "", 0,
		edit("functionCall", `"usageMetadata": {`, `"usageMetadata": {"cachedContentTokenCount": 99999,`)},
	{"an error in a chunk", "error", "gemini", "", 0, func(f []string) []string {
		return append(f, "data: {\"error\": {\"code\": 503,\"message\": \"x\",\"status\": \"UNAVAILABLE\"}}\r\n\r\n")
	}},
	{"an array without its end", "frame", "gemini", "array", 0, cutOff(1)},
	{"chunks without a comma", "frame", "gemini", "array", 0, edit("functionCall", ",\r\n", "\r\n")},
}

// sealIn is the last encrypted content in a frame.
func sealIn(frame string) string {
	all := regexp.MustCompile(`"encrypted_content":"([^"]+)"`).FindAllStringSubmatch(frame, -1)
	return all[0][1]
}

var targets = map[string]specs.Target{
	"anthropic": {Provider: "anthropic", Model: "claude-opus-4-6"}, "openai": {Provider: "openai", Model: "gpt-5.5"},
	"gemini": {Provider: "gemini", Model: "gemini-3.5-flash"},
}

// frames cuts an answer into its events or chunks.
func (m mutant) frames(body string) []string {
	switch {
	case m.form == "unary":
		return []string{body}
	case m.form == "array":
		return regexp.MustCompile(`(?s)(^|,\r\n|\[)\{\n.*?\n\}(\n\])?`).FindAllString(body, -1)
	case m.provider == "gemini":
		return strings.SplitAfter(strings.TrimSuffix(body, "\r\n\r\n"), "\r\n\r\n")
	}
	all := strings.SplitAfter(body, "\n\n")
	return all[:len(all)-1]
}

// numbered gives the events of OpenAI their numbers again.
func numbered(frames []string) []string {
	number := regexp.MustCompile(`"sequence_number":\d+`)
	for i := range frames {
		frames[i] = number.ReplaceAllString(frames[i], `"sequence_number":`+strconv.Itoa(i))
	}
	return frames
}

// TestMutants holds that each rule of the grammar finds what breaks it.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.provider+"/"+m.name, func(t *testing.T) {
			form := m.form
			if form == "" {
				form = "stream"
			}
			scenario := everyScenario(t)
			if m.turn == 1000 {
				scenario, m.turn = callScenario(t), 0
			}
			_, body := first(t, only(scenario, m.turn), targets[m.provider], form)
			if found := judged(m.provider, form, leave{}, body); len(found) > 0 {
				t.Fatalf("it is broken already: %v", found)
			}
			frames := m.frames(string(body))
			if m.provider == "gemini" && form == "stream" {
				frames[len(frames)-1] += "\r\n\r\n"
			}
			frames = m.change(frames)
			if m.provider == "openai" && m.rule != "sequence" && form == "stream" {
				frames = numbered(frames)
			}
			broken := strings.Join(frames, "")
			if broken == string(body) {
				t.Fatal("the mutant is the original")
			}
			found := judged(m.provider, form, leave{}, []byte(broken))
			if !slices.ContainsFunc(found, func(b breach) bool { return b.rule == m.rule }) {
				t.Errorf("%s does not find it; found: %v", m.rule, found)
			}
		})
	}
}

// callScenario ends in a call with arguments.
func callScenario(t *testing.T) *specs.Scenario {
	t.Helper()
	s := *everyScenario(t)
	s.Turns = slices.Clone(s.Turns[:1])
	s.Turns[0].Emit = s.Turns[0].Emit[1:4:4]
	return &s
}

// TestMutantsComplete holds that every rule of every judge has a mutant.
func TestMutantsComplete(t *testing.T) {
	rules := regexp.MustCompile(`\.must\(.*, "([a-z]+)", "[^"]* `)
	for _, provider := range append(schematised(), "") {
		file := strings.ReplaceAll(fmt.Sprintf("judge_%s_test.go", provider), "__", "_")
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range rules.FindAllSubmatch(source, -1) {
			rule := string(match[1])
			if !slices.ContainsFunc(mutants,
				func(m mutant) bool { return m.rule == rule && (m.provider == provider || provider == "") }) {
				t.Errorf("%s: no mutant breaks %s", file, rule)
			}
		}
	}
}
