package simulator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// itemJudge follows one output item (reference §3.2).
type itemJudge struct {
	added event
	parts string // what its parts did, by the last open one
	text  map[string]string
	ended map[string]bool
	done  event
}

// responseJudge follows a stream of OpenAI.
type responseJudge struct {
	*judge
	items []*itemJudge
	id    string
	phase string // the last lifecycle event
}

var lifecycles = []string{"created", "queued", "in_progress", "completed", "incomplete", "failed"}

func openaiStream(j *judge, all []event) {
	r := &responseJudge{judge: j}
	for i, e := range all {
		r.must(e.num("sequence_number") == i, "sequence", "event %d has sequence number %d", i,
			e.num("sequence_number"))
		r.must(!slices.Contains(lifecycles[3:], r.phase), "terminal", "%s follows the end", e.name)
		if kind := strings.TrimPrefix(e.name, "response."); slices.Contains(lifecycles, kind) {
			r.lifecycle(i, kind, e)
		} else {
			r.event(kind, e)
		}
	}
	r.must(slices.Contains(lifecycles[3:], r.phase), "terminal", "the last lifecycle event is %s", r.phase)
}

func (r *responseJudge) lifecycle(i int, kind string, e event) {
	response := e.under("response")
	r.must((i == 0) == (kind == "created"), "start", "event %d is %s", i, e.name)
	if r.id == "" {
		r.id = response.str("id")
	}
	r.must(response.str("id") == r.id && strings.HasPrefix(r.id, "resp_"), "id", "the response is %s, then %s", r.id,
		response.str("id"))
	r.must(slices.Index(lifecycles, kind) > slices.Index(lifecycles, r.phase), "start", "%s follows %s", kind, r.phase)
	r.phase = kind
	switch kind {
	case "created", "queued", "in_progress":
		r.must(len(r.items) == 0 && len(response.list("output")) == 0 && !response.has("usage"), "start",
			"%s comes late or holds a reply", kind)
	case "failed":
		r.must(r.fails && response.str("error", "code") != "" && response.str("status") == "failed", "terminal",
			"an unexpected failure, or one without code: %s", e.raw)
	default:
		r.must(!r.fails && response.str("status") == kind, "terminal", "%s has status %s", kind, response.str("status"))
		r.completed(response)
	}
}

// completed holds the last event against what was streamed: it repeats all
// items, with other encrypted content.
func (r *responseJudge) completed(response event) {
	output := response.list("output")
	r.must(len(output) == len(r.items), "completed", "%d items were streamed, %d are repeated", len(r.items),
		len(output))
	for i := range min(len(output), len(r.items)) {
		done, last := r.items[i].done, output[i]
		one, other := done.str("encrypted_content"), last.str("encrypted_content")
		r.must(one == "" && other == "" || one != other && other != "", "sealed",
			"item %d is as sealed in completed as in done", i)
		r.must(reflect.DeepEqual(without(done, "encrypted_content"), without(last, "encrypted_content")), "completed",
			"item %d is %v, then %v", i, done.data, last.data)
	}
	r.openaiDocumentOf(response)
}

func without(e event, name string) map[string]any {
	m := map[string]any{}
	for k, v := range e.data {
		if k != name {
			m[k] = v
		}
	}
	return m
}

func (r *responseJudge) event(kind string, e event) {
	switch {
	case kind == "error":
		fault := e.under("error")
		r.must(r.fails && fault.str("code") != "" && fault.str("message") != "", "error",
			"an error nobody asked for: %s", e.raw)
	case kind == "output_item.added":
		r.must(e.num("output_index") == len(r.items) && (len(r.items) == 0 || r.items[len(r.items)-1].done.data != nil),
			"index", "item %d is added after %d, the last of which is open", e.num("output_index"), len(r.items))
		r.must(r.phase == "in_progress", "start", "an item after %s", r.phase)
		r.items = append(r.items, &itemJudge{added: e.under("item"), text: map[string]string{},
			ended: map[string]bool{}})
		r.opened(e.under("item"))
	case e.num("output_index") < 0:
		r.must(r.events, "type", "unknown event %s", e.name)
	case e.num("output_index") != len(r.items)-1 || r.items[len(r.items)-1].done.data != nil:
		r.must(false, "index", "%s for item %d of %d, or after it is done", e.name, e.num("output_index"), len(r.items))
	default:
		r.within(r.items[len(r.items)-1], kind, e)
	}
}

