package gemini

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// valueRules are what the backend holds against single values.
var valueRules = []rule.Rule[*request]{
	basicRule(liveRule("G-4", "contents has at least one entry", "reported", rule.High, contentsMissing)),
	everywhere(judged("ORD-014/nothing-empty", sureRule("G-6", "a content has parts", "reported"), partsEmpty)),
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("G-7", "a part holds something; a signature or an empty text is something", "reported, recorded"),
		partEmpty)),
	judged("PAR-010/media-type", sureRule("G-36", "media are of a type that the models read", "reported"), mediaRead),
	liveRule("G-10", "a function call and a function response have a name", "reported", rule.High, responseNameless),
	judged("PAR-008/names", sureRule("G-11",
		"names of functions begin with a letter or _, and go on with these, digits, '.', ':' and '-', 128 at most",
		"reported"), functionsNamed),
	judged("PAR-008/unique", sureRule("G-11", "no two functions have the same name", "reported"), functionsUnique),
	judged("PAR-008/schema", strictRule(liveRule("G-12", "parameters or parametersJsonSchema, not both", "documented",
		rule.Medium, nil)), parametersTwice),
	judged("PAR-008/schema", sureRule("G-12", "in parameters, an ARRAY has items, and what is required is a property",
		"reported"), parameters(soundFault)),
	judged("TSC-005/subset", sureRule("G-12",
		"in parameters, properties belong to an OBJECT, items to an ARRAY, an enum of texts to a STRING", "reported"),
		parameters(placeFault)),
	judged("TSC-004/references", liveRule("G-12", "references in parametersJsonSchema lead somewhere", "reported",
		rule.Medium, nil), referencesResolve),
	judged("PAR-008/schema", strictRule(liveRule("G-12",
		"parametersJsonSchema is a JSON Schema; the words are inferred", "inferred", rule.Low, nil)), jsonSchemaSound),
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
var modifiers = []string{"thought", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription",
	"mediaProcessing", "speechMetadata"}

// partEmpty reports no part with a member that no table names: it may be newer.
func partEmpty(q *request, p *rule.Pass) {
	var faults []string
	for _, c := range q.contents {
		for _, part := range c.parts {
			if part.data != "" || part.signed {
				continue
			}
			faults = append(faults,
				fmt.Sprintf("contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field",
					c.at, part.at))
			isContent := func(name string) bool {
				return !slices.Contains(modifiers, tree.Camel(name)) &&
					part.Has(name)
			}
			if part.Is(tree.Object) && !slices.ContainsFunc(part.Names(), isContent) {
				p.Report(part.place(), "part holds nothing")
			}
		}
	}
	p.Refuse(invalidList(faults))
}

// dataDecoded reports what the transcoder refuses. A recorder may cut the bytes out, and proto-JSON
// leaves out what is empty.
func dataDecoded(q *request, p *rule.Pass) {
	for part := range q.partsWith("inlineData") {
		data := part.value.Text("data")
		if strings.Contains(data, "REDACTED") {
			continue
		}
		if p.Observe(); data != "" && !tree.IsBase64(data) {
			p.Report(part.place()+".inlineData", "the data of the inline are not base64")
		}
	}
}

// unreadTypes are those that reports say are refused, the last two without naming the type. Models from Gemini 3.1 on
// read GIF, as recordings show.
var unreadTypes = []string{"image/gif", "image/jpg", "image/svg+xml", "application/octet-stream", "image/bmp",
	"image/tiff"}

func mediaRead(q *request, p *rule.Pass) {
	look := func(path string, medium *tree.Node) {
		name := medium.Any("mimeType", "mime_type").Text()
		if p.Observe(); name == "" || strings.Contains(name, "/") && !slices.Contains(unreadTypes, name) ||
			name == "image/gif" && !(q.model.HasVersion() && q.model.IsBefore(3, 1)) {
			return
		}
		says := "Unsupported MIME type: " + name
		if slices.Index(unreadTypes, name) > 3 {
			says = "Request contains an invalid argument."
		}
		p.Report(path, "the type %q is none that the models read", rule.Shorten(name)).Refuse(invalid("%s", says))
	}
	for _, kind := range []string{"inlineData", "fileData"} {
		for part := range q.partsWith(kind) {
			look(part.place()+"."+kind, part.value)
		}
	}
	for part := range q.partsWith("functionResponse") {
		for i, inner := range part.value.List("parts") {
			look(fmt.Sprintf("%s.functionResponse.parts[%d].inlineData", part.place(), i),
				inner.Any("inlineData", "inline_data"))
		}
	}
}

