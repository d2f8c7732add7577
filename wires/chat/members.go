package chat

import (
	"cmp"
	_ "embed" // for members.yaml
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile,
		members.Style{Integers: true, TypeIsPresence: true, TypeOf: typeOf, Rules: map[members.Kind]string{
			members.Unknown: "C-43", members.NoBeta: "C-43", members.Missing: "C-1", members.Empty: "C-1",
			members.Null: "C-40", members.WrongType: "C-40",
			members.UnknownType: "C-9", members.WrongValue: "C-40", members.OutOfRange: "C-40",
			members.WrongLength: "C-40",
			members.WrongID:     "C-22", members.WrongForm: "C-28",
		}})
})

// typeOf names the type of a message by its role. A call and a tool without a type are those of a function.
func typeOf(object string, v *tree.Node) string {
	switch typ := v.Text("type"); {
	case object == "message":
		return v.Text("role")
	case typ == "" && v.Get("function") != nil:
		return "function"
	default:
		return typ
	}
}

// takesUnknown reports whether the vendor of the host, or of the model where a base URL stands in for the host,
// takes members that the API reference of OpenAI does not have.
func takesUnknown(seen *rule.Seen) bool {
	d := dialectOf(cmp.Or(seen.URL, &url.URL{}).Hostname()).serving(seen.Root.Text("model"))
	return !d.hasTrait(officialMembers)
}

// shapeBreach is one place in which a request breaks the description of members.
type shapeBreach struct {
	members.Fault
	q *request
}

// shapeRules judge one breach of the description each: which of them answers is decided by the place in the
// request that is looked at first.
var shapeRules = []rule.Rule[shapeBreach]{
	shapeRule(rule.Lenient, "C-1", "the request has a model and messages", members.Missing, members.Empty),
	shapeRule(rule.Strict, "C-43", "there is no unknown member at the top, where the host refuses those",
		members.Unknown),
	shapeRule(rule.Live, "C-1", "the model is a text, and the messages are a list", members.WrongType),
	shapeRule(rule.Live, "C-9", "contents are texts or lists of parts", members.Missing, members.WrongType,
		members.Null),
	shapeRule(rule.Live, "C-15", "a name is a text", members.WrongType),
	shapeRule(rule.Live, "C-16", "a refusal is a text", members.WrongType),
	shapeRule(rule.Live, "C-17", "calls are a list, and each has an id", members.Missing, members.Null,
		members.WrongType),
	shapeRule(rule.Live, "C-18", "each result names its call", members.Missing, members.Null, members.WrongType),
	shapeRule(rule.Live, "C-26", "the arguments of a call are a text", members.Missing, members.WrongType,
		members.Null),
	shapeRule(rule.Live, "C-28", "tools are a list, and a function has a name", members.Missing, members.WrongType),
	shapeRule(rule.Live, "C-30", "strict is true or false", members.WrongType),
	shapeRule(rule.Live, "C-31", "tool_choice is a text or an object", members.WrongType),
	shapeRule(rule.Live, "C-34", "reasoning_effort is a text", members.WrongType),
	shapeRule(rule.Live, "C-42", "stream_options are an object", members.WrongType),
	shapeRule(rule.Live, "C-40", "settings have their type and are in their range", members.OutOfRange,
		members.WrongLength, members.WrongType, members.Null),
}

func shapeRule(least rule.Level, id, demand string, kinds ...members.Kind) rule.Rule[shapeBreach] {
	return rule.Rule[shapeBreach]{
		Info: rule.Info{ID: id, Demand: demand, Source: documented, Confidence: rule.High, Least: least},
		Run: func(b shapeBreach, p *rule.Pass) {
			if b.Rule == id && slices.Contains(kinds, b.Kind) &&
				(b.Kind != members.Unknown || b.q.dialect.hasTrait(officialMembers)) {
				p.Refuse(b.refusal())
			}
		},
	}
}

// refusal puts the breach into OpenAI's words.
func (b shapeBreach) refusal() *rule.Refusal {
	path, v := b.Said.String(), b.Value
	switch b.Kind {
	case members.WrongValue:
		values := b.Member.Values
		return b.q.newRefusal("invalid_value", path, "Invalid value: '%s'. Supported values are: '%s', and '%s'.",
			v.Text(), strings.Join(values[:len(values)-1], "', '"), values[len(values)-1])
	case members.WrongForm:
		return b.q.newRefusal("invalid_value", path,
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '%s'.", path,
			b.Member.Pattern)
	case members.Missing:
		return b.q.newRefusal("missing_required_parameter", path, "Missing required parameter: '%s'.", path)
	case members.Unknown:
		return b.q.newRefusal("", "", "Unrecognized request argument supplied: %s", b.Name)
	case members.OutOfRange:
		unit := "integer"
		if b.Member.Types == "n" {
			unit = "decimal"
		}
		if n, _ := v.Number(); b.Member.Min != nil && n < *b.Member.Min {
			return b.q.newRefusal(unit+"_below_min_value", path,
				"Invalid '%s': %s below minimum value. Expected a value >= %v, but got %s instead.", path, unit,
				*b.Member.Min, v.Raw())
		}
		return b.q.newRefusal(unit+"_above_max_value", path,
			"Invalid '%s': %s above maximum value. Expected a value <= %v, but got %s instead.", path, unit,
			*b.Member.Max, v.Raw())
	case members.WrongLength:
		if v.Is(tree.Array) && len(v.List()) == 0 {
			return b.q.newRefusal("empty_array", path,
				"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.",
				path)
		}
		return b.q.tooLong(path, v, int(*b.Member.Max))
	}
	return b.q.newRefusal("invalid_type", path, "Invalid type for '%s': expected %s, but got %s instead.", path,
		expectedTypes(b.Member), kindName(v))
}

// tooLong is what OpenAI says to a text, a list or an object that is longer than it may be.
func (q *request) tooLong(path string, v *tree.Node, most int) *rule.Refusal {
	switch {
	case v.Is(tree.String):
		return q.newRefusal("string_above_max_length", path,
			"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.",
			path, most, utf8.RuneCountInString(v.Text()))
	case v.Is(tree.Array):
		return q.newRefusal("array_above_max_length", path,
			"Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.",
			path, most, len(v.List()))
	}
	return q.newRefusal("object_above_max_properties", path,
		"Invalid '%s': too many properties. Expected an object with at most %d properties, but got an object with %d properties instead.",
		path, most, len(v.Names()))
}

// expectedTypes names the types of a member as the API does.
func expectedTypes(m *members.Member) string {
	var words []string
	for _, t := range m.Types {
		words = append(words, map[rune]string{'s': "a string", 'n': "a number", 'i': "an integer", 'b': "a boolean",
			'a': "an array", 'o': "an object"}[t])
	}
	return strings.Join(words, " or ")
}

// kindName names the type of a value as the API does.
func kindName(v *tree.Node) string {
	switch v.Kind() {
	case tree.String:
		return "a string"
	case tree.Array:
		return "an array"
	case tree.Object:
		return "an object"
	case tree.Bool:
		return "a boolean"
	case tree.Null:
		return "null"
	}
	return fmt.Sprintf("a number (%.20s)", v.Raw())
}
