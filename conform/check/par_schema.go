package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// dialect is a provider's idea of JSON Schema.
type dialect int

const (
	jsonSchema      dialect = iota // Gemini's parametersJsonSchema
	anthropicSchema                // draft 2020-12
	openAISchema
	geminiSchema // Gemini's parameters: a subset of OpenAPI
)

const maxSchemaDepth = 64

var schemaTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// schemaFault is the first place where a schema is not one of its dialect.
type schemaFault struct {
	node       *tree.Node
	path, text string
}

// geminiRule is that of the front end, which reads types, or of what comes behind it.
func (f *schemaFault) geminiRule(d dialect) string {
	if d == geminiSchema && strings.HasSuffix(f.path, ".type") {
		return "G-3"
	}
	return "G-12"
}

// findSchemaFault looks through a schema and what is nested in it.
func findSchemaFault(n *tree.Node, d dialect, path string, depth int) *schemaFault {
	switch {
	case n.Is(tree.Bool) || depth > maxSchemaDepth:
		return nil
	case !n.Is(tree.Object):
		return &schemaFault{n, path, "is not a schema"}
	}
	if f := typeFault(n, d, path); f != nil {
		return f
	}
	if f := arrayFault(n, d, path); f != nil {
		return f
	}
	if f := objectFault(n, d, path); f != nil {
		return f
	}
	return nestedFault(n, d, path, depth)
}

func typeFault(n *tree.Node, d dialect, path string) *schemaFault {
	t := n.Get("type")
	names := t.List()
	switch {
	case t == nil, t.Null() && (d == geminiSchema || d == jsonSchema):
		return nil
	case t.Is(tree.Number) && d == geminiSchema:
		return nil // the number of the enum
	case t.Is(tree.String):
		names = []*tree.Node{t}
	case !t.Is(tree.Array):
		return &schemaFault{t, path + ".type", "is neither a type nor a list of types"}
	case d == geminiSchema:
		return &schemaFault{t, path + ".type", "is a list; the provider takes one type, and nullable"}
	}
	for _, name := range names {
		known := name.Text()
		if d == geminiSchema {
			known = strings.ToLower(known)
		}
		if !slices.Contains(schemaTypes, known) && (d != geminiSchema || known != "type_unspecified") {
			return &schemaFault{t, path + ".type", "is " + strconv.Quote(cutText(name.Text(), 40)) + ", which is not a JSON type"}
		}
	}
	return nil
}

func arrayFault(n *tree.Node, d dialect, path string) *schemaFault {
	items := n.Get("items")
	switch {
	case items.Is(tree.Array):
		return &schemaFault{items, path + ".items", "is a list; it must be one schema"}
	case items.Null() && strings.EqualFold(n.Get("type").Text(), "array") && (d == openAISchema || d == geminiSchema):
		return &schemaFault{n, path + ".items", "is missing; the provider wants to know what an array holds"}
	case d != geminiSchema && n.Get("enum") != nil && !n.Get("enum").Is(tree.Array):
		return &schemaFault{n.Get("enum"), path + ".enum", "is not a list"}
	}
	return nil
}

func objectFault(n *tree.Node, d dialect, path string) *schemaFault {
	properties, required := n.Get("properties"), n.Get("required")
	switch {
	case properties != nil && (!properties.Null() || d == anthropicSchema || d == openAISchema) && !properties.Is(tree.Object):
		return &schemaFault{properties, path + ".properties", "is not an object"}
	case required != nil && (!required.Null() || d == anthropicSchema || d == openAISchema) && !required.Is(tree.Array):
		return &schemaFault{required, path + ".required", "is not a list of names"}
	}
	known := setOf(namesOf(properties))
	for i, name := range required.List() {
		at := path + ".required[" + strconv.Itoa(i) + "]"
		if !name.Is(tree.String) {
			return &schemaFault{name, at, "is not a name"}
		}
		if d == geminiSchema && !known[name.Text()] {
			return &schemaFault{name, at, "names " + strconv.Quote(cutText(name.Text(), 40)) + ", which is not a property"}
		}
	}
	return nil
}

