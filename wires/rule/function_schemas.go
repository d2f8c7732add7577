package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// The functions below find what OpenAI refuses in the schema of a function, on both wires that OpenAI made: where it
// stands in the schema, what is wrong in our words, and what OpenAI says. Empty results mean that nothing is wrong.

// unenforceable are the keywords that a strict schema may not have.
var unenforceable = []string{"allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"}

// SchemaSound holds a schema to what any JSON Schema of a function has to be.
func SchemaSound(root *tree.Node) (path, ours, words string) {
	if kind := root.Get("type"); kind.Text() != "object" {
		return "", RootType(root), fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`,
			cmp.Or(kind.Text(), "None"))
	}
	for at, s := range tree.Schemas(root) {
		kind := s.Get("type")
		i := slices.IndexFunc(kind.List(), func(t *tree.Node) bool { return t.Text() == "array" })
		if (i >= 0 || kind.Text() == "array") && s.Get("items").Null() && s.Get("prefixItems") == nil {
			context := at.Names
			if i >= 0 {
				context = slices.Concat(context, []string{"type", fmt.Sprint(i)})
			}
			return at.Path + ".items", "an array has no items; the provider wants to know what it holds",
				fmt.Sprintf("In context=%s, array schema missing items.", pythonTuple(context))
		}
	}
	for _, isBasic := range []bool{true, false} {
		f := tree.FindSchemaFault(root, isBasic, false)
		if f.Node == nil {
			continue
		}
		if isBasic {
			path, ours = f.Path, BehindPath(f)
		}
		if !strings.HasSuffix(f.Path, ".type") {
			f.Node = root
		}
		return path, ours, strings.ReplaceAll(f.Node.Raw(), `"`, "'") + " is not valid under any of the given schemas."
	}
	return "", "", ""
}

// RootChoosesNothing holds a schema to a root without alternatives.
func RootChoosesNothing(root *tree.Node) (path, ours, words string) {
	for _, word := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if root.Given(word) != nil {
			return "." + word, word + " stands at the root, where the provider takes no choice",
				"schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
		}
	}
	return "", "", ""
}

// ReferencesResolve holds the references of a schema to something in it.
func ReferencesResolve(root *tree.Node) (path, ours, words string) {
	for at, s := range tree.Schemas(root) {
		if ref := s.Text("$ref"); strings.HasPrefix(ref, "#") && tree.ResolvePointer(root, ref) == nil {
			return at.Path + ".$ref", fmt.Sprintf("%.80q refers to nothing in the schema", ref),
				fmt.Sprintf("In context=%s, reference to component '%s' which was not found in the schema.",
					pythonTuple(at.Names), ref)
		}
	}
	return "", "", ""
}

// UnenforceableKeyword finds a keyword that a strict schema may not have.
func UnenforceableKeyword(root *tree.Node) (path, ours, words string) {
	for at, s := range tree.Schemas(root) {
		for _, word := range unenforceable {
			if s.Given(word) != nil {
				return at.Path + "." + word, word + " is not permitted in a strict schema",
					fmt.Sprintf("In context=%s, '%s' is not permitted.", pythonTuple(at.Names), word)
			}
		}
	}
	return "", "", ""
}

// LooseObject finds the first object that lets in what it does not name, or does not require a property.
func LooseObject(root *tree.Node) (path, ours, words string) {
	for at, s := range tree.Schemas(root) {
		properties := s.Get("properties")
		switch {
		case s.Text("type") != "object" && properties == nil:
			continue
		case !s.False("additionalProperties"):
			return at.Path, "additionalProperties is not false",
				fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.",
					pythonTuple(at.Names))
		}
		for _, name := range properties.Names() {
			if !slices.ContainsFunc(s.List("required"), func(r *tree.Node) bool { return r.Text() == name }) {
				return at.Path, fmt.Sprintf("required does not name %.60q", name),
					fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", pythonTuple(at.Names), name)
			}
		}
	}
	return "", "", ""
}

// pythonTuple writes a context as the API does, which is written in Python.
func pythonTuple(context []string) string {
	if len(context) == 1 {
		return "('" + context[0] + "',)"
	}
	if len(context) == 0 {
		return "()"
	}
	return "('" + strings.Join(context, "', '") + "')"
}
