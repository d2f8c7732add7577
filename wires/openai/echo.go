package openai

import (
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
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
	if q.model.created >= sinceGPT52 {
		return q.echoFraction("top_p", "0.98")
	}
	return q.echoFraction("top_p", "1.0")
}

func (q *request) cacheRetention() any {
	if q.model.created >= sinceGPT51 {
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
	return script.Object{"context", or("context", context), "effort", or("effort", q.model.effort), "mode", or("mode", "standard"), "summary", summary}
}

func (q *request) echoText() script.Object {
	asked := q.body.Get("text")
	var format any = script.Object{"type", "text"}
	switch f := asked.Get("format"); {
	case f.Text("type") == "json_schema":
		format = script.Object{"type", "json_schema", "description", sentOr(f, "description", "null"), "name", sentOr(f, "name", "null"),
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
		list = append(list, append(o, "description", sentOr(t, "description", "null"), "name", sentOr(t, "name", "null"), "output_schema", sentOr(t, "output_schema", "null"),
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