func nestedFault(n *tree.Node, d dialect, path string, depth int) *schemaFault {
	properties := n.Get("properties")
	if properties.Is(tree.Object) {
		for i, name := range properties.Names() {
			if f := findSchemaFault(properties.Items()[i], d, path+".properties."+name, depth+1); f != nil {
				return f
			}
		}
	}
	if items := n.Get("items"); items.Is(tree.Object) {
		if f := findSchemaFault(items, d, path+".items", depth+1); f != nil {
			return f
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		for i, e := range n.Get(word).List() {
			if f := findSchemaFault(e, d, path+"."+word+"["+strconv.Itoa(i)+"]", depth+1); f != nil {
				return f
			}
		}
	}
	return nil
}

// describeType says what a schema has as its type.
func describeType(n *tree.Node) string {
	if n == nil {
		return "no type"
	}
	return "the type " + cutText(n.Raw(), 60)
}

// toolSchemas: the arguments of a tool are an object, described in the provider's words
// (A-7, O-19, O-20, G-12). One bad schema makes every request with it fail.
func toolSchemas(s *Trace, r *report) {
	s.eachTool(func(x *exchange, d toolDeclaration) {
		if !d.client || d.schema.Null() {
			return
		}
		r.addObserved(1)
		root := d.schema.Get("type")
		mustBeObject := d.dialect == anthropicSchema || d.dialect == openAISchema
		at := wire.Place{Event: -1, Off: d.schema.Offset(), Path: d.schemaPath}
		if d.schema.Is(tree.Object) && mustBeObject && root.Text() != "object" {
			r.addFinding(x, at, byProvider(x, map[bool]string{true: "A-6", false: "A-7"}[root == nil], "O-20", ""), "the schema of tool %q has %s; at the root it must be \"object\"", cutText(d.name, 140), describeType(root))
			return
		}
		if d.dialect == geminiSchema && d.node.Any("parametersJsonSchema", "parameters_json_schema") != nil {
			r.addFinding(x, at, "G-12", "tool %q has both parameters and parametersJsonSchema", cutText(d.name, 140))
			return
		}
		if f := findSchemaFault(d.schema, d.dialect, d.schemaPath, 0); f != nil {
			if f.node != nil {
				at.Off = f.node.Offset()
			}
			at.Path = f.path
			r.addFinding(x, at, byProvider(x, "A-7", "O-20", f.geminiRule(d.dialect)), "the schema of tool %q: %s %s", cutText(d.name, 140), strings.TrimPrefix(f.path, d.schemaPath+"."), f.text)
		}
	})
	s.eachPolicyRequest(evidence.Gemini, func(x *exchange) {
		schema, at := x.member("generationConfig", "responseSchema")
		if f := findSchemaFault(schema, geminiSchema, at.Path, 0); schema.Is(tree.Object) && f != nil {
			r.addFinding(x, wire.Place{Event: -1, Off: at.Off, Path: f.path}, f.geminiRule(geminiSchema), "the schema of the answer: %s %s", strings.TrimPrefix(f.path, at.Path+"."), f.text)
		}
	})
}

// The limits of strict tools on Anthropic.
const (
	maxStrictTools        = 20
	maxOptionalParameters = 24
	maxUnionParameters    = 16
)

// strictSchemas: a strict schema says of each object that nothing else is in it and, on
// OpenAI, requires every property (A-48, O-19).
func strictSchemas(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		strict := 0
		var c strictCount
		for _, d := range x.declaredTools() {
			if !d.client || !d.strict || !d.schema.Is(tree.Object) {
				continue
			}
			strict++
			r.addObserved(1)
			if f := findLooseObject(d.schema, x.Provider == evidence.OpenAI, d.schemaPath, 0); f != nil {
				r.addFinding(x, wire.Place{Event: -1, Off: f.node.Offset(), Path: f.path}, byProvider(x, "A-48", "O-19", ""), "strict tool %q: %s", cutText(d.name, 140), f.text)
			}
			if ref := findCircle(d.schema); x.Provider == evidence.Anthropic && ref != "" {
				r.addFinding(x, wire.Place{Event: -1, Off: d.schema.Offset(), Path: d.schemaPath}, "A-48", "strict tool %q: %s refers to itself", cutText(d.name, 140), cutText(ref, 60))
			}
			before := c.unions
			if c.count(d.schema, 0); x.Provider == evidence.Anthropic && c.unions-before == maxUnionParameters { // recorded
				r.addFinding(x, wire.Place{Event: -1, Off: d.schema.Offset(), Path: d.schemaPath}, "A-48", "strict tool %q has %d parameters with unions, which one tool cannot", cutText(d.name, 140), maxUnionParameters)
			}
		}
		if x.Provider == evidence.Anthropic {
			at := nodePlace(x.req.Tools, "tools")
			for _, limit := range []struct {
				what   string
				n, max int
			}{{"strict tools", strict, maxStrictTools}, {"optional parameters in strict tools", c.optional, maxOptionalParameters}, {"parameters with unions in strict tools", c.unions, maxUnionParameters}} {
				if limit.n > limit.max {
					r.addFinding(x, at, "A-48", "%d %s; at most %d are taken", limit.n, limit.what, limit.max)
				}
			}
		}
		if format, at := x.member("text", "format"); x.Provider == evidence.OpenAI && format.Get("strict").True() {
			r.addObserved(1)
			if f := findLooseObject(format.Get("schema"), true, at.Path+".schema", 0); f != nil {
				r.addFinding(x, wire.Place{Event: -1, Off: f.node.Offset(), Path: f.path}, "O-19", "strict answer: %s", f.text)
			}
		}
	})
}

