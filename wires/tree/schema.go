package tree

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Where a JSON Schema holds other schemas, by keyword.
var (
	schemaMaps  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	schemaLists = []string{"anyOf", "any_of", "oneOf", "allOf", "prefixItems"}
	schemaOnes  = strings.Fields("items additionalProperties not contains propertyNames if then " +
		"else unevaluatedProperties unevaluatedItems")
)

// SchemaPlace says where a schema stands in another one: the keywords and names that lead there, and
// the same as the end of a path, ".properties.a.anyOf[0]".
type SchemaPlace struct {
	Names []string
	Path  string
}

// under is the place behind more names, which are written as steps.
func (at SchemaPlace) under(steps string, names ...string) SchemaPlace {
	return SchemaPlace{append(at.Names[:len(at.Names):len(at.Names)], names...), at.Path + steps}
}

// Schemas yields a JSON Schema and the schemas in it, the outer ones first.
func Schemas(schema *Node) iter.Seq2[SchemaPlace, *Node] {
	return func(yield func(SchemaPlace, *Node) bool) {
		if schema != nil {
			eachSchema(SchemaPlace{}, schema, yield)
		}
	}
}

func eachSchema(at SchemaPlace, schema *Node, yield func(SchemaPlace, *Node) bool) bool {
	if !yield(at, schema) {
		return false
	}
	for i, keyword := range schema.Names() {
		value := schema.Items()[i]
		isMap := value.Is(Object) && slices.Contains(schemaMaps, keyword)
		isList := value.Is(Array) && (slices.Contains(schemaLists, keyword) || keyword == "items")
		if !isMap && !isList {
			if value.Is(Object) && slices.Contains(schemaOnes, keyword) &&
				!eachSchema(at.under("."+keyword, keyword), value, yield) {
				return false
			}
			continue
		}
		for j, inner := range value.Items() {
			name, step := strconv.Itoa(j), "["+strconv.Itoa(j)+"]"
			if isMap {
				name = value.Names()[j]
				step = "." + name
			}
			if !eachSchema(at.under("."+keyword+step, keyword, name), inner, yield) {
				return false
			}
		}
	}
	return true
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// keywordKinds are what keywords of draft 2020-12 may hold.
var keywordKinds = kindsOf(map[Kind]string{
	String | Array: "type",
	Object:         "properties patternProperties dependentSchemas $defs definitions",
	Array:          "anyOf oneOf allOf prefixItems enum required examples",
	Object | Bool:  "items additionalProperties not contains",
	Number: "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems " +
		"minProperties maxProperties",
	Bool:   "uniqueItems deprecated readOnly writeOnly",
	String: "pattern format title description $ref $schema $id $comment",
})

func kindsOf(keywords map[Kind]string) map[string]Kind {
	kinds := map[string]Kind{}
	for kind, list := range keywords {
		for keyword := range strings.FieldsSeq(list) {
			kinds[keyword] = kind
		}
	}
	return kinds
}

// SchemaFault is a place at which a value is not a JSON Schema of draft 2020-12.
type SchemaFault struct {
	// Node is the value at fault, nil where nothing is wrong. Path leads to it from the schema.
	Node *Node
	Path string
	// Text says behind the path what is wrong.
	Text string
}

// FindSchemaFault returns the first fault of a JSON Schema. Only the keywords that tools use are checked.
// With isBasic it reports only basic faults: a value that is not a schema, and wrong values of type, items,
// enum, properties and required, which may be null with isLenient. Without isBasic it reports only the others.
func FindSchemaFault(schema *Node, isBasic, isLenient bool) SchemaFault {
	for at, s := range Schemas(schema) {
		if isBasic && !s.Is(Object|Bool) {
			return SchemaFault{s, at.Path, "is not a schema"}
		}
		for i, keyword := range s.Names() {
			value := s.Items()[i]
			element, text := keywordFault(keyword, value)
			if text != "" && isBasic == (otherKind[keyword] != "") && !(isBasic && isLenient && value.Is(Null)) {
				return SchemaFault{value, at.Path + "." + keyword + element, text}
			}
		}
	}
	return SchemaFault{}
}

// otherKind says of keywords that their value is of another kind.
var otherKind = map[string]string{
	"type": "is neither a type nor a list of types", "items": "is not a schema", "enum": "is not a list",
	"properties": "is not an object", "required": "is not a list of names",
}

// keywordFault says what is wrong with the value of a keyword, behind the keyword, and at which of its
// elements; the text is empty if nothing is.
func keywordFault(keyword string, value *Node) (element, text string) {
	kinds := keywordKinds[keyword]
	switch {
	case keyword == "items" && value.Is(Array):
		return "", "is a list; it must be one schema"
	case kinds != 0 && !value.Is(kinds):
		return "", cmp.Or(otherKind[keyword], "has a value of a kind that draft 2020-12 does not know for it")
	case keyword == "type":
		types := value.List()
		if value.Is(String) {
			types = []*Node{value}
		}
		for _, t := range types {
			if !slices.Contains(schemaTypes, t.Text()) {
				return "", fmt.Sprintf("is %.40q, which is not a JSON type", t.Text())
			}
		}
	case keyword == "required":
		for i, name := range value.Items() {
			if !name.Is(String) {
				return "[" + strconv.Itoa(i) + "]", "is not a name"
			}
		}
	}
	if (keyword == "type" || slices.Contains(schemaLists, keyword)) && value.Is(Array) && len(value.Items()) == 0 {
		return "", "is empty"
	}
	return "", ""
}

// ResolvePointer returns what a reference within a document stands for, "#/$defs/a"; nil
// when there is nothing. Anchors are not looked for, and stand for the document.
func ResolvePointer(root *Node, ref string) *Node {
	if !strings.HasPrefix(ref, "#/") {
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
