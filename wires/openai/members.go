package openai

import (
	_ "embed" // for members.yaml
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request", of a compaction "compact".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile,
		members.Style{Integers: true, EmptyLists: true, TypeOf: typeOf, Rules: map[members.Kind]string{
			members.Unknown: "O-4", members.NoBeta: "O-4", members.Missing: "O-3", members.Empty: "O-7",
			members.Null: "O-5", members.WrongType: "O-5",
			members.UnknownType: "O-5", members.WrongValue: "O-5", members.OutOfRange: "O-6",
			members.WrongLength: "O-7",
			members.WrongID:     "O-8", members.WrongForm: "O-18",
		}})
})

// ofModel is what an assistant says; the wire has the type message for everybody.
const ofModel = "message/assistant"

// typeOf names the type of an item. Without a type it is a message, or a reference when it is
// nothing but an id (reference §2.2).
func typeOf(object string, v *tree.Node) string {
	typ := v.Text("type")
	switch {
	case object != "item" || typ != "message" && typ != "":
		return typ
	case v.Text("role") == "assistant":
		return ofModel
	case typ == "" && len(v.Names()) == 1 && v.Get("id").Is(tree.String):
		return "item_reference"
	}
	return "message"
}

// breach is one place in which a request breaks the schema. isCore is set where the request does
// not say what it is about.
type breach struct {
	members.Fault
	isCore bool
}

// schemaBreaches are what the schema finds. What the request is about comes first: without a
// stored prompt it needs a model, without anything that holds the conversation an input (O-3).
func (q *request) schemaBreaches() (breaches []breach) {
	if q.err != nil {
		return nil
	}
	v, root := q.body, "request"
	if q.compacts {
		root = "compact"
	}
	addCore := func(name string) {
		f := members.Fault{Kind: members.Missing, Rule: "O-3",
			Place: members.Place{Said: new(tree.Paths).Member(nil, name)}, Value: v}
		breaches = append(breaches, breach{f, true})
	}
	if !v.Has("prompt") && !v.Has("model") {
		addCore("model")
	}
	if !v.Has("prompt") && !v.Has("input") && !v.Has("previous_response_id") && !v.Has("conversation") {
		addCore("input")
	}
	for _, f := range Members().Walk(v, root, nil).Faults {
		if f.Side != members.RefereeOnly {
			breaches = append(breaches, breach{f, false})
		}
	}
	return breaches
}

// refusal puts the breach into the provider's words.
func (b breach) refusal() *rule.Refusal {
	p, m, v := b.Said, b.Member, b.Value
	switch b.Kind {
	case members.Missing:
		return invalid("missing_required_parameter", p.String(), "Missing required parameter: '%s'.", p)
	case members.Unknown, members.NoBeta:
		return invalid("unknown_parameter", p.String(), "Unknown parameter: '%s'.", p)
	case members.UnknownType:
		return unsupportedValue(p, b.Name, knownTypes(b.Union))
	case members.WrongValue:
		return unsupportedValue(p, v.Text(), m.Values)
	case members.WrongForm:
		return invalid("invalid_value", p.String(),
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '%s'.",
			p, m.Pattern)
	case members.WrongID:
		if !strings.ContainsFunc(v.Text(), members.IsStrangeInID) {
			return invalid("invalid_value", p.String(), "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", p,
				v.Text(), m.Begin)
		}
		return invalid("invalid_value", p.String(),
			"Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", p, v.Text())
	case members.OutOfRange:
		return outOfRange(p, m, v)
	case members.WrongLength:
		return wrongLength(p, m, v)
	default:
		return invalid("invalid_type", p.String(), "Invalid type for '%s': expected %s, but got %s instead.",
			p, expectedWords(m), describeKind(v.Kind()))
	}
}

// knownTypes are the types of an object that the wire knows.
func knownTypes(object string) []string {
	return slices.DeleteFunc(Members().Types(object),
		func(t string) bool { return t == ofModel || t == script.FutureItem })
}
