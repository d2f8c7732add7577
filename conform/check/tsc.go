package check

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// toolSchemaRules judge what the schemas of tools and answers say. A schema that the
// provider does not take makes every request with it fail, whichever tool is called.
var toolSchemaRules = map[string]rule{
	"TSC-001/root":            rootWithoutChoice,
	"TSC-002/argument-names":  argumentNames,
	"TSC-003/keywords":        keywordForms,
	"TSC-004/references":      referencesResolve,
	"TSC-005/subset":          geminiSubset,
	"TSC-006/strict-keywords": strictKeywords,
	"TSC-007/output-keywords": outputKeywords,
	"TSC-007/output-closed":   outputClosed,
}

// eachToolSchema calls f for the schema of every tool that the client runs.
func (s *Trace) eachToolSchema(f func(x *exchange, d toolDeclaration)) {
	s.eachTool(func(x *exchange, d toolDeclaration) {
		if d.client && d.schema.Is(tree.Object) {
			f(x, d)
		}
	})
}

// addSchemaFinding reports a fault of a tool's schema, nil for none.
func (r *report) addSchemaFinding(x *exchange, d toolDeclaration, f *schemaFault, rule string) {
	r.addObserved(1)
	if f == nil {
		return
	}
	at := wire.Place{Event: -1, Off: f.node.Offset(), Path: d.schemaPath + f.path}
	r.addFinding(x, at, rule, "the schema of tool %q: %s", cutText(d.name, 140), f.text)
}

// findInSchema visits a schema and all that are nested in it, each with its path below
// the root, and returns the first fault that visit finds.
func findInSchema(n *tree.Node, path string, depth int, visit func(n *tree.Node, path string) *schemaFault) *schemaFault {
	if !n.Is(tree.Object) || depth > maxSchemaDepth {
		return nil
	}
	if f := visit(n, path); f != nil {
		return f
	}
	for _, part := range nestedSchemas(n) {
		if f := findInSchema(part.node, path+part.path, depth+1, visit); f != nil {
			return f
		}
	}
	return nil
}

// rootWithoutChoice: the root of a schema is an object, described in one way (A-7, O-20).
func rootWithoutChoice(s *Trace, r *report) {
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if refused := x.wire.RootKeywords; refused != nil {
			r.addSchemaFinding(x, d, findKeyword(d.schema, "", refused, "stands at the root, where the provider takes no choice"), x.wire.RuleFor(wires.RootChoice))
		}
	})
}

// findKeyword returns the first of the keywords that a schema has.
func findKeyword(n *tree.Node, path string, keywords []string, text string) *schemaFault {
	for _, word := range keywords {
		if v := n.Get(word); !v.Null() {
			return &schemaFault{v, path + "." + word, word + " " + text}
		}
	}
	return nil
}

// argumentName is what Anthropic takes as the name of an argument. Names further inside
// are not looked at.
var argumentName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// argumentNames: the arguments of a tool have names of the provider's form.
func argumentNames(s *Trace, r *report) {
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if !x.wire.Has(wires.ArgumentNames) {
			return
		}
		properties := d.schema.Get("properties")
		for i, name := range namesOf(properties) {
			if !argumentName.MatchString(name) {
				r.addSchemaFinding(x, d, &schemaFault{properties.Items()[i], ".properties",
					"the provider does not take the argument name " + strconv.Quote(cutText(name, 80))}, "A-7")
				return
			}
		}
		r.addSchemaFinding(x, d, nil, "")
	})
}

