package tree

import (
	"slices"
	"strconv"
	"strings"
)

// Where a JSON Schema holds other schemas, by keyword.
var (
	schemaMaps  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	schemaLists = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	schemaOnes  = []string{"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"}
)

// EachSchema visits a JSON Schema and the schemas in it, the outer ones first, with
// the keywords and names that lead there. It ends when visit returns false, and
// reports whether it did not. The path is valid during the visit only.
func EachSchema(schema *Node, visit func(path []string, schema *Node) bool) bool {
	return eachSchema(nil, schema, visit)
}

func eachSchema(path []string, schema *Node, visit func([]string, *Node) bool) bool {
	if !visit(path, schema) {
		return false
	}
	step := func(inner *Node, names ...string) bool {
		return eachSchema(append(path[:len(path):len(path)], names...), inner, visit)
	}
	for i, keyword := range schema.Names() {
		value := schema.Items()[i]
		switch {
		case value.Is(Object) && slices.Contains(schemaMaps, keyword):
			for j, name := range value.Names() {
				if !step(value.Items()[j], keyword, name) {
					return false
				}
			}
		case value.Is(Array) && (slices.Contains(schemaLists, keyword) || keyword == "items"):
			for j := range value.Items() {
				if !step(value.Items()[j], keyword, strconv.Itoa(j)) {
					return false
				}
			}
		case value.Is(Object) && slices.Contains(schemaOnes, keyword):
			if !step(value, keyword) {
				return false
			}
		}
	}
	return true
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// IsSchemaType reports whether JSON Schema has a type of this name.
func IsSchemaType(name string) bool { return slices.Contains(schemaTypes, name) }

// keywordKinds are what keywords of draft 2020-12 may hold.
var keywordKinds = map[string]Kind{
	"properties": Object, "patternProperties": Object, "dependentSchemas": Object, "$defs": Object, "definitions": Object,
	"anyOf": Array, "oneOf": Array, "allOf": Array, "prefixItems": Array, "enum": Array, "required": Array, "examples": Array,
	"items": Object | Bool, "additionalProperties": Object | Bool, "not": Object | Bool, "contains": Object | Bool,
	"minimum": Number, "maximum": Number, "exclusiveMinimum": Number, "exclusiveMaximum": Number, "multipleOf": Number,
	"minLength": Number, "maxLength": Number, "minItems": Number, "maxItems": Number, "minProperties": Number, "maxProperties": Number,
	"uniqueItems": Bool, "deprecated": Bool, "readOnly": Bool, "writeOnly": Bool,
	"pattern": String, "format": String, "title": String, "description": String, "$ref": String, "$schema": String, "$id": String, "$comment": String,
}

// IsSchema reports whether a value is a JSON Schema of draft 2020-12, as far as the
// keywords that tools use go.
func IsSchema(schema *Node) bool {
	return EachSchema(schema, func(_ []string, s *Node) bool { return hasSchemaForm(s) })
}

func hasSchemaForm(s *Node) bool {
	if !s.Is(Object) {
		return s.Is(Bool)
	}
	for i, keyword := range s.Names() {
		value := s.Items()[i]
		if kinds := keywordKinds[keyword]; kinds != 0 && !value.Is(kinds) {
			return false
		}
		switch keyword {
		case "type":
			if !isTypeOrTypes(value) {
				return false
			}
		case "anyOf", "oneOf", "allOf":
			if len(value.Items()) == 0 {
				return false
			}
		case "required":
			if slices.ContainsFunc(value.Items(), func(n *Node) bool { return !n.Is(String) }) {
				return false
			}
		}
	}
	return true
}

func isTypeOrTypes(value *Node) bool {
	if value.Is(String) {
		return IsSchemaType(value.Text())
	}
	return value.Is(Array) && len(value.Items()) > 0 &&
		!slices.ContainsFunc(value.Items(), func(n *Node) bool { return !n.Is(String) || !IsSchemaType(n.Text()) })
}

// ResolvePointer returns what a reference within a document stands for, "#/$defs/a"; nil
// when there is nothing.
func ResolvePointer(root *Node, ref string) *Node {
	if ref == "#" {
		return root
	}
	at := root
	for step := range pointerSteps(ref) {
		if at.Is(Array) {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at.Items()) {
				return nil
			}
			at = at.Items()[i]
			continue
		}
		if at = at.Get(step); at == nil {
			return nil
		}
	}
	return at
}

// pointerSteps are the steps of a JSON pointer behind "#/".
func pointerSteps(ref string) func(func(string) bool) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	return func(yield func(string) bool) {
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			if !yield(unescape.Replace(step)) {
				return
			}
		}
	}
}