func (r *responseJudge) opened(item event) {
	prefix := map[string]string{"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "web_search_call": "ws_",
		"code_interpreter_call": "ci_"}[item.str("type")]
	r.must(prefix != "" && strings.HasPrefix(item.str("id"), prefix) || r.blocks, "id", "%s has id %s",
		item.str("type"), item.str("id"))
	switch item.str("type") {
	case "message":
		r.must(item.str("status") == "in_progress" && len(item.list("content")) == 0, "item",
			"a message is added with content: %v", item.data)
	case "function_call":
		r.must(item.str("arguments") == "" && item.str("call_id") != "" && item.str("name") != "", "item",
			"a call is added with arguments or without call_id or name: %v", item.data)
	case "reasoning":
		r.must(len(item.list("summary")) == 0, "item", "reasoning is added with a summary")
	}
}

// bodies says which events an item may have.
var bodies = map[string][]string{
	"message":               {"content_part.", "output_text.", "refusal."},
	"reasoning":             {"reasoning_summary_part.", "reasoning_summary_text.", "reasoning_text."},
	"function_call":         {"function_call_arguments."},
	"web_search_call":       {"web_search_call."},
	"code_interpreter_call": {"code_interpreter_call.", "code_interpreter_call_code."},
}

func (r *responseJudge) within(it *itemJudge, kind string, e event) {
	if kind == "output_item.done" {
		r.finished(it, e.under("item"))
		return
	}
	r.must(e.str("item_id") == it.added.str("id"), "id", "%s is of item %s, not %s", e.name, e.str("item_id"),
		it.added.str("id"))
	r.must(slices.ContainsFunc(bodies[it.added.str("type")], func(p string) bool { return strings.HasPrefix(kind, p) }),
		"item", "%s in a %s", e.name, it.added.str("type"))
	place := fmt.Sprint(e.count("content_index"), e.count("summary_index"))
	dot := max(0, strings.LastIndex(kind, "."))
	what, verb := kind[:dot], strings.TrimPrefix(kind[dot:], ".")
	switch {
	case strings.HasSuffix(what, "_part"):
		r.part(it, verb, place, e)
	case verb == "delta":
		r.must(it.parts != "done" && !it.ended[what+place], "item", "%s after its part is done", e.name)
		r.must(e.str("delta") != "", "item", "an empty delta: %s", e.raw)
		it.text[what+place] += e.str("delta")
		r.must(!e.has("obfuscation") && what == "refusal" || len(e.str("delta")+e.str("obfuscation"))%16 == 0,
			"obfuscation", "%s: obfuscation does not pad to 16", e.raw)
	case verb == "done":
		whole := e.str("text") + e.str("arguments") + e.str("refusal") + e.str("code")
		r.must(it.text[what+place] == whole, "concat", "deltas of %s join to %q, done says %q", what,
			it.text[what+place], whole)
		it.ended[what+place] = true
		it.text["part"+place] = whole
	}
}

func (r *responseJudge) part(it *itemJudge, verb, place string, e event) {
	r.must((verb == "added") == (it.parts == "" || it.parts == "done"), "item", "%s while a part is %s",
		e.name, it.parts)
	it.parts = verb
	text := e.str("part", "text") + e.str("part", "refusal")
	if verb == "added" {
		r.must(text == "", "item", "a part is added with text: %s", e.raw)
		return
	}
	r.must(text == it.text["part"+place], "concat", "the part is %q, its text %q", text, it.text["part"+place])
}