// findLooseObject finds an object schema that lets more in than it names.
func findLooseObject(n *tree.Node, allRequired bool, path string, depth int) *schemaFault {
	if !n.Is(tree.Object) || depth > maxSchemaDepth {
		return nil
	}
	if n.Get("type").Text() == "object" || n.Get("properties") != nil {
		if !n.Get("additionalProperties").False() {
			return &schemaFault{n, path, "additionalProperties is not false"}
		}
		required := setOf(stringsIn(n.Get("required")))
		for _, name := range namesOf(n.Get("properties")) {
			if allRequired && !required[name] {
				return &schemaFault{n, path, "required does not name " + strconv.Quote(cutText(name, 60))}
			}
		}
	}
	for _, part := range nestedSchemas(n) {
		if f := findLooseObject(part.node, allRequired, path+part.path, depth+1); f != nil {
			return f
		}
	}
	return nil
}

func namesOf(n *tree.Node) []string {
	if n.Is(tree.Object) {
		return n.Names()
	}
	return nil
}

func stringsIn(n *tree.Node) (texts []string) {
	for _, e := range n.List() {
		texts = append(texts, e.Text())
	}
	return texts
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// nestedSchemas lists the schemas directly inside one, with their paths below it.
func nestedSchemas(n *tree.Node) (list []schemaFault) {
	for _, word := range []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"} {
		for i, name := range namesOf(n.Get(word)) {
			list = append(list, schemaFault{node: n.Get(word).Items()[i], path: "." + word + "." + name})
		}
	}
	for _, word := range []string{"items", "additionalProperties", "not", "contains"} {
		if inner := n.Get(word); inner != nil {
			list = append(list, schemaFault{node: inner, path: "." + word})
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		for i, e := range n.Get(word).List() {
			list = append(list, schemaFault{node: e, path: "." + word + "[" + strconv.Itoa(i) + "]"})
		}
	}
	return list
}

// strictCount counts what makes a grammar large.
type strictCount struct{ optional, unions int }

func (c *strictCount) count(n *tree.Node, depth int) {
	if !n.Is(tree.Object) || depth > maxSchemaDepth {
		return
	}
	properties, required := n.Get("properties"), setOf(stringsIn(n.Get("required")))
	for i, name := range namesOf(properties) {
		if !required[name] {
			c.optional++
		}
		if p := properties.Items()[i]; p.Get("type").Is(tree.Array) || p.Get("anyOf").Is(tree.Array) {
			c.unions++
		}
	}
	for _, part := range nestedSchemas(n) {
		c.count(part.node, depth+1)
	}
}

// findCircle returns a reference inside a schema that leads back to itself, "" when
// there is none.
func findCircle(root *tree.Node) string {
	seen := map[string]bool{}
	for _, ref := range refsIn(root, nil, 0) {
		if ref == "#" || !seen[ref] && leadsTo(root, ref, ref, map[string]bool{}) {
			return ref
		}
		seen[ref] = true
	}
	return ""
}

// leadsTo reports whether the definition that from names refers, over any others, to
// the one that to names.
func leadsTo(root *tree.Node, from, to string, visited map[string]bool) bool {
	if visited[from] {
		return false
	}
	visited[from] = true
	node := root
	for _, step := range strings.Split(strings.TrimPrefix(from, "#/"), "/") {
		node = node.Get(step)
	}
	for _, ref := range refsIn(node, nil, 0) {
		if ref == to || ref == "#" || leadsTo(root, ref, to, visited) {
			return true
		}
	}
	return false
}

// refsIn lists the references of a schema.
func refsIn(n *tree.Node, refs []string, depth int) []string {
	if n == nil || depth > maxSchemaDepth {
		return refs
	}
	if ref := n.Get("$ref").Text(); ref != "" {
		refs = append(refs, ref)
	}
	for _, e := range n.Items() {
		refs = refsIn(e, refs, depth+1)
	}
	return refs
}