// keywordKinds are the kinds of values that keywords of draft 2020-12 may have, those
// that findSchemaFault judges left out.
var keywordKinds = map[string]tree.Kind{
	"patternProperties": tree.Object, "dependentSchemas": tree.Object, "$defs": tree.Object, "definitions": tree.Object,
	"anyOf": tree.Array, "oneOf": tree.Array, "allOf": tree.Array, "prefixItems": tree.Array, "examples": tree.Array,
	"additionalProperties": tree.Object | tree.Bool, "not": tree.Object | tree.Bool, "contains": tree.Object | tree.Bool,
	"minimum": tree.Number, "maximum": tree.Number, "exclusiveMinimum": tree.Number, "exclusiveMaximum": tree.Number, "multipleOf": tree.Number,
	"minLength": tree.Number, "maxLength": tree.Number, "minItems": tree.Number, "maxItems": tree.Number, "minProperties": tree.Number, "maxProperties": tree.Number,
	"uniqueItems": tree.Bool, "deprecated": tree.Bool, "readOnly": tree.Bool, "writeOnly": tree.Bool,
	"pattern": tree.String, "format": tree.String, "title": tree.String, "description": tree.String, "$ref": tree.String, "$schema": tree.String, "$id": tree.String, "$comment": tree.String,
}

var kindNames = map[tree.Kind]string{tree.Object: "an object", tree.Array: "a list", tree.Integer: "a number", tree.Decimal: "a number", tree.String: "text", tree.Null: "null"}

// keywordForms: a keyword has the form that it has in draft 2020-12; earlier drafts had
// others, such as exclusiveMinimum: true.
func keywordForms(s *Trace, r *report) {
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if x.wire.Has(wires.Draft2020) {
			r.addSchemaFinding(x, d, findInSchema(d.schema, "", 0, keywordFault), "A-7")
		}
	})
}

func keywordFault(n *tree.Node, path string) *schemaFault {
	for i, word := range n.Names() {
		value := n.Items()[i]
		switch kinds := keywordKinds[word]; {
		case kinds != 0 && !value.Is(kinds):
			return &schemaFault{value, path + "." + word, word + " has a value of a kind that draft 2020-12 does not know for it"}
		case kinds == tree.Array && word != "examples" && len(value.List()) == 0:
			return &schemaFault{value, path + "." + word, word + " is empty"}
		}
	}
	return nil
}

// referencesResolve: a reference inside a schema leads to something that stands there
// (O-20, G-12).
func referencesResolve(s *Trace, r *report) {
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if !x.wire.Has(wires.StrictSchemas) && d.dialect != jsonSchema {
			return
		}
		r.addSchemaFinding(x, d, findInSchema(d.schema, "", 0, func(n *tree.Node, path string) *schemaFault {
			ref := n.Get("$ref")
			if !strings.HasPrefix(ref.Text(), "#") || resolveReference(d.schema, ref.Text()) != nil {
				return nil
			}
			return &schemaFault{ref, path + ".$ref", strconv.Quote(cutText(ref.Text(), 80)) + " refers to nothing in the schema"}
		}), x.wire.RuleFor(wires.NoReferent))
	})
}

// resolveReference returns what a reference such as #/$defs/a stands for, nil for nothing.
func resolveReference(root *tree.Node, ref string) *tree.Node {
	pointer := strings.TrimPrefix(ref, "#")
	if pointer == "" || !strings.HasPrefix(pointer, "/") {
		return root // the root itself, or an anchor, which is not looked for
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	n := root
	for _, step := range strings.Split(pointer[1:], "/") {
		if i, err := strconv.Atoi(step); err == nil && n.Is(tree.Array) {
			if i < 0 || i >= len(n.Items()) {
				return nil
			}
			n = n.Items()[i]
			continue
		}
		if n = n.Get(unescape.Replace(step)); n == nil {
			return nil
		}
	}
	return n
}

// geminiSubset: in parameters, a keyword stands at the type that it belongs to (G-12).
func geminiSubset(s *Trace, r *report) {
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if d.dialect == geminiSchema {
			r.addSchemaFinding(x, d, findInSchema(d.schema, "", 0, subsetFault), "G-12")
		}
	})
}

