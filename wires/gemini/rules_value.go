package gemini

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// valueRules are what the backend holds against single values.
var valueRules = []rule.Rule[*request]{
	{Info: rule.Info{ID: "G-4", Demand: "contents has at least one entry", Source: "reported", Confidence: rule.High, Least: rule.Lenient}, Broken: contentsMissing},
	{Info: rule.Info{ID: "G-6", Demand: "a content has parts", Source: "reported", Confidence: rule.High, Least: rule.Live}, Aspect: "ORD-014/nothing-empty", Hosts: rule.AnyHost, Run: partsEmpty},
	{Info: rule.Info{ID: "G-7", Demand: "a part holds something; a signature or an empty text is something", Source: "reported, recorded", Confidence: rule.High, Least: rule.Live}, Aspect: "ORD-014/nothing-empty", Hosts: rule.AnyHost, Run: partEmpty},
	{Info: rule.Info{ID: "G-10", Demand: "a function call and a function response have a name", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: responseNameless},
	{Info: rule.Info{ID: "G-11", Demand: "names of functions begin with a letter or _, and go on with these, digits, '.', ':' and '-', 128 at most", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: functionNames},
	{Info: rule.Info{ID: "G-11", Demand: "no two functions have the same name", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: functionsTwice},
	{Info: rule.Info{ID: "G-12", Demand: "parameters or parametersJsonSchema, not both", Source: "documented", Confidence: rule.Medium, Least: rule.Strict}, Broken: parametersTwice},
	{Info: rule.Info{ID: "G-12", Demand: "in parameters, properties belong to an OBJECT, items to an ARRAY, an enum of texts to a STRING, an ARRAY has items, and what is required is a property", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: schemaForm},
	{Info: rule.Info{ID: "G-12", Demand: "references in parametersJsonSchema lead somewhere", Source: "reported", Confidence: rule.Medium, Least: rule.Live}, Broken: referencesUndefined},
	{Info: rule.Info{ID: "G-12", Demand: "parametersJsonSchema is a JSON Schema; the words are inferred", Source: "inferred", Confidence: rule.Low, Least: rule.Strict}, Broken: jsonSchemaForm},
}

func contentsMissing(q *request, _ rule.Env) *rule.Refusal {
	if len(q.contents) > 0 {
		return nil
	}
	if q.vertex {
		return invalid("Unable to submit request because at least one contents field is required. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini")
	}
	return invalidList([]string{"contents: contents is not specified"})
}

func partsEmpty(q *request, p *rule.Pass) {
	var faults []string
	for _, c := range q.contents {
		if p.Observe(); len(c.parts) == 0 {
			faults = append(faults, fmt.Sprintf("contents[%d].parts: contents.parts must not be empty.", c.at))
			p.Report(fmt.Sprintf("contents[%d].parts", c.at), "content has no parts")
		}
	}
	if faults == nil {
		return
	}
	refusal := invalidList(faults)
	if q.vertex {
		refusal = invalid("Unable to submit request because it must include at least one parts field, which describes the prompt input. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini")
	}
	p.Refuse(refusal)
}

// modifiers say something of a part and are no content of their own.
var modifiers = []string{"thought", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription", "mediaProcessing", "speechMetadata"}

// partEmpty reports no part with a member that no table names: it may be newer.
func partEmpty(q *request, p *rule.Pass) {
	var faults []string
	for _, c := range q.contents {
		for _, part := range c.parts {
			if part.data != "" || part.signed {
				continue
			}
			faults = append(faults, fmt.Sprintf("contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", c.at, part.at))
			isContent := func(name string) bool { return !slices.Contains(modifiers, camelCase(name)) && !part.Get(name).Null() }
			if part.Is(tree.Object) && !slices.ContainsFunc(part.Names(), isContent) {
				p.Report(part.place(), "part holds nothing")
			}
		}
	}
	p.Refuse(invalidList(faults))
}

func responseNameless(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, c := range q.contents {
		for _, kind := range []string{"functionCall", "functionResponse"} {
			for _, p := range c.partsWith(kind) {
				if p.name() == "" {
					faults = append(faults, fmt.Sprintf("contents[%d].parts[%d].%s.name: Name cannot be empty.", c.at, p.at, members.ProtoName(kind)))
				}
			}
		}
	}
	return invalidList(faults)
}

var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`)

func functionNames(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, d := range q.functionDeclarations() {
		if !functionName.MatchString(d.name()) {
			faults = append(faults, fmt.Sprintf("tools[%d].function_declarations[%d].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.", d.tool, d.at))
		}
	}
	return invalidList(faults)
}

func functionsTwice(q *request, _ rule.Env) *rule.Refusal {
	seen := map[string]bool{}
	for _, d := range q.functionDeclarations() {
		if seen[d.name()] {
			return invalid("Duplicate function declaration found: %s", d.name())
		}
		seen[d.name()] = true
	}
	return nil
}

func parametersTwice(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, d := range q.functionDeclarations() {
		if d.Given("parameters") != nil && d.Given("parametersJsonSchema", "parameters_json_schema") != nil {
			faults = append(faults, fmt.Sprintf("tools[%d].function_declarations[%d]: only one of parameters and parameters_json_schema can be set.", d.tool, d.at))
		}
	}
	return invalidList(faults)
}

func schemaForm(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, d := range q.functionDeclarations() {
		if s := d.Given("parameters"); s != nil {
			faults = schemaFaults(faults, s, fmt.Sprintf("tools[%d].function_declarations[%d].parameters", d.tool, d.at))
		}
	}
	return invalidList(faults)
}

func jsonSchemaForm(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, d := range q.functionDeclarations() {
		if s := d.Given("parametersJsonSchema", "parameters_json_schema"); s != nil && !tree.IsSchema(s) {
			faults = append(faults, fmt.Sprintf("tools[%d].function_declarations[%d].parameters_json_schema: must be a valid JSON Schema.", d.tool, d.at))
		}
	}
	return invalidList(faults)
}

func referencesUndefined(q *request, _ rule.Env) *rule.Refusal {
	for _, d := range q.functionDeclarations() {
		root, undefined := d.Given("parametersJsonSchema", "parameters_json_schema"), ""
		if root == nil {
			continue
		}
		tree.EachSchema(root, func(path []string, s *tree.Node) bool {
			if ref := s.Get("$ref").Text(); strings.HasPrefix(ref, "#") && tree.ResolvePointer(root, ref) == nil {
				undefined = cmp.Or(strings.Join(path, "."), "top-level")
			}
			return undefined == ""
		})
		if undefined != "" {
			return invalid("reference to undefined schema at %s", undefined)
		}
	}
	return nil
}

// schemaFaults appends what is wrong with a schema and those in it.
func schemaFaults(faults []string, s *tree.Node, at string) []string {
	kind := schemaKind(s)
	items, properties := s.Given("items"), s.Given("properties")
	switch {
	case kind == "ARRAY" && items == nil:
		faults = append(faults, at+".items: missing field.")
	case kind != "" && kind != "ARRAY" && items != nil:
		faults = append(faults, at+".items: only allowed for ARRAY type")
	case kind != "" && kind != "OBJECT" && properties != nil:
		faults = append(faults, at+".properties: only allowed for OBJECT type")
	}
	enum := elementsOf(s.Given("enum"))
	if kind != "" && kind != "STRING" && len(enum) > 0 {
		faults = append(faults, at+".enum: only allowed for STRING type")
	}
	for i := range enum {
		if enum[i].Text() == "" {
			faults = append(faults, fmt.Sprintf("%s.enum[%d]: cannot be empty", at, i))
		}
	}
	required := elementsOf(s.Given("required"))
	for i := range required {
		if kind == "OBJECT" && properties.Get(required[i].Text()) == nil {
			faults = append(faults, fmt.Sprintf("%s.required[%d]: property is not defined", at, i))
		}
	}
	if items != nil {
		faults = schemaFaults(faults, items, at+".items")
	}
	if properties != nil {
		for i, name := range properties.Names() {
			faults = schemaFaults(faults, properties.Items()[i], at+".properties["+name+"]")
		}
	}
	alternatives := elementsOf(s.Given("anyOf", "any_of"))
	for i := range alternatives {
		faults = schemaFaults(faults, alternatives[i], fmt.Sprintf("%s.any_of[%d]", at, i))
	}
	return faults
}

// schemaKind is the type's name; types may be numbers (reference §1.3).
func schemaKind(s *tree.Node) string {
	t := s.Given("type")
	if t == nil || !t.Is(tree.Number) {
		return enumName(t)
	}
	i := slices.Index([]string{"0", "1", "2", "3", "4", "5", "6", "7"}, t.Raw())
	if i < 1 {
		return ""
	}
	return Members().Find("schema", "").Member("type").Values[i]
}
