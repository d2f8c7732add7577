package schemas

import (
	"maps"
	"regexp"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

// typed is a schema split by the values of "type" its root distinguishes, each
// compiled when it is first met. Trying every branch of a root with fifty
// branches costs twice as much.
type typed struct {
	rest   map[string]any            // the root without its branches
	branch map[string]map[string]any // type → what holds for it
	mu     sync.Mutex
	ready  map[string]*gojsonschema.Schema // type, or "" for the rest
}

// typeBranch recognises {"if": {"properties": {"type": {"const": kind}}}, "then": …}.
func typeBranch(b any) (kind string, then map[string]any) {
	node, _ := b.(map[string]any)
	cond, _ := node["if"].(map[string]any)
	props, _ := cond["properties"].(map[string]any)
	tag, _ := props["type"].(map[string]any)
	kind, _ = tag["const"].(string)
	then, _ = node["then"].(map[string]any)
	if len(props) != 1 || then == nil {
		return "", nil
	}
	return kind, then
}

// forType returns the schema of messages of a type; a type without a branch of
// its own gets what holds for all.
func (t *typed) forType(kind string) (*gojsonschema.Schema, error) {
	then, ok := t.branch[kind]
	if !ok {
		kind = ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.ready[kind]; ok {
		return s, nil
	}
	doc := maps.Clone(t.rest)
	if then != nil {
		others, _ := t.rest["allOf"].([]any)
		doc["allOf"] = append([]any{then}, others...)
	}
	s, err := gojsonschema.NewSchema(gojsonschema.NewGoLoader(doc))
	if err != nil {
		return nil, err
	}
	t.ready[kind] = s
	return s, nil
}

// collective are the kinds of error that only say that another one happened.
var collective = map[string]bool{"condition_then": true, "condition_else": true, "number_all_of": true}

func problems(errs []gojsonschema.ResultError) []Problem {
	var leaves, all []Problem
	for _, e := range errs {
		p := Problem{Path: pathOf(e.Field()), Message: e.Description()}
		all = append(all, p)
		if !collective[e.Type()] {
			leaves = append(leaves, p)
		}
	}
	if len(leaves) == 0 {
		return all
	}
	return leaves
}

var ordinal = regexp.MustCompile(`\.(\d+)`)

// pathOf turns messages.3.content into messages[3].content.
func pathOf(field string) string {
	if field == "(root)" {
		return ""
	}
	return ordinal.ReplaceAllString(field, "[$1]")
}
