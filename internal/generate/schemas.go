package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// dict is an object of a JSON Schema.
type dict = map[string]any

// writeSchemas writes the JSON Schema of the requests of each wire.
func writeSchemas(dir string) error {
	for name, text := range requestSchemas() {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil { //nolint:gosec // a public file
			return err
		}
	}
	return nil
}

// requestSchemas are the schemas, by their names.
func requestSchemas() map[string][]byte {
	files := map[string][]byte{}
	for _, w := range wires.All() {
		name := w.Name + ".request"
		schema := schemaOf(rule.Books()[w.Name].Members())
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		schema["$id"] = "https://github.com/meerkat-go/conformance/schemas/" + name + ".json"
		schema["title"] = "The body of a request to " + w.Title
		schema["description"] = "Generated from wires/" + w.Name +
			"/members.yaml: go run ./internal/generate schemas. " +
			"It says what single members hold. Other members are allowed, as providers add some."
		var text bytes.Buffer
		out := json.NewEncoder(&text)
		out.SetEscapeHTML(false)
		out.SetIndent("", " ")
		if err := out.Encode(schema); err != nil {
			panic(err) // of maps, lists, texts and numbers
		}
		files[name] = text.Bytes()
	}
	return files
}

// schemaOf describes requests as a JSON Schema. Definitions say nothing of the type, so that they hold for
// a member that may be null, or a list as well.
func schemaOf(d *members.Description) dict {
	definitions, queue := dict{}, []string{"request"}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if definitions[name] != nil {
			continue
		}
		definition, used := objectSchema(d, name)
		definitions[name], queue = definition, append(queue, used...)
	}
	schema := definitions["request"].(dict)
	delete(definitions, "request")
	schema["type"], schema["definitions"] = "object", definitions
	return schema
}

// objectSchema describes the objects of one name, and lists the objects that they hold.
func objectSchema(d *members.Description, name string) (schema dict, used []string) {
	schema = dict{}
	var branches []any
	for _, o := range d.Described[name] {
		if o.IsRefused() {
			continue
		}
		said, properties, required := dict{}, dict{}, []string{}
		for _, m := range o.Members {
			if m.Required {
				required = append(required, m.Name)
			}
			if says := memberSchema(d, m); len(says) > 0 {
				properties[m.Name] = says
			}
			if m.Object != "" {
				used = append(used, m.Object)
			}
		}
		if len(properties) > 0 {
			said["properties"] = properties
		}
		if len(required) > 0 {
			said["required"] = required
		}
		switch {
		case o.Types == nil:
			schema = said
		case len(said) > 0:
			branches = append(branches, dict{"if": typeCondition(d, name, o.Types), "then": said})
		}
	}
	if branches != nil {
		schema["allOf"] = branches
	}
	return schema, used
}

// typeCondition is what holds for objects of one of some types. A message of the Responses API may leave its
// type out, unless it is only an id; what it may hold depends on its role. A message of Chat Completions has a role
// instead of a type.
func typeCondition(d *members.Description, name string, types []string) dict {
	typ, role, hasRole := strings.Cut(types[0], "/")
	switch isMessage := name == "item" && typ == "message"; {
	case hasRole:
		return dict{"properties": dict{"type": dict{"const": typ}, "role": dict{"const": role}},
			"required": []string{"role"}}
	case isMessage:
		return dict{"properties": dict{"type": dict{"const": typ}, "role": dict{"not": dict{"const": "assistant"}}},
			"anyOf": []any{
				dict{"required": []string{"type"}}, dict{"required": []string{"role"}},
				dict{"required": []string{"content"}},
			}}
	}
	says := dict{"enum": types}
	switch {
	case strings.ContainsAny(types[0], "*["):
		says = dict{"pattern": "^" + strings.ReplaceAll(types[0], "*", ".*") + "$"}
	case len(types) == 1:
		says = dict{"const": types[0]}
	}
	member := "type"
	if named, _ := tree.Parse(`{"role":"user"}`); d.TypeOf != nil && d.TypeOf(name, named) == "user" {
		member = "role"
	}
	condition := dict{"properties": dict{member: says}}
	if !slices.Contains(types, "") {
		condition["required"] = []string{member}
	}
	return condition
}

