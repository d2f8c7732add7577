package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Header is what the API sends with a reply (reference §1.2). What is the same
// each time is shared among replies: set a header anew, never within its values.
func (v Provider) Header(r script.Reply) http.Header {
	h := maps.Clone(headers)
	h["Cf-Ray"] = []string{r.ID("", 1, script.Hex, 16) + "-SIM"}
	h["Openai-Processing-Ms"] = []string{strconv.Itoa(200 + r.Roll("processing", 0, 600))}
	h["X-Request-Id"] = []string{r.ID("req_", 0, script.Hex, 32)}
	if r.Request.Form == script.FormSSE {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	return h
}

// constant are the headers of every answer.
var constant = http.Header{
	"Access-Control-Expose-Headers": {"X-Request-ID, CF-Ray, CF-Ray"},
	"Cf-Cache-Status":               {"DYNAMIC"},
	"Content-Type":                  {"application/json"},
	"Openai-Version":                {"2020-10-01"},
	"Server":                        {"cloudflare"},
	"Strict-Transport-Security":     {"max-age=31536000; includeSubDomains; preload"},
	"X-Content-Type-Options":        {"nosniff"},
}

// headers are those of replies that are the same each time.
var headers = func() http.Header {
	h := maps.Clone(constant)
	maps.Copy(h, http.Header{
		"Openai-Organization":            {"org-simulator"},
		"Openai-Project":                 {"proj_simulator"},
		"X-Ratelimit-Limit-Requests":     {"10000"},
		"X-Ratelimit-Limit-Tokens":       {"2000000"},
		"X-Ratelimit-Remaining-Requests": {"9999"},
		"X-Ratelimit-Remaining-Tokens":   {"1999000"},
		"X-Ratelimit-Reset-Requests":     {"6ms"},
		"X-Ratelimit-Reset-Tokens":       {"30ms"},
	})
	return h
}()

// stream collects the frames of one reply.
type stream struct {
	*signedReply
	sequence int
	frames   [][]byte
	output   int // index of the next item
	items    script.Array
	failure  any // the error of a failed response
	tools    json.RawMessage
}

// Frames returns the events of r, or its one JSON document.
func (Provider) Frames(r script.Reply) [][]byte {
	s := &stream{signedReply: newSignedReply(r)}
	if r.Request.Form == script.FormUnary {
		for _, n := range s.spoken {
			s.items = append(s.items, s.itemAt(n, seal.StageCompleted, s.endStatus(n)))
		}
		s.addCompaction()
		s.addFutureItem()
		return [][]byte{script.JSON(s.responseObject(s.addEnd(), s.items, s.usage()))}
	}
	s.addLifecycle("created", "in_progress", script.Array{}, nil)
	s.addLifecycle("in_progress", "in_progress", script.Array{}, nil)
	for _, n := range s.spoken {
		b := s.Blocks[n]
		switch {
		case isThinking(b):
			s.addItem(s.reasoningItem(n, seal.StageAdded, script.Array{}))
			s.addSummary(s.itemID(n), b.Parts)
		case b.Kind == specs.KindCall:
			s.addItem(s.callItem(n, "in_progress", ""))
			s.addCall(n, b)
		case isToolSearch(b):
			s.addItem(s.toolSearchItem(n, "in_progress"))
		case isHosted(b):
			s.addItem(s.hostedItem(n, "in_progress", false))
			s.addHosted(n, b)
		case s.Stop == specs.StopRefusal:
			s.addItem(s.messageItem(n, "in_progress", script.Array{}))
			id := s.itemID(n)
			s.addEvent("content_part.added", "content_index", 0, "item_id", id, "output_index", s.output, "part",
				refusalPart(""))
			for _, piece := range script.Words(b.Text, 1) {
				s.addEvent("refusal.delta", "content_index", 0, "delta", piece, "item_id", id, "output_index", s.output)
			}
			s.addEvent("refusal.done", "content_index", 0, "item_id", id, "output_index", s.output, "refusal", b.Text)
			s.addEvent("content_part.done", "content_index", 0, "item_id", id, "output_index", s.output, "part",
				refusalPart(b.Text))
		default:
			s.addItem(s.messageItem(n, "in_progress", script.Array{}))
			s.addText(s.itemID(n), b.Text)
		}
		s.addEvent("output_item.done", "item", s.itemAt(n, seal.StageDone, s.endStatus(n)), "output_index", s.output)
		s.items = append(s.items, s.itemAt(n, seal.StageCompleted, s.endStatus(n)))
		s.output++
	}
	s.addCompaction()
	s.addFutureItem()
	s.addLifecycle(s.addEnd(), s.addEnd(), s.items, s.usage())
	return s.frames
}

// addEnd is the response's last status.
func (s *stream) addEnd() string {
	if s.Stop == specs.StopMaxTokens || s.Stop == specs.StopFilter {
		return "incomplete"
	}
	return "completed"
}

// endStatus is that of item n: truncation cuts the last one.
func (s *stream) endStatus(n int) string {
	if n == len(s.Blocks)-1 {
		return s.addEnd()
	}
	return "completed"
}

// addEvent appends one event with the next sequence number. Like the API it
// writes the type first and the other names in order.
func (s *stream) addEvent(name string, data ...any) {
	const number = "sequence_number"
	at := 0
	for at < len(data) && data[at].(string) < number {
		at += 2
	}
	s.frames = append(s.frames, script.Compose(func(frame []byte) []byte {
		frame = append(append(frame, "event: response."...), name...)
		frame = append(append(append(frame, "\ndata: {\"type\":\"response."...), name...), '"')
		frame = script.AppendMembers(frame, data[:at]...)
		frame = script.AppendMembers(frame, number, s.sequence)
		frame = script.AppendMembers(frame, data[at:]...)
		return append(frame, "}\n\n"...)
	}))
	s.sequence++
}

func (s *stream) addLifecycle(name, status string, output script.Array, usage any) {
	s.addEvent(name, "response", s.responseObject(status, output, usage))
}

// addCall streams what a tool of the client is called with.
func (s *stream) addCall(n int, b script.Block) {
	switch tool := s.q.clientTool(b.Name); {
	case tool.search: // nothing of it is streamed
	case tool.custom:
		s.addInput(s.itemID(n), streamed(b))
	default:
		s.addArguments(s.itemID(n), streamed(b))
	}
}

func (s *stream) addItem(item script.Object) {
	s.addEvent("output_item.added", "item", item, "output_index", s.output)
}

func (s *stream) addSummary(id string, parts []string) {
	for i, part := range parts {
		s.addEvent("reasoning_summary_part.added", "item_id", id, "output_index", s.output, "part", summaryPart(""),
			"summary_index", i)
		for _, piece := range script.Words(part, 2) {
			s.addEvent("reasoning_summary_text.delta", "delta", piece, "item_id", id, "obfuscation",
				s.obfuscationOf(piece),
				"output_index", s.output, "summary_index", i)
		}
		s.addEvent("reasoning_summary_text.done", "item_id", id, "output_index", s.output, "summary_index", i,
			"text", part)
		s.addEvent("reasoning_summary_part.done", "item_id", id, "output_index", s.output, "part", summaryPart(part),
			"summary_index", i)
	}
}

func (s *stream) addArguments(id, arguments string) {
	for _, piece := range script.Slices(arguments, 5) {
		s.addEvent("function_call_arguments.delta", "delta", piece, "item_id", id, "obfuscation",
			s.obfuscationOf(piece), "output_index", s.output)
	}
	s.addEvent("function_call_arguments.done", "arguments", arguments, "item_id", id, "output_index", s.output)
}

// addInput streams the text of a custom tool's call.
func (s *stream) addInput(id, input string) {
	for _, piece := range script.Slices(input, 5) {
		s.addEvent("custom_tool_call_input.delta", "delta", piece, "item_id", id, "obfuscation", s.obfuscationOf(piece),
			"output_index", s.output)
	}
	s.addEvent("custom_tool_call_input.done", "input", input, "item_id", id, "output_index", s.output)
}

func (s *stream) addText(id, text string) {
	s.addEvent("content_part.added", "content_index", 0, "item_id", id, "output_index", s.output, "part", textPart(""))
	for _, piece := range script.Words(text, 1) {
		s.addEvent("output_text.delta", "content_index", 0, "delta", piece, "item_id", id, "logprobs", script.Array{},
			"obfuscation", s.obfuscationOf(piece), "output_index", s.output)
	}
	s.addEvent("output_text.done", "content_index", 0, "item_id", id, "logprobs", script.Array{}, "output_index",
		s.output, "text", text)
	s.addEvent("content_part.done", "content_index", 0, "item_id", id, "output_index", s.output, "part", textPart(text))
}

// obfuscationOf pads a delta to a multiple of 16 characters with random ones.
func (s *stream) obfuscationOf(delta string) string {
	return s.ID("", s.sequence, script.Alnum, 16-len(delta)%16)
}

// responseObject is the response object; what the client set is echoed. A document
// says who pays, an event does not.
func (s *stream) responseObject(status string, output script.Array, usage any) script.Object {
	q := s.q
	var details, completed any
	if status == "incomplete" {
		details = script.Object{"reason", "max_output_tokens"}
		if s.Stop == specs.StopFilter {
			details = script.Object{"reason", "content_filter"}
		}
	}
	if status == "completed" {
		completed = s.At.Unix() + 2
	}
	tier := q.echoMember("service_tier", `"auto"`)
	if usage != nil && (!q.body.Has("service_tier") || q.body.Text("service_tier") == "auto") {
		tier = script.Raw(`"default"`)
	}
	if s.tools == nil {
		s.tools = script.JSON(q.echoTools())
	}
	o := append(make(script.Object, 0, 80), "id", s.responseID(), "object", "response", "created_at", s.At.Unix(),
		"status", status, "background", q.echoMember("background", "false"))
	if s.Request.Form == script.FormUnary {
		o = append(o, "billing", script.Object{"payer", "developer"})
	}
	o = append(o,
		"completed_at", completed, "error", s.failure, "frequency_penalty", script.Raw("0.0"),
		"incomplete_details", details,
		"instructions", q.echoMember("instructions", "null"), "max_output_tokens",
		q.echoMember("max_output_tokens", "null"), "max_tool_calls", q.echoMember("max_tool_calls", "null"),
		"model", spokenBy(s.Request.Model), "moderation", nil, "output", output, "parallel_tool_calls",
		q.echoMember("parallel_tool_calls", "true"),
		"presence_penalty", script.Raw("0.0"), "previous_response_id", q.echoMember("previous_response_id", "null"),
		"prompt_cache_key", q.echoMember("prompt_cache_key", "null"),
		"prompt_cache_retention", q.cacheRetention(), "reasoning", q.echoReasoning(), "safety_identifier",
		q.echoMember("safety_identifier", "null"), "service_tier", tier,
		"store", q.echoMember("store", "true"), "temperature", q.echoFraction("temperature", "1.0"), "text",
		q.echoText(),
		"tool_choice", q.echoMember("tool_choice", `"auto"`), "tool_usage", script.Raw(toolUsage), "tools", s.tools,
		"top_logprobs", q.echoMember("top_logprobs", "0"), "top_p", q.topP(),
		"truncation", q.echoMember("truncation", `"disabled"`), "usage", usage, "user", q.echoMember("user", "null"),
		"metadata", q.echoMember("metadata", "{}"))
	if s.dropped != nil {
		o = append(o, "input_transformations", s.dropped)
	}
	return o
}

// The cache takes prompts from leastCached tokens on, in steps.
const (
	leastCached = 1024
	cacheStep   = 128
)

// mediaTokens is what a picture or a file counts for.
const mediaTokens = 765

// measurePrompt counts what the model reads of a request in its order: instructions,
// tools, input. before is the part that an earlier request of the conversation
// had: up to where the model spoke last. Of the input the last compaction counts and
// what follows it: it stands for what was said before.
func (q *request) measurePrompt() (total, before int) {
	for _, name := range []string{"instructions", "tools"} {
		total += tokensOf(q.body.Get(name))
	}
	total += tokensOf(q.body.Get("text", "format"))
	base := total
	for i := range q.items {
		it := &q.items[i]
		if it.typ == "compaction" {
			total, before = base, min(before, base)
		}
		if it.isModels() && (i == 0 || !q.items[i-1].isModels()) {
			before = total
		}
		total += tokensOf(it.Node)
	}
	return total, before
}

// tokensOf estimates what a value counts for, encrypted reasoning by its length;
// ids are for the provider alone.
func tokensOf(v *tree.Node) int {
	switch v.Kind() {
	case 0, tree.Null:
		return 0
	case tree.String:
		if strings.HasPrefix(v.Text(), "data:") {
			return mediaTokens
		}
		return script.Tokens(v.Text())
	case tree.Array, tree.Object: // what is in it counts
	default:
		return 1
	}
	n := 0
	for i := range v.Items() {
		if v.Is(tree.Object) {
			switch v.Names()[i] {
			case "id", "call_id", "file_data":
				continue
			}
			n++
		}
		n += tokensOf(v.Items()[i])
	}
	return n
}

// cachedTokens is the part of a prompt that comes from the cache.
func cachedTokens(before int) int {
	if before < leastCached {
		return 0
	}
	return before / cacheStep * cacheStep
}

func (s *stream) usage() script.Object {
	all, thought := s.OutputTokens()
	return s.q.usageObject(all, thought)
}

// usageObject is the usage of an answer that has output tokens, thought among them.
func (q *request) usageObject(output, thought int) script.Object {
	input, before := q.measurePrompt()
	return script.Object{
		"input_tokens", input, "input_tokens_details",
		script.Object{"cache_write_tokens", 0, "cached_tokens", cachedTokens(before)},
		"output_tokens", output, "output_tokens_details", script.Object{"reasoning_tokens", thought}, "total_tokens",
		input + output,
	}
}

// CountTokens is the body that answers a request to count tokens: as many as the
// usage of a reply to it would say.
func (q Request) CountTokens() []byte {
	total, _ := q.q.measurePrompt()
	return script.JSON(script.Object{"object", "response.input_tokens", "input_tokens", total})
}

// What a response repeats of its request is what was understood: defaults are
// filled in, and a schema is as strict as it will be enforced.

// toolUsage is what the provider's own tools have cost; they never run here.
const toolUsage = `{"image_gen":{"input_tokens":0,"input_tokens_details":{"image_tokens":0,"text_tokens":0},"output_tokens":0,` +
	`"output_tokens_details":{"image_tokens":0,"text_tokens":0},"total_tokens":0},"web_search":{"num_requests":0}}`

// The releases with which defaults changed, in Unix seconds.
const (
	sinceGPT51 = 1_762_800_000
	sinceGPT52 = 1_765_300_000
)

// echoMember is a member as it was sent, or otherwise.
func (q *request) echoMember(name string, otherwise script.Raw) any {
	return sentOr(q.body, name, otherwise)
}

// echoFraction is echo for a number that is written with its fraction.
func (q *request) echoFraction(name string, otherwise script.Raw) any {
	if v := q.body.Get(name); v.Is(tree.Integer) {
		return script.Raw(v.Raw() + ".0")
	}
	return q.echoMember(name, otherwise)
}

func (q *request) topP() any {
	if q.model.Created >= sinceGPT52 {
		return q.echoFraction("top_p", "0.98")
	}
	return q.echoFraction("top_p", "1.0")
}

func (q *request) cacheRetention() any {
	if q.model.Created >= sinceGPT51 {
		return q.echoMember("prompt_cache_retention", `"24h"`)
	}
	return q.echoMember("prompt_cache_retention", `"in_memory"`)
}

// echoReasoning has nulls for a model that does not reason, and no mode.
func (q *request) echoReasoning() script.Object {
	asked := q.body.Get("reasoning")
	or := func(name string, otherwise any) any {
		if v := asked.Get(name); v.Is(tree.String) {
			return v.Text()
		}
		return otherwise
	}
	if !q.model.reasons() {
		return script.Object{"context", nil, "effort", nil, "summary", nil}
	}
	context := "current_turn"
	if q.model.hasTrait(canMode) {
		context = "all_turns"
	}
	summary := or("summary", nil)
	if summary == "auto" {
		summary = "detailed"
	}
	return script.Object{"context", or("context", context), "effort", or("effort", q.model.effort), "mode",
		or("mode", "standard"), "summary", summary}
}

func (q *request) echoText() script.Object {
	asked := q.body.Get("text")
	var format any = script.Object{"type", "text"}
	switch f := asked.Get("format"); {
	case f.Text("type") == "json_schema":
		format = script.Object{"type", "json_schema", "description", sentOr(f, "description", "null"), "name",
			sentOr(f, "name", "null"),
			"schema", sentOr(f, "schema", "{}"), "strict", sentOr(f, "strict", "true")}
	case f.Is(tree.Object):
		format = f
	}
	return script.Object{"format", format, "verbosity", sentOr(asked, "verbosity", `"medium"`)}
}

func (q *request) echoTools() script.Array {
	list := script.Array{}
	for i := range q.body.List("tools") {
		t := q.body.List("tools")[i]
		if t.Text("type") != "function" {
			list = append(list, t)
			continue
		}
		o := script.Object{"type", "function"}
		if t.Has("defer_loading") {
			o = append(o, "defer_loading", t.Get("defer_loading"))
		}
		list = append(list, append(o, "description", sentOr(t, "description", "null"), "name",
			sentOr(t, "name", "null"), "output_schema", sentOr(t, "output_schema", "null"),
			"parameters", echoParameters(t), "strict", sentOr(t, "strict", "true")))
	}
	return list
}

// echoParameters are the schema of a function: closed, with every member required,
// unless strictness was declined or already asked for.
func echoParameters(tool *tree.Node) any {
	schema := tool.Get("parameters")
	switch {
	case tool.Has("strict"):
		return schema
	case !schema.Is(tree.Object):
		return script.Raw(`{"type":"object","properties":{},"additionalProperties":false,"required":[]}`)
	}
	required, properties := script.Array{}, schema.Get("properties")
	if properties.Is(tree.Object) {
		for _, name := range properties.Names() {
			required = append(required, name)
		}
	}
	o := script.Object{}
	for i, name := range schema.Names() {
		if name != "required" && name != "additionalProperties" {
			o = append(o, name, schema.Items()[i])
		}
	}
	if properties == nil {
		o = append(o, "properties", script.Object{})
	}
	return append(o, "required", required, "additionalProperties", false)
}

// sentOr is a member as it was sent, or otherwise when it is absent or null.
func sentOr(v *tree.Node, name string, otherwise script.Raw) any {
	if member := v.Given(name); member != nil {
		return member
	}
	return otherwise
}

var dated = regexp.MustCompile(`^(.+)-\d{4}-\d\d-\d\d$`)

// snapshots are what the names without a date stand for; a reply names the
// snapshot (reference §6.2).
var snapshots = func() map[string]string {
	of := map[string]string{"gpt-4o": "gpt-4o-2024-08-06", "gpt-5.6": "gpt-5.6-sol"}
	for _, m := range models {
		if name := dated.FindStringSubmatch(m.id); name != nil && of[name[1]] == "" {
			of[name[1]] = m.id
		}
	}
	return of
}()

// spokenBy is the model that answers under a name.
func spokenBy(name string) string {
	if id, ok := snapshots[name]; ok {
		return id
	}
	return name
}
