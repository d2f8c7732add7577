package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/schemas"
)

// The judges hold what the simulator sends against the grammars of reference
// §3 and the schemas. They know nothing of how it was made: they read bytes.

// breach is what is wrong with an answer. Rule names the part of the grammar.
type breach struct{ rule, what string }

// leave says what an answer may hold beside the grammar.
type leave struct {
	fails  bool // ends in an error
	events bool // of unknown types
	blocks bool // and parts, and items
	twice  bool // message_start (anthropic)
	stop   bool // a leading empty STOP (gemini)
	usage  bool // a usage trailer (gemini)
}

// judge collects breaches.
type judge struct {
	leave
	found []breach
}

func (j *judge) must(ok bool, rule, format string, args ...any) {
	if !ok {
		j.found = append(j.found, breach{rule, fmt.Sprintf(format, args...)})
	}
}

// event is one event of a stream, or one chunk.
type event struct {
	name string
	data map[string]any
	raw  []byte
}

func (e event) at(path ...string) any {
	var v any = e.data
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func (e event) str(path ...string) string {
	s, _ := e.at(path...).(string)
	return s
}

// num is a number, -1 for none.
func (e event) num(path ...string) int {
	f, ok := e.at(path...).(float64)
	if !ok {
		return -1
	}
	return int(f)
}

// count is a number, 0 for none.
func (e event) count(path ...string) int { return max(0, e.num(path...)) }

func (e event) has(path ...string) bool { return e.at(path...) != nil }

func (e event) list(path ...string) []event {
	items, _ := e.at(path...).([]any)
	var all []event
	for _, item := range items {
		m, _ := item.(map[string]any)
		all = append(all, event{data: m})
	}
	return all
}

func (e event) under(path ...string) event {
	m, _ := e.at(path...).(map[string]any)
	return event{data: m}
}

// keys are those of the object, sorted.
func (e event) keys() []string { return slices.Sorted(maps.Keys(e.data)) }

// sse reads a stream of server-sent events: "event: NAME" and "data: JSON"
// lines with an empty line after them; gemini has no names and ends lines with
// CRLF (reference §1.4).
func (j *judge) sse(provider string, body []byte) []event {
	end := "\n\n"
	if provider == "gemini" {
		end = "\r\n\r\n"
	}
	blocks := strings.Split(string(body), end)
	j.must(blocks[len(blocks)-1] == "", "frame", "the stream ends inside an event: %q", blocks[len(blocks)-1])
	var all []event
	for _, block := range blocks[:len(blocks)-1] {
		var e event
		data := block
		if provider != "gemini" {
			name, rest, _ := strings.Cut(block, "\n")
			e.name, data = strings.TrimPrefix(name, "event: "), rest
			j.must(strings.HasPrefix(name, "event: "), "frame", "no event line: %q", block)
		}
		text, ok := strings.CutPrefix(data, "data: ")
		j.must(ok && !strings.ContainsAny(text, "\r\n"), "frame", "not one data line: %q", data)
		e.raw = []byte(text)
		if err := json.Unmarshal(e.raw, &e.data); err != nil {
			j.must(false, "frame", "%q: %v", text, err)
			continue
		}
		j.must(provider == "gemini" || e.str("type") == e.name, "frame", "event %s carries type %s", e.name,
			e.str("type"))
		all = append(all, e)
	}
	return all
}

// array reads Gemini's stream without alt=sse: one JSON array, chunks parted by
// a comma and CRLF.
func (j *judge) array(body []byte) []event {
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil || !bytes.HasPrefix(body, []byte("[{")) ||
		!bytes.HasSuffix(body, []byte("\n]")) {
		j.must(false, "frame", "not one array: %v", err)
		return nil
	}
	j.must(bytes.Count(body, []byte("\n,\r\n{")) == 0 && bytes.Count(body, []byte("},\r\n{")) == len(raw)-1, "frame",
		"chunks are not parted by comma and CRLF")
	var all []event
	for _, r := range raw {
		e := event{raw: r}
		j.must(json.Unmarshal(r, &e.data) == nil, "frame", "no object: %s", r)
		all = append(all, e)
	}
	return all
}

// document reads the one object of a unary answer.
func (j *judge) document(body []byte) event {
	e := event{raw: body}
	j.must(json.Unmarshal(body, &e.data) == nil, "frame", "no JSON object: %q", body)
	return e
}

var eventSchemas = map[string]schemas.Name{"anthropic": "anthropic.event", "openai": "openai.event",
	"gemini": "gemini.chunk"}

// schema holds messages against the provider's schema.
func (j *judge) schema(provider string, raw []byte) {
	if err := schemas.Validate(eventSchemas[provider], raw); err != nil {
		j.must(false, "schema", "%s: %v", raw, err)
	}
}

// judged returns the breaches of an answer. Form is stream, array or unary; may
// says what it may hold.
func judged(provider, form string, may leave, body []byte) []breach {
	j := &judge{leave: may}
	if form == "unary" {
		whole := j.document(body)
		j.schema(provider, wrapped(provider, body))
		documents[provider](j, whole)
		return j.found
	}
	var all []event
	if form == "array" {
		all = j.array(body)
	} else {
		all = j.sse(provider, body)
	}
	for _, e := range all {
		if !may.events || !e.has("futureUpdate") { // no schema knows a chunk of an unknown kind
			j.schema(provider, e.raw)
		}
	}
	if len(all) == 0 {
		j.must(false, "frame", "nothing was sent")
		return j.found
	}
	streams[provider](j, all)
	return j.found
}

// wrapped puts a document into the event that carries the same object: the
// schemas are of events.
func wrapped(provider string, body []byte) []byte {
	switch provider {
	case "anthropic":
		return fmt.Appendf(nil, `{"type":"message_start","message":%s}`, body)
	case "openai":
		status := "completed"
		if bytes.Contains(body, []byte(`"status":"incomplete","background"`)) {
			status = "incomplete"
		}
		return fmt.Appendf(nil, `{"type":"response.%s","sequence_number":0,"response":%s}`, status, body)
	}
	return body
}

var (
	streams = map[string]func(*judge, []event){"anthropic": anthropicStream, "openai": openaiStream,
		"gemini": geminiStream}
	documents = map[string]func(*judge, event){"anthropic": anthropicDocument, "openai": openaiDocument,
		"gemini": geminiDocument}
)

// speech is what an answer says, whatever its form: kinds and texts, without ids
// and tokens.
type speech []string

func (s *speech) add(kind string, texts ...string) {
	*s = append(*s, kind+" "+strings.Join(texts, "|"))
}

// canonical is JSON text with its names in order, and of an empty object nothing:
// a stream may leave it out.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil || text == "{}" {
		return strings.TrimPrefix(text, "{}")
	}
	out, _ := json.Marshal(v) // it was decoded
	return string(out)
}

// names are the keys of a map, in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
