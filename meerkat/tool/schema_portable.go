package tool

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// The keywords of JSON Schema that hold schemas, by form. sameValue are those
// that apply to the same value as the schema they stand in.
var (
	schemaMaps = []string{
		"properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas",
	}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaOnes  = []string{
		"items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties",
	}
	sameValue = map[string]bool{
		"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true,
		"dependencies": true, "dependentSchemas": true,
	}
)

// Bounds of a schema that is worth checking.
const (
	maxSchemaDepth = 64
	maxWork        = 20_000 // schemas that one value may be held against
)

var (
	errDeep   = errors.New("nests too deep")
	errCircle = errors.New("holds references that run in circles")
)

// makePortable removes from a decoded schema what the checker cannot check or must
// not follow, and reports whether the rest can be checked.
func makePortable(root map[string]any) (checkable bool, err error) {
	p := portableSchema{root: root, schemas: map[string]map[string]any{}}
	if err := p.visitSchema(root, "#", 0); err != nil {
		return false, err
	}
	bounded, err := p.isBounded()
	return bounded && !p.ownBase, err
}

type portableSchema struct {
	root    map[string]any
	schemas map[string]map[string]any // every schema by its path
	ownBase bool                      // references below a nested $id mean other places than they say
}

func (p *portableSchema) visitSchema(s map[string]any, path string, depth int) error {
	if depth > maxSchemaDepth {
		return errDeep
	}
	p.schemas[path] = s
	p.removeUnsupported(s, depth)
	return eachChild(
		s, path, func(_, path string, child map[string]any) error { return p.visitSchema(child, path, depth+1) },
	)
}

// removeUnsupported removes references to other documents, ids that change the target
// of references, and patterns that Go does not support.
func (p *portableSchema) removeUnsupported(s map[string]any, depth int) {
	for _, key := range []string{"$id", "id"} {
		if _, named := s[key].(string); named {
			p.ownBase = p.ownBase || depth > 0
			delete(s, key)
		}
	}
	delete(s, "$schema")
	if ref, ok := s["$ref"].(string); ok && p.resolveReference(ref) == nil {
		delete(s, "$ref")
	}
	if pattern, ok := s["pattern"].(string); ok && !isPattern(pattern) {
		delete(s, "pattern")
	}
	if patterns, ok := s["patternProperties"].(map[string]any); ok {
		for pattern := range patterns {
			if !isPattern(pattern) { // which members it means is unknown, so all others may be more
				delete(patterns, pattern)
				delete(s, "additionalProperties")
			}
		}
	}
}

func isPattern(pattern string) bool { _, err := regexp.Compile(pattern); return err == nil }

// resolveReference returns the schema that a reference within the root names; nil if none.
func (p *portableSchema) resolveReference(ref string) map[string]any {
	path, local := strings.CutPrefix(ref, "#")
	if !local || strings.Contains(path, "%") {
		return nil
	}
	if path == "" {
		return p.root
	}
	path, local = strings.CutPrefix(path, "/")
	if !local {
		return nil
	}
	var here any = p.root
	for step := range strings.SplitSeq(path, "/") {
		here = memberAt(here, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	s, _ := here.(map[string]any)
	return s
}

func memberAt(value any, step string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// isBounded reports whether checking one value takes a limited number of steps. A
// reference back to the same schema for the same value is an error; one for a part
// of the value, as in a tree, is not.
func (p *portableSchema) isBounded() (bounded bool, err error) {
	known := map[string]int{}
	bounded = true
	for path, s := range p.schemas {
		n, err := p.countWork(s, path, known)
		if err != nil {
			return false, err
		}
		bounded = bounded && n <= maxWork
	}
	return bounded, nil
}

// countWork counts the schemas that one value is checked against below s.
func (p *portableSchema) countWork(s map[string]any, path string, known map[string]int) (int, error) {
	const open = -1
	if n, ok := known[path]; ok {
		if n == open {
			return 0, errCircle
		}
		return n, nil
	}
	known[path] = open
	total := 1
	add := func(child map[string]any, path string) error {
		n, err := p.countWork(child, path, known)
		total = min(total+n, maxWork+1)
		return err
	}
	if ref, ok := s["$ref"].(string); ok {
		if err := add(p.resolveReference(ref), ref); err != nil {
			return 0, err
		}
	}
	err := eachChild(s, path, func(keyword, path string, child map[string]any) error {
		if !sameValue[keyword] {
			return nil
		}
		return add(child, path)
	})
	known[path] = total
	return total, err
}

// eachChild visits the schemas that stand directly in s, until one is an error.
func eachChild(s map[string]any, path string, visit func(keyword, path string, child map[string]any) error) error {
	var err error
	one := func(keyword, path string, value any) {
		if child, ok := value.(map[string]any); ok && err == nil {
			err = visit(keyword, path, child)
		}
	}
	for _, keyword := range schemaMaps {
		members, _ := s[keyword].(map[string]any)
		for name, value := range members {
			one(keyword, path+"/"+keyword+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), value)
		}
	}
	for _, keyword := range schemaLists {
		list, _ := s[keyword].([]any)
		for i, value := range list {
			one(keyword, path+"/"+keyword+"/"+strconv.Itoa(i), value)
		}
	}
	for _, keyword := range schemaOnes {
		one(keyword, path+"/"+keyword, s[keyword])
	}
	return err
}
