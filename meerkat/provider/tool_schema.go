package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The limits of schemas, as catalog.Traits.ToolSchema names them. A provider without a name has
// no known limits.
const (
	anthropicSchemas = "anthropic"
	openaiSchemas    = "openai"
	geminiSchemas    = "gemini"
)

const maxSchemaDepth = 64

// schemaFitter rewrites one schema in place.
type schemaFitter struct {
	limits  string
	root    map[string]any
	changed bool
}

// fitToolSchema returns the input schema of a tool as the provider takes it, or an error that
// says why the tool cannot be offered: one bad schema makes every request of a session fail.
// What the provider writes differently is rewritten, and what it does not take is left out
// where that only makes the schema wider: the agent checks arguments against the original.
// A schema that needs no change keeps its bytes; an empty one stands for an object without
// members.
func fitToolSchema(schema []byte, limits string) ([]byte, error) {
	if len(schema) == 0 || limits == "" {
		return schema, nil
	}
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	var root any
	if !json.Valid(schema) || d.Decode(&root) != nil {
		return nil, errors.New("is not JSON")
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, errors.New("is not a JSON object")
	}
	f := &schemaFitter{limits: limits, root: object}
	if err := f.fitRoot(); err != nil {
		return nil, err
	}
	if err := f.fitSchema(object, "", 0); err != nil {
		return nil, err
	}
	if !f.changed {
		return schema, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (f *schemaFitter) setMember(s map[string]any, key string, value any) {
	s[key] = value
	f.changed = true
}
func (f *schemaFitter) removeMember(s map[string]any, key string) { delete(s, key); f.changed = true }

// fitRoot makes the root an object of named members: no provider takes a union there
// (A-7, O-20).
func (f *schemaFitter) fitRoot() error {
	if ref, ok := f.root["$ref"].(string); ok {
		target := f.resolveRef(ref)
		if target == nil || target["$ref"] != nil {
			return fmt.Errorf("refers to %q at its root, which leads nowhere", shortText(ref))
		}
		f.removeMember(f.root, "$ref")
		for key, value := range target {
			if f.root[key] == nil {
				f.setMember(f.root, key, value)
			}
		}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		if err := f.mergeBranches(word); err != nil {
			return err
		}
	}
	for _, word := range []string{"enum", "not", "if", "then", "else"} {
		if f.root[word] != nil {
			f.removeMember(f.root, word)
		}
	}
	switch t := f.root["type"].(type) {
	case string:
		if t != "object" {
			return fmt.Errorf("describes %q, and arguments are an object", shortText(t))
		}
	case nil:
		f.setMember(f.root, "type", "object")
	case []any:
		if !slices.Contains(t, any("object")) {
			return errors.New("does not describe an object, and arguments are one")
		}
		f.setMember(f.root, "type", "object")
	default:
		return errors.New("has a type that is not a name")
	}
	return nil
}

// mergeBranches replaces a union at the root by the members of all its branches. What
// every branch requires stays required.
func (f *schemaFitter) mergeBranches(word string) error {
	branches, ok := f.root[word].([]any)
	if !ok {
		return nil
	}
	properties, _ := f.root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	required := map[string]int{}
	for i, b := range branches {
		branch, ok := b.(map[string]any)
		if ref, isRef := branch["$ref"].(string); ok && isRef {
			branch = f.resolveRef(ref)
		}
		if branch == nil || branch["type"] != nil && branch["type"] != "object" {
			return fmt.Errorf("has a union at its root, whose %s[%d] is not an object", word, i)
		}
		members, _ := branch["properties"].(map[string]any)
		for name, value := range members {
			if properties[name] == nil {
				properties[name] = value
			}
		}
		names, _ := branch["required"].([]any)
		for _, n := range names {
			if name, ok := n.(string); ok {
				required[name]++
			}
		}
	}
	f.removeMember(f.root, word)
	f.removeMember(f.root, "additionalProperties")
	f.root["properties"] = properties
	f.requireNames(required, len(branches), word == "allOf")
	return nil
}

// requireNames adds the names that all branches require, or one of an allOf.
func (f *schemaFitter) requireNames(counts map[string]int, branches int, anyBranch bool) {
	all, _ := f.root["required"].([]any)
	var names []string
	for name, n := range counts {
		if (n >= branches || anyBranch) && !slices.Contains(all, any(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		all = append(all, name)
	}
	if len(all) > 0 {
		f.root["required"] = all
	}
}

var typeNames = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// propertyForm is the form of names of members that Anthropic takes.
var propertyForm = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// fitSchema fits a schema and all within it.
func (f *schemaFitter) fitSchema(s map[string]any, path string, depth int) error {
	if depth > maxSchemaDepth {
		return errors.New("nests too deep")
	}
	if err := f.checkType(s, path); err != nil {
		return err
	}
	if ref, ok := s["$ref"].(string); ok && f.resolveRef(ref) == nil {
		return fmt.Errorf("refers at %s to %q, which is not in it", placeOf(path), shortText(ref))
	}
	if err := f.fitArray(s, path); err != nil {
		return err
	}
	if f.limits == geminiSchemas {
		// Say a constant as a list of one, and leaves out what only narrows.
		if c, ok := s["const"]; ok {
			if text, isText := c.(string); isText && s["enum"] == nil {
				f.setMember(s, "enum", []any{text})
			}
			f.removeMember(s, "const")
		}
		for key := range s {
			if !slices.Contains(geminiWords, key) {
				f.removeMember(s, key)
			}
		}
	}
	return f.fitNested(s, path, depth)
}

func (f *schemaFitter) checkType(s map[string]any, path string) error {
	names := []any{s["type"]}
	switch t := s["type"].(type) {
	case nil:
		return nil
	case []any:
		names = t
	}
	for _, n := range names {
		if name, ok := n.(string); !ok || !slices.Contains(typeNames, name) {
			return fmt.Errorf(
				"has at %s the type %s, which is not a type of JSON", placeOf(path), shortText(fmt.Sprint(n)),
			)
		}
	}
	return nil
}

// fitArray gives arrays one schema of their items: a list of them is not a schema, and
// OpenAI and Gemini refuse arrays without one (O-19, G-12).
func (f *schemaFitter) fitArray(s map[string]any, path string) error {
	isArray := s["type"] == "array"
	if list, ok := s["type"].([]any); ok {
		isArray = slices.Contains(list, any("array"))
	}
	switch items := s["items"].(type) {
	case []any:
		if len(items) == 0 {
			f.setMember(s, "items", map[string]any{})
		} else {
			f.setMember(s, "items", map[string]any{"anyOf": items})
		}
	case nil:
		if isArray && (f.limits == openaiSchemas || f.limits == geminiSchemas) {
			f.setMember(s, "items", map[string]any{})
		}
	case map[string]any, bool:
	default:
		return fmt.Errorf("has at %s items that are not a schema", placeOf(path))
	}
	return nil
}

// geminiWords are the keywords that Gemini takes in a JSON Schema (G-12).
var geminiWords = []string{
	"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
	"minItems", "maxItems",
	"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering",
	"definitions", "default", "minLength", "maxLength", "pattern", "nullable", "minProperties", "maxProperties",
	"example", "examples",
}

// fitNested fits the schemas within s. Of its maps, some hold schemas by name.
func (f *schemaFitter) fitNested(s map[string]any, path string, depth int) error {
	for _, word := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		members, ok := s[word].(map[string]any)
		if s[word] != nil && !ok {
			return fmt.Errorf("has at %s a member %s that is not an object", placeOf(path), word)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if word == "properties" && f.limits == anthropicSchemas && !propertyForm.MatchString(name) {
				return fmt.Errorf(
					"names a member %q at %s; anthropic takes up to 64 letters, digits, _, . and -", shortText(name),
					placeOf(path),
				)
			}
			if err := f.fitChild(members[name], path+"."+word+"."+name, depth); err != nil {
				return err
			}
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, ok := s[word].([]any)
		if s[word] != nil && !ok {
			return fmt.Errorf("has at %s a member %s that is not a list", placeOf(path), word)
		}
		for i, e := range list {
			if err := f.fitChild(e, fmt.Sprintf("%s.%s[%d]", path, word, i), depth); err != nil {
				return err
			}
		}
	}
	for _, word := range []string{
		"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
	} {
		if err := f.fitChild(s[word], path+"."+word, depth); err != nil {
			return err
		}
	}
	if _, ok := s["enum"].([]any); s["enum"] != nil && !ok {
		return fmt.Errorf("has at %s an enum that is not a list", placeOf(path))
	}
	names, ok := s["required"].([]any)
	if s["required"] != nil && !ok {
		return fmt.Errorf("has at %s a member required that is not a list", placeOf(path))
	}
	for _, n := range names {
		if _, ok := n.(string); !ok {
			return fmt.Errorf("requires at %s something that is not a name", placeOf(path))
		}
	}
	return nil
}

func (f *schemaFitter) fitChild(value any, path string, depth int) error {
	switch v := value.(type) {
	case nil, bool:
		return nil
	case map[string]any:
		return f.fitSchema(v, path, depth+1)
	default:
		return fmt.Errorf("has at %s something that is not a schema", placeOf(path))
	}
}

// resolveRef returns the schema that a reference within the root means, nil for none.
func (f *schemaFitter) resolveRef(ref string) map[string]any {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	var here any = f.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		object, ok := here.(map[string]any)
		if !ok {
			return nil
		}
		here = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	s, _ := here.(map[string]any)
	return s
}

func placeOf(path string) string {
	if path == "" {
		return "its root"
	}
	return shortText(strings.TrimPrefix(path, "."))
}

// shortText bounds a text of others in an error.
func shortText(s string) string {
	if runes := []rune(s); len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return s
}
