package check_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

var update = flag.Bool("update", false, "write the transcripts' expected lines anew")

// TestTranscripts reads small conversations from testdata/transcripts and compares
// what linking and the checks say about them with the lines after "===".
//
// A file begins with settings: "provider: NAME" (several make the same
// conversation for each), "checks: PREFIX..." for the checks to run, "source:",
// "resumed: N..." for the processes that resumed a session. Each other line
// is an exchange, "OPTIONS: request -> reply", of these items:
//
//	u"text"  a"text"  s"text"     user, model and system text; a"text"@id with an item id
//	t"text"#token@id              thinking
//	c:id:name{"a":1}#token@id     tool call
//	r:id:name"output"             tool result
//	img"data"                     image of the user
//	ref:id                        reference to a stored item
//	b{"type":"x"}                 block of the model in the provider's own form
//	|                             the next item begins a message of its own
//
// Options are model=, system=, tools=a,b, choice=any or choice=any:a,b (the tools that must
// be chosen from), choice=auto, snake=yes (Gemini's other spelling), previous=N (previous_response_id),
// store=ID (stored conversation), process=N, end=, short=yes (a limit of tokens cut the reply),
// socket=N (the WebSocket that carried the request) and warm=yes (a warm-up of it, which asks
// for no output). The reply "!400" is a refusal
// and "~" a reply that never came. "..N" stands for the whole request and reply of
// exchange N.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			tr, input, want := readTranscript(t, name)
			got := tr.run(check.Decode)
			if *update {
				if err := os.WriteFile(name, []byte(input+"===\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// readTranscript returns what a file holds before "===", read and as it stands, and
// what is expected after it.
func readTranscript(t *testing.T, name string) (tr *transcript, input, want string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ = strings.Cut(string(text), "===\n")
	return parseTranscript(t, input), input, want
}

// run describes the conversation for each provider.
func (tr *transcript) run(decode func(*evidence.Evidence) *check.Trace) string {
	var w strings.Builder
	for _, provider := range tr.providers {
		tr.describe(&w, provider, decode)
	}
	return w.String()
}

type transcript struct {
	providers, checks []string
	resumed           map[int]bool
	source            evidence.Source
	exchanges         []scriptedExchange
}

type scriptedExchange struct {
	options map[string]string
	request []scriptedItem
	reply   []scriptedItem
	refused bool
	absent  bool
}

type scriptedItem struct {
	kind                          string // u a s t c r img ref b |
	id, name, text, token, itemID string
}

func parseTranscript(t *testing.T, input string) *transcript {
	t.Helper()
	tr := &transcript{source: evidence.SourceRecording, resumed: map[int]bool{}}
	for _, line := range strings.Split(input, "\n") {
		key, value, found := strings.Cut(line, ": ")
		switch fields := strings.Fields(value); {
		case !found || strings.HasPrefix(line, "#"):
		case key == "provider":
			tr.providers = fields
		case key == "checks":
			tr.checks = fields
		case key == "source":
			tr.source = evidence.Source(fields[0])
		case key == "resumed":
			for _, f := range fields {
				n, _ := strconv.Atoi(f)
				tr.resumed[n] = true
			}
		default:
			tr.exchanges = append(tr.exchanges, tr.parseExchange(t, key, value))
		}
	}
	return tr
}

func (tr *transcript) parseExchange(t *testing.T, options, value string) scriptedExchange {
	t.Helper()
	x := scriptedExchange{options: map[string]string{}}
	for _, o := range strings.Fields(options) {
		k, v, _ := strings.Cut(o, "=")
		x.options[k] = v
	}
	request, reply, _ := strings.Cut(value, " -> ")
	request = strings.TrimSpace(request)
	for strings.HasPrefix(request, "..") {
		word, rest, _ := strings.Cut(request, " ")
		n, err := strconv.Atoi(word[2:])
		if err != nil {
			t.Fatal(word)
		}
		from := tr.exchanges[n]
		x.request = append(append(x.request, from.request...), from.reply...)
		request = rest
	}
	x.request = append(x.request, parseItems(t, request)...)
	switch reply = strings.TrimSpace(reply); reply {
	case "!400":
		x.refused = true
	case "~":
		x.absent = true
	default:
		x.reply = parseItems(t, reply)
	}
	return x
}

var itemForm = regexp.MustCompile(`^(u|a|s|t|img)("(?:[^"\\]|\\.)*")(?:#(\w+))?(?:@(\w+))?(?:\s+|$)|^c:(\w*):(\w+)(\{\S*\})(?:#(\w+))?(?:@(\w+))?(?:\s+|$)|^r:(\w*):(\w*)("(?:[^"\\]|\\.)*")(?:\s+|$)|^ref:(\w+)(?:\s+|$)|^b(\{\S*\})(?:\s+|$)|^\|\s+`)

func parseItems(t *testing.T, s string) (items []scriptedItem) {
	t.Helper()
	for s = strings.TrimSpace(s); s != ""; {
		m := itemForm.FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("unreadable item: %s", s)
		}
		unquote := func(q string) string {
			text, err := strconv.Unquote(q)
			if err != nil {
				t.Fatal(q, err)
			}
			return text
		}
		switch {
		case m[1] != "":
			items = append(items, scriptedItem{kind: m[1], text: unquote(m[2]), token: m[3], itemID: m[4]})
		case m[6] != "":
			items = append(items, scriptedItem{kind: "c", id: m[5], name: m[6], text: m[7], token: m[8], itemID: m[9]})
		case m[12] != "":
			items = append(items, scriptedItem{kind: "r", id: m[10], name: m[11], text: unquote(m[12])})
		case m[13] != "":
			items = append(items, scriptedItem{kind: "ref", itemID: m[13]})
		case m[14] != "":
			items = append(items, scriptedItem{kind: "b", text: m[14]})
		default:
			items = append(items, scriptedItem{kind: "|"})
		}
		s = s[len(m[0]):]
	}
	return items
}

// describe writes what was found for one provider.
func (tr *transcript) describe(w *strings.Builder, provider string, decode func(*evidence.Evidence) *check.Trace) {
	ev := tr.evidence(provider)
	trace := decode(&ev)
	fmt.Fprintf(w, "%s\n", provider)
	back := map[int][]string{}
	for _, r := range trace.Replays() {
		back[r[1]] = append(back[r[1]], strconv.Itoa(r[0]))
	}
	for _, p := range trace.Placements() {
		fmt.Fprintf(w, "  %d %s", p.Exchange, p.Kind)
		if p.Conversation >= 0 {
			fmt.Fprintf(w, " of conversation %d", p.Conversation)
		}
		if p.Previous >= 0 {
			fmt.Fprintf(w, " after %d", p.Previous)
		}
		if len(back[p.Exchange]) > 0 {
			fmt.Fprintf(w, ", sends back %s", strings.Join(back[p.Exchange], " "))
		}
		fmt.Fprintln(w)
	}
	for _, c := range check.All() {
		for _, prefix := range tr.checks {
			if !strings.HasPrefix(c.ID, prefix) {
				continue
			}
			for _, f := range c.Run(trace).Findings {
				fmt.Fprintf(w, "  %s in %d %s: %s\n", c.ID, f.Exchange, f.Path, f.Message)
			}
		}
	}
}

func (tr *transcript) evidence(provider string) evidence.Evidence {
	ev := evidence.Evidence{Source: tr.source, Case: "transcript"}
	processes := 0
	for i, s := range tr.exchanges {
		n, err := strconv.Atoi(s.options["process"])
		if err != nil {
			n = -1
		}
		processes = max(processes, n+1)
		x := evidence.Exchange{Index: i, Provider: provider, Process: n}
		x.WebSocket, _ = strconv.Atoi(s.options["socket"]) // 0 without one
		x.Request = evidence.Request{Method: "POST", URL: s.url(provider), Body: s.requestBody(provider)}
		x.Response = evidence.Response{Status: 200, Body: s.replyBody(provider, i), End: s.options["end"]}
		if s.refused {
			x.Response = evidence.Response{Status: 400, Body: []byte(`{"error":{"message":"no"}}`)}
		}
		if s.absent {
			x.Response = evidence.Response{}
		}
		ev.Exchanges = append(ev.Exchanges, x)
	}
	for n := range processes {
		ev.Process = append(ev.Process, evidence.Process{Resumed: tr.resumed[n]})
	}
	return ev
}

var defaultModels = map[string]string{evidence.Anthropic: "claude-opus-4-6", evidence.OpenAI: "gpt-5.2",
	evidence.Gemini: "gemini-3-flash-preview"}

func (s *scriptedExchange) url(provider string) string {
	switch provider {
	case evidence.Anthropic:
		return "https://api.anthropic.com/v1/messages"
	case evidence.OpenAI:
		return "https://api.openai.com/v1/responses"
	}
	return "https://generativelanguage.googleapis.com/v1beta/models/" +
		cmp.Or(s.options["model"], defaultModels[provider]) + ":generateContent"
}

type object = map[string]any

func marshalObject(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}

func (s *scriptedExchange) requestBody(provider string) []byte {
	body := object{}
	var tools []any
	for _, name := range strings.FieldsFunc(s.options["tools"], func(r rune) bool { return r == ',' }) {
		name, deferred := strings.CutSuffix(name, "*")
		switch provider {
		case evidence.Anthropic:
			tool := object{"name": name, "input_schema": object{"type": "object"}}
			if deferred {
				tool["defer_loading"] = true
			}
			tools = append(tools, tool)
		case evidence.OpenAI:
			tool := object{"type": "function", "name": name}
			if deferred {
				tool["defer_loading"] = true
			}
			tools = append(tools, tool)
		default:
			tools = append(tools, object{"functionDeclarations": []any{object{"name": name}}})
		}
	}
	if tools != nil {
		body["tools"] = tools
	}
	if choice := s.options["choice"]; choice != "" {
		s.addChoice(body, provider, choice)
	}
	model, system := cmp.Or(s.options["model"], defaultModels[provider]), s.options["system"]
	items := itemsOf(provider, s.request)
	switch provider {
	case evidence.Anthropic:
		body["model"], body["max_tokens"], body["messages"] = model, 1000, items
		if system != "" {
			body["system"] = system
		}
	case evidence.OpenAI:
		body["model"], body["input"] = model, items
		if system != "" {
			body["instructions"] = system
		}
		if p := s.options["previous"]; p != "" {
			body["previous_response_id"] = "resp_" + p
		} else {
			body["store"], body["include"] = false, []string{"reasoning.encrypted_content"}
		}
		if s.options["warm"] != "" {
			body["generate"] = false
		}
		if s.options["socket"] != "" {
			body["type"], body["store"] = "response.create", false
		}
		if c := s.options["store"]; c != "" {
			body["conversation"] = object{"id": c}
		}
	default:
		body["contents"] = items
		if system != "" {
			body["systemInstruction"] = object{"parts": []any{object{"text": system}}}
		}
	}
	return marshalObject(body)
}

// addChoice says which tools the model may choose, as each provider spells it.
func (s *scriptedExchange) addChoice(body object, provider, choice string) {
	kind, list, _ := strings.Cut(choice, ":")
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	switch {
	case provider == evidence.Gemini && s.options["snake"] != "":
		config := object{"mode": strings.ToUpper(kind)}
		if names != nil {
			config["allowed_function_names"] = names
		}
		body["tool_config"] = object{"function_calling_config": config}
	case provider == evidence.Gemini:
		config := object{"mode": strings.ToUpper(kind)}
		if names != nil {
			config["allowedFunctionNames"] = names
		}
		body["toolConfig"] = object{"functionCallingConfig": config}
	case provider == evidence.Anthropic && len(names) == 1:
		body["tool_choice"] = object{"type": "tool", "name": names[0]}
	case provider == evidence.Anthropic:
		body["tool_choice"] = object{"type": kind}
	case len(names) > 0:
		allowed := []any{}
		for _, name := range names {
			allowed = append(allowed, object{"type": "function", "name": name})
		}
		mode := map[string]string{"any": "required"}[kind]
		body["tool_choice"] = object{"type": "allowed_tools", "mode": cmp.Or(mode, kind), "tools": allowed}
	default:
		body["tool_choice"] = cmp.Or(map[string]string{"any": "required"}[kind], kind)
	}
}

func (s *scriptedExchange) replyBody(provider string, n int) []byte {
	items, isShort := itemsOf(provider, s.reply), s.options["short"] != ""
	switch provider {
	case evidence.Anthropic:
		content, stop := []any{}, "end_turn"
		if len(items) > 0 {
			content = items[0].(object)["content"].([]any)
		}
		if isShort {
			stop = "max_tokens"
		}
		return marshalObject(object{"type": "message", "role": "assistant", "content": content, "stop_reason": stop})
	case evidence.OpenAI:
		reply := object{"object": "response", "id": "resp_" + strconv.Itoa(n), "status": "completed", "output": items}
		if isShort {
			reply["status"], reply["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
		}
		return marshalObject(reply)
	}
	content, stop := object{"role": "model", "parts": []any{}}, "STOP"
	if len(items) > 0 {
		content = items[0].(object)
	}
	if isShort {
		stop = "MAX_TOKENS"
	}
	return marshalObject(object{"candidates": []any{object{"content": content, "finishReason": stop}}})
}

// itemsOf writes the items as messages, input items or contents.
func itemsOf(provider string, items []scriptedItem) []any {
	list := []any{}
	last := ""
	for _, it := range items {
		if it.kind == "|" {
			last = ""
			continue
		}
		role, block := it.render(provider)
		if provider == evidence.OpenAI {
			list = append(list, block)
			continue
		}
		key := map[string]string{evidence.Anthropic: "content", evidence.Gemini: "parts"}[provider]
		if role != last {
			list = append(list, object{"role": role, key: []any{}})
		}
		m := list[len(list)-1].(object)
		m[key] = append(m[key].([]any), block)
		last = role
	}
	return list
}

func (it scriptedItem) render(provider string) (role string, block object) {
	role = map[string]string{"u": "user", "r": "user", "img": "user", "s": "system"}[it.kind]
	if it.kind == "b" {
		if err := json.Unmarshal([]byte(it.text), &block); err != nil {
			panic(err)
		}
		return cmp.Or(role, map[string]string{evidence.Anthropic: "assistant", evidence.Gemini: "model"}[provider]),
			block
	}
	switch provider {
	case evidence.Anthropic:
		return cmp.Or(role, "assistant"), it.anthropic()
	case evidence.OpenAI:
		return "", it.openAI()
	}
	return cmp.Or(role, "model"), it.gemini()
}

func (it scriptedItem) anthropic() object {
	switch it.kind {
	case "t":
		return object{"type": "thinking", "thinking": it.text, "signature": it.token}
	case "c":
		return object{"type": "tool_use", "id": it.id, "name": it.name, "input": json.RawMessage(it.text)}
	case "r":
		return object{"type": "tool_result", "tool_use_id": it.id, "content": it.text}
	case "img":
		return object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": it.text}}
	}
	return object{"type": "text", "text": it.text}
}

func (it scriptedItem) openAI() object {
	o := object{}
	if it.itemID != "" {
		o["id"] = it.itemID
	}
	switch it.kind {
	case "t":
		o["type"], o["summary"] = "reasoning", []any{}
		if it.text != "" {
			o["summary"] = []any{object{"type": "summary_text", "text": it.text}}
		}
		if it.token != "" {
			o["encrypted_content"] = it.token
		}
	case "c":
		o["type"], o["call_id"], o["name"], o["arguments"] = "function_call", it.id, it.name, it.text
	case "r":
		o["type"], o["call_id"], o["output"] = "function_call_output", it.id, it.text
	case "ref":
		o["type"] = "item_reference"
	case "a":
		o["type"], o["role"], o["content"] = "message", "assistant",
			[]any{object{"type": "output_text", "text": it.text}}
	case "img":
		o["type"], o["role"], o["content"] = "message", "user",
			[]any{object{"type": "input_image", "image_url": it.text}}
	default:
		o["type"], o["role"], o["content"] = "message", map[string]string{"u": "user", "s": "developer"}[it.kind],
			[]any{object{"type": "input_text", "text": it.text}}
	}
	return o
}

func (it scriptedItem) gemini() object {
	o := object{}
	if it.token != "" {
		o["thoughtSignature"] = it.token
	}
	switch it.kind {
	case "t":
		o["text"], o["thought"] = it.text, true
	case "c":
		call := object{"name": it.name, "args": json.RawMessage(it.text)}
		if it.id != "" {
			call["id"] = it.id
		}
		o["functionCall"] = call
	case "r":
		res := object{"name": it.name, "response": object{"output": it.text}}
		if it.id != "" {
			res["id"] = it.id
		}
		o["functionResponse"] = res
	case "img":
		o["inlineData"] = object{"mimeType": "image/png", "data": it.text}
	default:
		o["text"] = it.text
	}
	return o
}