func subsetFault(n *tree.Node, path string) *schemaFault {
	kind, enum := strings.ToUpper(n.Get("type").Text()), n.Get("enum")
	for _, only := range []struct{ word, kind string }{{"enum", "STRING"}, {"items", "ARRAY"}, {"properties", "OBJECT"}} {
		if v := n.Get(only.word); !v.Null() && kind != "" && kind != only.kind {
			return &schemaFault{v, path + "." + only.word, only.word + " is only allowed for the type " + only.kind}
		}
	}
	for i, e := range enum.List() {
		if at := path + ".enum[" + strconv.Itoa(i) + "]"; !e.Is(tree.String) {
			return &schemaFault{e, at, "an enum holds " + kindName(e) + "; the provider takes texts"}
		} else if e.Text() == "" {
			return &schemaFault{e, at, "an enum holds an empty text"}
		}
	}
	return nil
}

func kindName(n *tree.Node) string {
	if n.Is(tree.Bool) {
		return n.Raw()
	}
	return cmp.Or(kindNames[n.Kind()], "nothing")
}

// unenforceable are the keywords that OpenAI does not take in strict schemas.
var unenforceable = []string{"allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"}

// strictKeywords: a strict schema has only keywords that the provider can enforce (O-19).
func strictKeywords(s *Trace, r *report) {
	fault := func(n *tree.Node, path string) *schemaFault {
		return findKeyword(n, path, unenforceable, "is not permitted in a strict schema")
	}
	s.eachToolSchema(func(x *exchange, d toolDeclaration) {
		if x.wire.Has(wires.StrictSchemas) && d.strict {
			r.addSchemaFinding(x, d, findInSchema(d.schema, "", 0, fault), "O-19")
		}
	})
	s.eachRequestOf(wires.StrictSchemas, func(x *exchange) {
		if format, at := x.member("text", "format"); format.Get("strict").True() {
			r.addOutputFinding(x, findInSchema(format.Get("schema"), at.Path+".schema", 0, fault), "O-19")
		}
	})
}

// unenforceableBounds are the keywords that Anthropic does not take in the schema of the
// output, by the type they stand at.
var unenforceableBounds = map[string][]string{
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"string":  {"minLength", "maxLength"},
	"array":   {"maxItems"},
}

// outputKeywords: the schema of the output has only keywords that the provider can
// enforce.
func outputKeywords(s *Trace, r *report) {
	s.eachOutputSchema(func(x *exchange, schema *tree.Node, path string) {
		r.addOutputFinding(x, findInSchema(schema, path, 0, func(n *tree.Node, path string) *schemaFault {
			kind := n.Get("type").Text()
			return findKeyword(n, path, unenforceableBounds[kind], "is not supported for the type "+kind)
		}), "A-48")
	})
}

// outputClosed: each object in the schema of the output lets nothing in that it does not
// name.
func outputClosed(s *Trace, r *report) {
	s.eachOutputSchema(func(x *exchange, schema *tree.Node, path string) {
		r.addOutputFinding(x, findLooseObject(schema, false, path, 0), "A-48")
	})
}

// eachOutputSchema calls f for every schema that an answer of Anthropic's must follow.
func (s *Trace) eachOutputSchema(f func(x *exchange, schema *tree.Node, path string)) {
	s.eachRequestOf(wires.OutputSchemas, func(x *exchange) {
		format, path := x.req.Doc.Get("output_config").Get("format"), "output_config.format.schema"
		if old := x.req.Doc.Get("output_format"); !old.Null() {
			format, path = old, "output_format.schema"
		}
		if schema := format.Get("schema"); schema.Is(tree.Object) {
			f(x, schema, path)
		}
	})
}

// addOutputFinding reports a fault of the schema that an answer follows, nil for none.
func (r *report) addOutputFinding(x *exchange, f *schemaFault, rule string) {
	r.addObserved(1)
	if f != nil {
		r.addFinding(x, wire.Place{Event: -1, Off: f.node.Offset(), Path: f.path}, rule, "the schema of the answer: %s", f.text)
	}
}