func responseNameless(q *request, _ rule.Env) *rule.Refusal {
	var faults []string
	for _, c := range q.contents {
		for _, kind := range []string{"functionCall", "functionResponse"} {
			for _, p := range c.partsWith(kind) {
				if p.name() == "" {
					faults = append(faults, fmt.Sprintf("contents[%d].parts[%d].%s.name: Name cannot be empty.", c.at,
						p.at, tree.Snake(kind)))
				}
			}
		}
	}
	return invalidList(faults)
}

var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`)

// protoPath is the path of a function, or of what is below it, as the API writes it.
func protoPath(t *wire.Tool) string {
	return strings.Replace(t.Path, "functionDeclarations", "function_declarations", 1)
}

func functionsNamed(q *request, p *rule.Pass) {
	var faults []string
	for i := range q.functions {
		f := &q.functions[i]
		isNamed := functionName.MatchString(f.Name)
		if f.Name != "" { // PAR-006 speaks of those without a name
			if p.Observe(); !isNamed {
				p.Report(f.Path, "the provider does not take the tool name %.140q", f.Name)
			}
		}
		if !isNamed {
			faults = append(faults, protoPath(f)+
				".name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.")
		}
	}
	p.Refuse(invalidList(faults))
}

func functionsUnique(q *request, p *rule.Pass) {
	p.JudgeUnique(q.functions,
		func(t *wire.Tool) *rule.Refusal { return invalid("Duplicate function declaration found: %s", t.Name) })
}

func parametersTwice(q *request, p *rule.Pass) {
	var faults []string
	for i := range q.functions {
		f := &q.functions[i]
		if f.Node.Given("parameters") != nil && f.Node.Given("parametersJsonSchema", "parameters_json_schema") != nil {
			p.Report(f.SchemaPath, "tool %.140q has both parameters and parametersJsonSchema", f.Name)
			faults = append(faults, protoPath(f)+": only one of parameters and parameters_json_schema can be set.")
		}
	}
	p.Refuse(invalidList(faults))
}

// functionsBy returns the functions whose arguments are described by JSON Schema, or by the provider's own.
func (q *request) functionsBy(isJSONSchema bool) []wire.Tool {
	return slices.DeleteFunc(slices.Clone(q.functions),
		func(t wire.Tool) bool { return strings.HasSuffix(t.SchemaPath, "JsonSchema") != isJSONSchema })
}

// parameters holds the parameters of each function to what look looks for.
func parameters(look func(s *tree.Node, kind string) fault) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		var words []string
		p.JudgeSchemas(q.functionsBy(false), func(t *wire.Tool) rule.SchemaFault {
			f := findFault(t.Schema, look)
			if f.words != "" {
				words = append(words, protoPath(t)+".parameters"+f.words)
			}
			return f.SchemaFault
		})
		p.Refuse(invalidList(words))
	}
}

// answerSound reports what nothing is known to refuse.
func answerSound(q *request, p *rule.Pass) {
	schema := q.config.Given("responseSchema", "response_schema")
	if !schema.Is(tree.Object) {
		return
	}
	if f := findFault(schema, soundFault); f.Text != "" {
		p.Report("generationConfig.responseSchema"+f.Path, "the schema of the answer: %s",
			f.Text).Rule = cmp.Or(f.Rule, "G-12")
	}
}

// fault is what is wrong with parameters: words are the API's, behind the path.
type fault struct {
	rule.SchemaFault
	words string
}

// findFault returns the first fault that look sees in a schema and those in it.
func findFault(schema *tree.Node, look func(s *tree.Node, kind string) fault) fault {
	for at, s := range tree.Schemas(schema) {
		f := look(s, schemaKind(s))
		if f.Text == "" {
			continue
		}
		if f.Path != "" {
			f.Text = strings.TrimPrefix(at.Path+f.Path, ".") + " " + f.Text
		}
		if f.words != "" {
			path := ""
			for i := 0; i < len(at.Names); i++ {
				path += "." + tree.Snake(at.Names[i])
				if word := path[strings.LastIndexByte(path, '.'):]; word == ".properties" || word == ".any_of" {
					i++
					path += "[" + at.Names[i] + "]"
				}
			}
			f.words = path + f.words
		}
		f.Path = at.Path + f.Path
		return f
	}
	return fault{}
}

// soundFault leaves the types of keywords to the transcoder.
func soundFault(s *tree.Node, kind string) fault {
	ours := func(path, form string, args ...any) fault {
		return fault{SchemaFault: rule.SchemaFault{Path: path, Text: fmt.Sprintf(form, args...)}}
	}
	theirs := func(f fault, words string) fault {
		f.words = f.Path + words
		return f
	}
	t, items, properties, required := s.Get("type"), s.Get("items"), s.Get("properties"), s.Get("required")
	wrongType := func(f fault) fault { f.Rule = "G-3"; return f }
	switch {
	case s.Is(tree.Bool):
		return fault{}
	case !s.Is(tree.Object):
		return ours("", "is not a schema")
	case t.Is(tree.Array):
		return wrongType(ours(".type", "is a list; the provider takes one type, and nullable"))
	case t.Is(tree.Object | tree.Bool):
		return wrongType(ours(".type", "is neither a type nor a list of types"))
	case t.Is(tree.String) && kind != "TYPE_UNSPECIFIED" &&
		!slices.Contains(Members().Find("schema", "").Member("type").Values, kind):
		return wrongType(ours(".type", "is %.40q, which is not a JSON type", t.Text()))
	case items.Is(tree.Array):
		return ours(".items", "is a list; it must be one schema")
	case items.Null() && kind == "ARRAY":
		return theirs(ours(".items", "is missing; the provider wants to know what an array holds"), ": missing field.")
	case !properties.Null() && !properties.Is(tree.Object):
		return ours(".properties", "is not an object")
	case !required.Null() && !required.Is(tree.Array):
		return ours(".required", "is not a list of names")
	}
	for i, name := range required.List() {
		at := fmt.Sprintf(".required[%d]", i)
		switch f := ours(at, "names %.40q, which is not a property", name.Text()); {
		case !name.Is(tree.String):
			return ours(at, "is not a name")
		case properties.Get(name.Text()) == nil && kind == "OBJECT":
			return theirs(f, ": property is not defined")
		case properties.Get(name.Text()) == nil:
			return f
		}
	}
	return fault{}
}

func placeFault(s *tree.Node, kind string) fault {
	enum := s.Given("enum")
	for _, only := range []struct{ word, kind string }{{"enum", "STRING"}, {"items", "ARRAY"},
		{"properties", "OBJECT"}} {
		if s.Given(only.word) != nil && kind != "" && kind != only.kind {
			return fault{rule.SchemaFault{Path: "." + only.word, Text: "is only allowed for the type " + only.kind},
				fmt.Sprintf(".%s: only allowed for %s type", only.word, only.kind)}
		}
	}
	for i, e := range elementsOf(enum) {
		if at := fmt.Sprintf(".enum[%d]", i); e.Text() == "" {
			text := "is empty"
			if !e.Is(tree.String) {
				text = "is no text"
			}
			return fault{rule.SchemaFault{Path: at, Text: text}, at + ": cannot be empty"}
		}
	}
	return fault{}
}

func referencesResolve(q *request, p *rule.Pass) {
	p.JudgeSchemas(q.functionsBy(true), func(t *wire.Tool) rule.SchemaFault {
		for at, s := range tree.Schemas(t.Schema) {
			if ref := s.Text("$ref"); strings.HasPrefix(ref, "#") && tree.ResolvePointer(t.Schema, ref) == nil {
				return rule.SchemaFault{Path: at.Path + ".$ref",
					Text: fmt.Sprintf("%.80q refers to nothing in the schema", ref),
					Refusal: invalid("reference to undefined schema at %s",
						cmp.Or(strings.Join(at.Names, "."), "top-level"))}
			}
		}
		return rule.SchemaFault{}
	})
}

func jsonSchemaSound(q *request, p *rule.Pass) {
	p.JudgeSchemas(q.functionsBy(true), func(t *wire.Tool) rule.SchemaFault {
		f, other := tree.FindSchemaFault(t.Schema, true, true), tree.FindSchemaFault(t.Schema, false, true)
		if f.Node == nil && other.Node == nil {
			return rule.SchemaFault{}
		}
		return rule.SchemaFault{Path: f.Path, Text: rule.BehindPath(f),
			Refusal: invalidList([]string{protoPath(t) + ".parameters_json_schema: must be a valid JSON Schema."})}
	})
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

// transcodingRules are what the front end demands before the model is asked.
// Each names all paths at fault, in BadRequest details too.
var transcodingRules = []rule.Rule[*request]{
	basicRule(liveRule("G-3", "the body is one JSON object", "reported", rule.High, notJSON)),
	everywhere(judged("ORD-015/arguments",
		liveRule("G-3",
			"no unknown field, and every value of its field's type; both spellings of a name count, so do enums in lower case, and one value for a list; live notes a name that no message has, for it may be new", "reported", rule.High, transcodesTo("G-3")), structIn("functionCall", "args"))),
	everywhere(judged("ORD-015/parts",
		liveRule("G-8", "a part holds one thing", "reported", rule.High, transcodesTo("G-8")), partsSingle)),
	everywhere(judged("ORD-015/arguments", liveRule("G-9", "functionResponse.response is an object", "reported",
		rule.High, transcodesTo("G-9")), structIn("functionResponse", "response"))),
	everywhere(judged("SIG-015/base64", liveRule("G-19", "thoughtSignature is base64, of either alphabet", "reported",
		rule.High, transcodesTo("G-19")), signaturesDecoded)),
}

func notJSON(q *request, _ rule.Env) *rule.Refusal {
	if q.syntax == "" {
		return nil
	}
	return badRequest([]violation{{text: q.syntax}})
}

// structIn reports a member that is not the object that the transcoder wants.
func structIn(data, name string) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		for part := range q.partsWith(data) {
			if p.Observe(); part.value.Has(name) && !part.value.Get(name).Is(tree.Object) {
				p.Report(part.place(), "%s of %s is not an object", name, part.label())
			}
		}
	}
}

// partsSingle reports what the transcoder refuses.
func partsSingle(q *request, p *rule.Pass) {
	for _, c := range q.contents {
		for _, part := range c.parts {
			p.Observe()
			held := slices.DeleteFunc(slices.Clone(part.Names()),
				func(name string) bool { return dataNames[name] == "" || name == script.FuturePart })
			if len(held) > 1 {
				p.Report(part.place(), "one part holds %s", strings.Join(held, " and "))
			}
		}
	}
}

// transcodesTo returns what breaks when the transcoder found violations of a rule.
func transcodesTo(id string) func(*request, rule.Env) *rule.Refusal {
	return func(q *request, env rule.Env) *rule.Refusal {
		var found []violation
		for _, v := range q.violations {
			if v.rule == id || id == "G-3" && v.rule == unknownField && env.Level == rule.Strict {
				found = append(found, v)
			}
		}
		if found == nil {
			return nil
		}
		return badRequest(found)
	}
}

// badRequest puts violations into the message, a line each, and into details.
func badRequest(found []violation) *rule.Refusal {
	found = found[:min(maxFaults, len(found))]
	lines, fields := make([]string, len(found)), script.Array{}
	for i, v := range found {
		lines[i] = v.text
		one := script.Object{"description", v.text}
		if v.field != "" {
			one = append(script.Object{"field", v.field}, one...)
		}
		fields = append(fields, one)
	}
	refusal := invalid("%s", strings.Join(lines, "\n"))
	refusal.Details = script.JSON(script.Array{script.Object{
		"@type", "type.googleapis.com/google.rpc.BadRequest", "fieldViolations", fields,
	}})
	return refusal
}