// jsonTypes are the types of JSON that the letters of a description mean, in proto-JSON further ones.
var jsonTypes = map[rune][2][]string{
	's': {{"string"}, {"string"}}, 'n': {{"number"}, {"number", "string"}}, 'i': {{"integer"}, {"integer", "string"}},
	'b': {{"boolean"}, {"boolean", "string"}}, 'a': {{"array"}, {"array"}}, 'o': {{"object"}, {"object"}},
	't': {{"object"}, {"object"}},
	'y': {{"string"}, {"string"}}, 'e': {{"string", "number"}, {"string", "number"}},
}

// quotedForms are the texts that stand for numbers and truth values in proto-JSON.
var quotedForms = map[rune]string{'n': "^[-+.0-9eE]+$", 'i': "^[-+.0-9eE]+$", 'b': "^(true|false)$"}

// typeSchema says of which types the value of a member is, or an element.
func typeSchema(d *members.Description, m *members.Member, isNullable bool) dict {
	says, types, style := dict{}, []string{}, 0
	if d.Proto {
		style = 1
	}
	for _, letter := range m.Types {
		if pattern := quotedForms[letter]; d.Proto && pattern != "" {
			says["pattern"] = pattern
		}
		for _, t := range jsonTypes[letter][style] {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	if isNullable && len(types) > 0 {
		types = append(types, "null")
	}
	switch {
	case len(types) == 1:
		says["type"] = types[0]
	case len(types) > 1:
		says["type"] = types
	}
	return says
}

// memberSchema describes the value of a member, or an element.
func memberSchema(d *members.Description, m *members.Member) dict {
	isNullable := m.Name != "" && !m.Required && !m.NotNull
	says := typeSchema(d, m, isNullable)
	object := dict{"$ref": "#/definitions/" + m.Object}
	isList := strings.Contains(m.Types, "a")
	switch {
	case m.Element != nil && isList:
		says["items"] = memberSchema(d, m.Element)
	case m.Element != nil:
		says["additionalProperties"] = memberSchema(d, m.Element)
	case m.Object == "":
	case m.ByName:
		says["additionalProperties"] = object
	case isList:
		says["items"] = dict{"type": "object", "allOf": []any{object}}
		if strings.Contains(m.Types, "o") {
			says["allOf"] = []any{object}
		}
	default:
		says["allOf"] = []any{object}
	}
	addLimits(d, m, isNullable, says)
	return says
}

// addLimits adds which values a member takes, and how long or great they may be.
func addLimits(d *members.Description, m *members.Member, isNullable bool, says dict) {
	if m.Values != nil {
		values := []any{}
		for _, v := range m.Values {
			if values = append(values, v); d.Proto && strings.ToLower(v) != v {
				values = append(values, strings.ToLower(v))
			}
		}
		if isNullable {
			values = append(values, nil)
		}
		// A value of another type than a string is not one of those listed, and has an object of its own.
		switch {
		case strings.Trim(m.Types, "s") == "":
			says["enum"] = values
			delete(says, "type")
		default:
			says["if"], says["then"] = dict{"type": "string"}, dict{"enum": values}
		}
	}
	if m.Pattern != nil {
		says["pattern"] = m.Pattern.String()
	}
	limits := [2]string{"minLength", "maxLength"}
	switch {
	case strings.ContainsAny(m.Types, "ni"):
		limits = [2]string{"minimum", "maximum"}
	case strings.Contains(m.Types, "s"): // what bounds a text does not bound a list in its place
	case strings.Contains(m.Types, "a"):
		limits = [2]string{"minItems", "maxItems"}
	case strings.Contains(m.Types, "o"):
		limits = [2]string{"minProperties", "maxProperties"}
	}
	for i, bound := range []*float64{m.Min, m.Max} {
		if bound != nil {
			says[limits[i]] = *bound
		}
	}
}
