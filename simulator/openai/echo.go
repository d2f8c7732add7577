package openai

import (
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
)

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

// echo is a member as it was sent, or otherwise.
func (q *request) echo(name string, otherwise script.Raw) any { return q.body.rawOr(name, otherwise) }

// fraction is echo for a number that is written with its fraction.
func (q *request) fraction(name string, otherwise script.Raw) any {
	if v := q.body.get(name); v.kind == integer {
		return script.Raw(string(v.raw) + ".0")
	}
	return q.echo(name, otherwise)
}

func (q *request) topP() any {
	if q.model.created >= sinceGPT52 {
		return q.fraction("top_p", "0.98")
	}
	return q.fraction("top_p", "1.0")
}

func (q *request) cacheRetention() any {
	if q.model.created >= sinceGPT51 {
		return q.echo("prompt_cache_retention", `"24h"`)
	}
	return q.echo("prompt_cache_retention", `"in_memory"`)
}

// reasoning has nulls for a model that does not reason, and no mode.
func (q *request) reasoning() script.Object {
	asked := q.body.get("reasoning")
	or := func(name string, otherwise any) any {
		if v := asked.get(name); v.kind == text {
			return v.text
		}
		return otherwise
	}
	if !q.model.reasons() {
		return script.Object{"context", nil, "effort", nil, "summary", nil}
	}
	context := "current_turn"
	if q.model.has(canMode) {
		context = "all_turns"
	}
	summary := or("summary", nil)
	if summary == "auto" {
		summary = "detailed"
	}
	return script.Object{"context", or("context", context), "effort", or("effort", q.model.effort), "mode", or("mode", "standard"), "summary", summary}
}

func (q *request) text() script.Object {
	asked := q.body.get("text")
	var format any = script.Object{"type", "text"}
	switch f := asked.get("format"); {
	case f.str("type") == "json_schema":
		format = script.Object{"type", "json_schema", "description", f.rawOr("description", "null"), "name", f.rawOr("name", "null"),
			"schema", f.rawOr("schema", "{}"), "strict", f.rawOr("strict", "true")}
	case f.kind == object:
		format = f
	}
	return script.Object{"format", format, "verbosity", asked.rawOr("verbosity", `"medium"`)}
}

func (q *request) tools() script.Array {
	list := script.Array{}
	for i := range q.body.items("tools") {
		t := &q.body.items("tools")[i]
		if t.str("type") != "function" {
			list = append(list, t)
			continue
		}
		o := script.Object{"type", "function"}
		if t.has("defer_loading") {
			o = append(o, "defer_loading", t.get("defer_loading"))
		}
		list = append(list, append(o, "description", t.rawOr("description", "null"), "name", t.rawOr("name", "null"), "output_schema", t.rawOr("output_schema", "null"),
			"parameters", parameters(t), "strict", t.rawOr("strict", "true")))
	}
	return list
}

// parameters are the schema of a function: closed, with every member required,
// unless strictness was declined or already asked for.
func parameters(tool *value) any {
	schema := tool.get("parameters")
	switch {
	case tool.has("strict"):
		return schema
	case schema.kind != object:
		return script.Raw(`{"type":"object","properties":{},"additionalProperties":false,"required":[]}`)
	}
	required, properties := script.Array{}, schema.get("properties")
	if properties.kind == object {
		for _, name := range properties.names {
			required = append(required, name)
		}
	}
	o := script.Object{}
	for i, name := range schema.names {
		if name != "required" && name != "additionalProperties" {
			o = append(o, name, &schema.elems[i])
		}
	}
	if properties.kind == 0 {
		o = append(o, "properties", script.Object{})
	}
	return append(o, "required", required, "additionalProperties", false)
}

// JSON is v as it was sent, null when it is absent.
func (v *value) JSON() []byte {
	if v.kind == 0 {
		return []byte("null")
	}
	return v.raw
}

// rawOr is a member as it was sent, or otherwise when it is absent or null.
func (v *value) rawOr(name string, otherwise script.Raw) any {
	if m := v.get(name); m.kind&^null != 0 {
		return m
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