// finished judges output_item.done.
func (r *responseJudge) finished(it *itemJudge, item event) {
	it.done = item
	r.must(item.str("id") == it.added.str("id") && item.str("type") == it.added.str("type"), "id",
		"item %s is done as %s", it.added.str("id"), item.str("id"))
	r.must(it.parts != "added", "item", "the item is done while its part is open")
	one, other := it.added.str("encrypted_content"), item.str("encrypted_content")
	r.must(one == "" && other == "" || one != other && one != "" && other != "", "sealed",
		"item %s is as sealed when done as when added", item.str("id"))
	var parts []event
	switch item.str("type") {
	case "message":
		parts = item.list("content")
		r.must(len(parts) > 0 && item.str("status") != "in_progress", "item",
			"a message is done without content, or in progress")
	case "reasoning":
		parts = item.list("summary")
	case "function_call":
		r.must(it.text["function_call_arguments0 0"] == item.str("arguments") && it.ended["function_call_arguments0 0"],
			"concat", "the call has arguments %q, its events %q", item.str("arguments"),
			it.text["function_call_arguments0 0"])
		r.must(isObject(item.str("arguments")) || item.str("status") == "incomplete", "concat",
			"arguments %q of a finished call", item.str("arguments"))
	}
	for i, p := range parts {
		place := fmt.Sprint(i, 0)
		if item.str("type") == "reasoning" {
			place = fmt.Sprint(0, i)
		}
		r.must(it.text["part"+place] == p.str("text")+p.str("refusal"), "concat",
			"part %d is %q in its item, %q in its events", i, p.str("text"), it.text["part"+place])
	}
}

func openaiDocument(j *judge, d event) {
	r := responseJudge{judge: j}
	for _, item := range d.list("output") {
		switch item.str("type") {
		case "message":
			j.must(len(item.list("content")) > 0 && item.str("role") == "assistant", "item",
				"a message without content")
		case "function_call":
			j.must(item.str("call_id") != "" && (isObject(item.str("arguments")) || item.str("status") == "incomplete"),
				"item", "a call without id or arguments")
		default:
			j.must(len(bodies[item.str("type")]) > 0 || j.blocks, "type", "unknown item %s", item.str("type"))
		}
	}
	r.openaiDocumentOf(d)
}

// openaiDocumentOf judges what stands beside the output.
func (r *responseJudge) openaiDocumentOf(d event) {
	status := d.str("status")
	r.must(slices.Contains([]string{"completed", "incomplete"}, status), "terminal", "status %s", status)
	r.must((status == "incomplete") == (d.str("incomplete_details", "reason") != ""), "terminal",
		"status %s with incomplete_details %v", status, d.at("incomplete_details"))
	u := d.under("usage")
	r.must(u.num("input_tokens")+u.num("output_tokens") == u.num("total_tokens"), "usage",
		"usage does not add up: %v", u.data)
	r.must(u.num("output_tokens_details", "reasoning_tokens") >= 0 && u.num("output_tokens_details",
		"reasoning_tokens") <= u.num("output_tokens"), "usage", "more reasoning than output: %v", u.data)
	r.must(u.num("input_tokens_details", "cached_tokens") >= 0 && u.num("input_tokens_details",
		"cached_tokens") <= u.num("input_tokens"), "usage", "more cached than input: %v", u.data)
}

// saidInResponse reads the output of a response, saidByResponse that of the last
// event of a stream.
func saidInResponse(d event) speech {
	var s speech
	for _, item := range d.list("output") {
		var texts []string
		for _, p := range slices.Concat(item.list("summary"), item.list("content")) {
			texts = append(texts, p.str("text")+p.str("refusal"))
		}
		action, _ := json.Marshal(item.at("action")) // it was decoded
		s.add(item.str("type"), append(texts, item.str("name"), canonical(item.str("arguments")), item.str("code"),
			string(action))...)
	}
	s.add("status", d.str("status"))
	return s
}

func saidByResponse(all []event) speech { return saidInResponse(all[len(all)-1].under("response")) }
